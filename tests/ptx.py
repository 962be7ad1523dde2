"""PTX of kernels for tests: made once, and kept beside compiled code under a fingerprint of its sources."""

import functools
import re
from importlib import metadata

from kept import kept

from fmx.compiler import object_cache
from fmx.compiler.kernels import kinds_of

COMPILERS = ("numba-cuda", "cuda-", "nvidia-")  # packages whose versions its code hangs on


@functools.cache
def versions() -> str:
    """The versions of all that compiles and assembles."""
    found = {own.name: own.version for own in metadata.distributions() if own.name.startswith(COMPILERS)}
    return " ".join(f"{name} {version}" for name, version in sorted(found.items()))


def code_of(kernel, arguments: tuple, capability: tuple) -> str:
    """The PTX of a kernel for arguments such as these, say (NUMBERS, 1), and a compute capability."""
    from fmx.compiler.numba_cuda import ptx

    name = object_cache.name_of(kernel.function, ("PTX", versions(), capability, *kinds_of(arguments)))
    return kept(name, lambda: ptx(kernel.function, kinds_of(arguments), capability))


def instructions(code: str) -> str:
    """PTX without the names in it, which may hold anything."""
    return re.sub(r"_Z\w+", "NAME", code)


def check_lean(code: str) -> None:
    """No double precision, nothing in memory of a thread's own, and no call."""
    words = instructions(code)
    assert ".f64" not in words
    assert ".local" not in words, "local memory"
    assert not re.search(r"\bcall\b", words)
