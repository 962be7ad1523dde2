"""Fingerprints: another one whenever what is compiled differs, the same whatever else changes."""

import subprocess
import sys

import pytest
from conftest import ON_CPU, ROOT
from cover import nightly

from fmx.compiler import piece

SOURCE = '''
"""A module."""
from enum import IntEnum
from typing import Any, NamedTuple
import numpy as np
from fmx.compiler.functions import by_type_or_this, compiled, inlined

LIMIT = 7
TABLE = np.arange(3)

class Letter(IntEnum):
    A = 1

class Pair(NamedTuple):
    first: Any
    second: Any

class Other(NamedTuple):
    first: Any

@inlined
def step(x):
    """A docstring."""
    return x + TABLE[2]

@by_type_or_this
def rest(layout, x):
    return x

def register(d):
    @rest.register(Pair)
    def rest_of_pair(layout, x):
        return x % d

register(5)

@rest.register(Other)
def rest_of_other(layout, x):
    return x + 1

@compiled
def work(layout, x, most=3):
    return rest(layout, step(x)) + LIMIT + Letter.A + most

@compiled
def unrelated(x):
    return x
'''


def of(source, name="work", kinds=("Pair", 2, "i8", "i8", "i8")):
    """The fingerprint of a function of a module with this source."""
    held: dict = {"__name__": "fmx.of_a_test"}
    exec(compile(source, "a file", "exec"), held)
    return piece.fingerprint(held[name].function, tuple(held.get(kind, kind) for kind in kinds))


def changed(before, after):
    assert SOURCE.count(before) == 1
    return of(SOURCE.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""', '"""Another."""\n\n'),
        ('"""A docstring."""', '"""Another."""'),
        ("return x + 1", "return x + 2"),  # of a type that no argument has
        ("def unrelated(x):\n    return x", "def unrelated(x):\n    return LIMIT"),
    ],
)
def test_what_is_not_compiled_does_not_count(before, after):
    assert changed(before, after) == of(SOURCE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 7", "LIMIT = 8"),
        ("LIMIT = 7", "LIMIT = 7.0"),
        ("LIMIT = 7", "LIMIT = True"),
        ("np.arange(3)", "np.arange(1, 4)"),
        ("np.arange(3)", "np.arange(3, dtype=np.uint8)"),
        ("A = 1", "A = 2"),
        ("return x + TABLE[2]", "return x + TABLE[1]"),
        ("return x % d", "return x // d"),
        ("register(5)", "register(6)"),
        ("most=3", "most=4"),
        ("second: Any", "last: Any"),
        ("@inlined", "@compiled"),
        ("    @rest.register(Pair)\n", ""),
    ],
)
def test_all_that_is_compiled_counts(before, after):
    assert changed(before, after) != of(SOURCE)


def test_a_body_counts_for_the_types_of_arguments():
    kinds = ("Other", 1, "i8", "i8")
    assert of(SOURCE, kinds=kinds) != of(SOURCE.replace("return x + 1", "return x + 2"), kinds=kinds)
    assert of(SOURCE, kinds=kinds) == of(SOURCE.replace("return x % d", "return x // d"), kinds=kinds)
    assert of(SOURCE, kinds=kinds) != of(SOURCE)


PROGRAM = """
import sys
from numba.core import dispatcher
from fmx.compiler import ahead, numba_cpu, piece

core, made, n = dispatcher._FunctionCompiler._compile_core, [], 0

def note(compiler, args, return_type):
    made.append(compiler.py_func)
    return core(compiler, args, return_type)

dispatcher._FunctionCompiler._compile_core = note
numba_cpu.linked = lambda part, entry: b""  # LLVM does not optimize it
ahead.import_bodies()
for entry in ahead.functions():
    if sys.argv[1] in entry.name:
        function, kinds = ahead.function_of(entry)
        made.clear()
        numba_cpu.machine_code(function.made, kinds)
        nodes = [node for node in piece.texts_of(function.function, kinds) if not isinstance(node, tuple)]
        known = {getattr(node, "function", node).__code__ for node in nodes if not isinstance(node, type)}
        ours = [f for f in made if f.__module__.startswith("fmx.")]
        unknown = [f"{f.__module__}.{f.__qualname__}" for f in ours if f.__code__ not in known]
        assert not unknown, (entry.name, unknown)
        n += len(ours)
assert n > 20, n
"""


@pytest.mark.parametrize("name", ["KStep2D64", nightly("")])
def test_it_knows_every_function_that_numba_compiles(name):
    environment = ON_CPU | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
