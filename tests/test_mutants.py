"""tests/mutants.py: the faults that it makes; the tests that it and ``make coverage`` name."""

import re

from mutants import ROOT, TESTS, mutants

SOURCE = b'''
def least(a: int | None, b):
    """A docstring, 1 + 1."""
    if not a or (a) <= (b + 2):
        note(a)
        return zip(a, b, strict=True)
    return b
if TYPE_CHECKING:
    from typing import Any
'''


def test_each_operator_condition_constant_and_call_is_changed_once():
    assert sorted((mutant.line, mutant.new.splitlines()[0]) for mutant in mutants(SOURCE)) == [
        (4, "3"),
        (4, "a"),
        (4, "a < b + 2"),
        (4, "b - 2"),
        (4, "if not (not a or a <= b + 2):"),
        (4, "not a and a <= b + 2"),
        (5, "pass"),
    ]


def test_files_and_their_tests_are_there():
    for path, tests in TESTS.items():
        assert any(mutants((ROOT / path).read_bytes()))
        assert all((ROOT / name).exists() for name in re.findall(r"tests/[\w/]+\.py", tests))


def test_tests_without_the_compiler_are_there():
    (listed,) = re.findall(r"^UNCOMPILED := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    names = listed.replace("\\\n", " ").split()
    assert len(names) > 10
    for path, _, name in (name.partition("::") for name in names):
        assert f"def {name.partition('[')[0]}" in (ROOT / "tests" / path).read_text(), path
