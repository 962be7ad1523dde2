"""A test whether numba_cpu.py can call compiled code: whether numba and NumPy are as expected.

Another numba or NumPy may differ, and such a call would read memory that it must not.  So before anything is
compiled and kept, a separate process calls two functions that take every kind of argument.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from . import object_cache
from .native import Native, spread


class Group(NamedTuple):
    """A named tuple to pass and return."""

    table: Any
    factor: Any


def read_all(line, group, wide, small, half, marks, pair):
    """Take every kind of argument, and return every kind of result."""
    total = group.factor + 0.0
    for i in range(group.table.shape[0]):
        for j in range(group.table.shape[1]):
            total += group.table[i, j] * (10.0 * i + j)
    more = wide, small, line[line.size - 1]
    return Group(total / half, (more, pair[1])), not marks[0], marks[1] is None, pair[0][0], line.size


def write_one(line, i, value):
    """Return nothing."""
    line[i] = value


def _cases() -> Iterator[tuple]:
    """Yield functions and arguments for them."""
    line = np.arange(3, 40, dtype=np.uint8)[::3]
    table = np.arange(60, dtype=np.float64).reshape(6, 10)[1:5, ::2]
    fixed = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    fixed.flags.writeable = False
    wide, small = (-(2**62), np.uint64(2**63 + 5)), (np.int8(-7), np.uint16(65000), np.int32(-70000))
    for group in Group(table, np.float32(0.5)), Group(fixed, 3.0):
        yield read_all, (line, group, wide, small, 2.0, (True, None), ((np.int16(-300),), np.bool_(1)))
    yield write_one, (np.zeros(5, np.int64), 3, -(2**40))


def _outcome(call: Callable, arguments: tuple) -> str:
    """Return as text what a call returns and leaves in its first argument."""
    return f"{_plain(call(*arguments))} {arguments[0].tolist()}"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return type(value).__name__, [_plain(element) for element in value]
    return value.item() if isinstance(value, np.generic) else value


def holds(compiler: Any) -> bool:
    """Return whether the code of ``compiler`` (numba_cpu.py) can be called; tested once per folder."""
    return object_cache.prove(lambda: _is_right(compiler))


def _is_right(compiler: Any) -> bool:
    try:
        codes = [
            compiler.machine_code(compiler.dispatcher(made), spread(given)[0]) for made, given in _cases()
        ]
        answers = ask(__name__, json.dumps([object_cache.pack(code).hex() for code in codes])).splitlines()
    except Exception:  # any error: another numba may lack anything
        return False
    return answers == [_outcome(*case) for case in _cases()]


def ask(module: str, question: str) -> str:
    """Return what ``answer`` of a module prints in a separate process; nothing if that crashes."""
    program = f"import sys; sys.path[:] = {sys.path!r}; from {module} import answer; answer()"
    done = subprocess.run(
        [sys.executable, "-c", program], input=question, capture_output=True, text=True, timeout=120
    )
    return done.stdout if done.returncode == 0 else ""


def answer() -> None:
    """Call the codes read from standard input, and print the outcomes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is an answer, too
    for packed, (_, arguments) in zip(json.load(sys.stdin), _cases(), strict=True):
        native = Native(object_cache.unpack(bytes.fromhex(packed)))
        print(_outcome(lambda *given: native(spread(given)[1], given), arguments))  # noqa: B023
