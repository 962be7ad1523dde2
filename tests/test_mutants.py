"""The tests that tests/mutants.py and ``make coverage`` name are there."""

import re

from mutants import ROOT, TESTS, mutants


def test_files_and_their_tests_are_there():
    for path, tests in TESTS.items():
        assert any(mutants((ROOT / path).read_bytes()))
        assert all((ROOT / name).exists() for name in re.findall(r"tests/[\w/]+\.py", tests))


def test_tests_without_the_compiler_are_there():
    (listed,) = re.findall(r"^UNCOMPILED := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    names = listed.replace("\\\n", " ").split()
    assert len(names) > 10
    for path, _, name in (name.partition("::") for name in names):
        place = ROOT / "tests" / path
        assert place.is_dir() or f"def {name.partition('[')[0]}" in place.read_text(), path
