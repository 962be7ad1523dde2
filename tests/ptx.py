"""PTX of kernels for tests: made once, and kept beside compiled code under a fingerprint of its sources."""

import functools
import re
from importlib import metadata

from cached import cached

from fmx.compiler import native, object_cache
from fmx.compiler.piece import fingerprint

COMPILERS = ("numba-cuda", "cuda-", "nvidia-")  # packages whose versions its code hangs on


def kinds_of(arguments: tuple) -> tuple:
    """The kinds of a kernel's arguments; a host array counts as one on the device, which is contiguous."""
    kinds, _ = native.spread(arguments)
    return tuple("C" if isinstance(kind, str) and kind[0] in "CFA" else kind for kind in kinds)


@functools.cache
def versions() -> str:
    """The versions of all that compiles and assembles."""
    found = {own.name: own.version for own in metadata.distributions() if own.name.startswith(COMPILERS)}
    return " ".join(f"{name} {version}" for name, version in sorted(found.items()))


def code_of(kernel, arguments: tuple, capability: tuple) -> str:
    """The PTX of a kernel for arguments such as these, say (NUMBERS, 1), and a compute capability."""
    from fmx.compiler.numba_cuda import ptx

    what = kernel.function, ("PTX", versions(), capability, *kinds_of(arguments))
    name = f"{object_cache.plain_name(*what)} {fingerprint(*what)}"
    return cached(name, lambda: ptx(kernel.function, kinds_of(arguments), capability))


def instructions(code: str) -> str:
    """PTX without the names in it, which may hold anything."""
    return re.sub(r"_Z\w+", "NAME", code)


def check_lean(code: str) -> None:
    """No double precision, nothing in memory of a thread's own, and no call."""
    words = instructions(code)
    assert ".f64" not in words
    assert ".local" not in words, "local memory"
    assert not re.search(r"\bcall\b", words)
