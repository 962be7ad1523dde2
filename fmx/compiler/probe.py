"""A test whether compiled code can be called: whether numba, NumPy, numba-cuda and the driver are as known.

Others may differ, and a call would read memory that it must not: the process crashes, or can no longer use
the GPU.  So before code is kept for the CPU, or for a kind of GPU (kernels.py), a separate process calls code
that takes every kind of argument.
"""

import functools
import json
import resource
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from . import object_cache
from .native import Code, Native, spread
from .piece import Piece

N_BLOCKS, N_THREADS = 3, 64


class Group(NamedTuple):
    """A named tuple to pass and return: an array of two axes, a number, and (an array, a number)."""

    table: Any
    factor: Any
    pair: tuple


def _note(out, i, group, numbers, marks, fixed, half):
    """Write what was received to ``out[i]`` (float64[., 12])."""
    total = 0.0
    for r in range(group.table.shape[0]):
        for c in range(group.table.shape[1]):
            total += group.table[r, c] * (10 * r + c + 1)
    wide, small = numbers
    out[i, 0] = total
    out[i, 1] = group.factor
    out[i, 2] = group.pair[0][i % group.pair[0].size]
    out[i, 3] = group.pair[1]
    out[i, 4] = wide[0] >> 20
    out[i, 5] = wide[1] >> np.uint64(40)
    out[i, 6] = small[0]
    out[i, 7] = small[2]
    out[i, 8] = 2 if marks[0] else (1 if marks[1] else 0)
    out[i, 9] = fixed[1, 2] + out.shape[0] + out.strides[0] + half


note = Piece(_note, lambda: import_module(".numba_cpu", __package__).inlined(_note), "inlined")


def on_cpu(out, group, numbers, marks, fixed, half, nothing):
    """Take every kind of argument, and return every kind of result."""
    for i in range(out.shape[0]):
        note(out, i, group, numbers, marks, fixed, half)
    pair = (numbers, group.pair[0][0]), group.pair[1]
    return Group(out[0, 0] / half, group.factor, pair), not marks[0], nothing is None


def arguments(take: Callable[[np.ndarray], Any] = np.asarray) -> tuple:
    """Return arguments; ``take`` copies an array, which may have gaps or Fortran order, to a GPU."""
    table = np.arange(-30, 30, dtype=np.int32).reshape(6, 10)[1:5, ::2]
    line, fixed = np.arange(3, 40, dtype=np.uint8), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    line.flags.writeable = False
    group = Group(take(table), np.float32(0.5), (take(line), np.int16(-300)))
    wide, small = (-(2**62), np.uint64(2**63 + 2**41)), (np.int8(-7), np.uint16(65000), np.int32(-70000))
    out = take(np.zeros((N_BLOCKS * N_THREADS, 12)))
    return out, group, (wide, small), (False, np.bool_(True)), take(fixed), 2.25


def outcome(call: Callable = on_cpu) -> list:
    """Return what ``call``, on_cpu in Python or as machine code, returns and writes, as JSON has it."""
    values = arguments()
    return json.loads(json.dumps([_plain(call(*values, None)), values[0].tolist()]))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [type(value).__name__, *map(_plain, value)]
    return value.item() if isinstance(value, np.generic) else value


@functools.cache
def holds(compiler: ModuleType) -> bool:
    """Return whether the code of ``compiler`` (numba_cpu.py) can be called; tested once per folder."""

    def is_right() -> bool:
        kinds, _ = spread((*arguments(), None))
        code = compiler.machine_code(compiler.dispatcher(on_cpu), kinds)
        return ask(__name__, code) == outcome()

    return prove("convention", is_right)


def prove(proof: str, is_right: Callable[[], bool]) -> bool:
    """Return whether code of this folder works, by the record ``proof`` or, once, by ``is_right()``."""
    if object_cache.read(proof) is not None:
        return True
    with object_cache.claimed(proof):
        if object_cache.read(proof) is not None:
            return True
        try:
            if not is_right():
                return False
        except Exception:  # any error: other versions may lack anything
            return False
        object_cache.write(proof, b"")
    return True


def ask(module: str, code: Code, number: int = 0) -> Any:
    """Return what ``answer`` of a module prints in a separate process; None if that crashes."""
    import subprocess  # once per folder

    program = f"import sys; sys.path[:] = {sys.path!r}; from {module} import answer; answer()"
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps([number, object_cache.pack(code).hex()]),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return json.loads(done.stdout) if done.returncode == 0 else None


def question() -> tuple[int, Code]:
    """Return the number of a GPU, and code, from standard input."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is an answer, too
    number, packed = json.load(sys.stdin)
    return number, object_cache.unpack(bytes.fromhex(packed))


def answer() -> None:
    """Call the code read from standard input, and print the outcome."""
    native = Native(question()[1])
    print(json.dumps(outcome(lambda *values: native(spread(values)[1], values))))
