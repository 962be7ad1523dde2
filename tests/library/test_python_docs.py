"""The examples of docs/python.md and of the library's docstrings do what they show."""

import doctest

import pytest
from conftest import ROOT

import fmx

GENOME = ">chr1\nTTGATTACATT\n>chr2\nACGTNNTGTAATCA\n"
READS = "@guide1\nGATTACA\n+\nIIIIIII\n@guide2\nACGTACGT\n+\nIIIIIIII\n@guide3\nACGT\n+\nIIII\n"
PUBLIC = [name for name in fmx.__all__ if callable(getattr(fmx, name)) and not name.endswith("Error")]


@pytest.fixture
def files(folder):
    """A current folder as the examples begin with."""
    (folder / "genome.fa").write_text(GENOME)
    (folder / "plasmid.fa").write_text(">plasmid\nCCGATTACACC\n")
    (folder / "reads.fq").write_text(READS)
    (folder / "guides.csv").write_text("id,sequence,gene\ng1,GATTACA,A\ng2,ACGTACGT,B\ng3,CCCCCCC,B\n")


def test_the_page(files):
    found = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False, encoding="utf-8")
    assert (found.failed, found.attempted > 20) == (0, True)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings(name, files):
    index = fmx.build("genome.fa", "genome.fmx")
    public = getattr(fmx, name)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    tests = finder.find(public, name, globs={"fmx": fmx, "index": index, name: public})
    for test in tests:
        runner.run(test)
    assert runner.summarize().failed == 0
    assert sum(len(test.examples) for test in tests) > 0


def test_what_there_is_is_documented_and_typed():
    assert dir(fmx) == sorted(fmx.__all__)
    for name in PUBLIC:
        own = getattr(fmx, name)
        members = [each for key, each in vars(own).items() if callable(each) and key[0] != "_"]
        for each in [own, *members] if isinstance(own, type) else [own]:
            assert each.__doc__, each
            if not isinstance(each, type) and name in ("Index", "build", "count", "open", "pairwise"):
                assert "return" in each.__annotations__, each
                assert "Examples:" in each.__doc__, each
    assert (ROOT / "fmx" / "py.typed").exists()
