"""No public function says more than a few hundred characters on one line, whatever it was given."""

import inspect
import pickle
from collections.abc import Iterator

import cases
import numpy as np
import pytest

import fmx
from fmx import errors

MANY = 200_000
CONTIGS = {"chr1": "TTGATTACATT", "chr2": "ACGTNNTGTAATCA"}
READS = ["GATTACA", "ACGT"]


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("word " * MANY)


def nested(depth: int) -> list:
    found: list = []
    for _ in range(depth):
        found = [found]
    return found


HOSTILE = {
    "numbers": list(range(MANY)),
    "a long list in a list": ["ACGT", ["ACGT"] * MANY],
    "a long word": "x/" * MANY,
    "a long line of codes": "\n\x1b[31m\u202e" * MANY,
    "half a surrogate pair": "\ud800" * MANY,
    "bytes in a list": ["ACGT", bytes(range(256)) * 1_000],
    "a long text in a list": ["ACGT", "word " * MANY],
    "deep in a list": ["ACGT", nested(MANY)],
    "a huge number": 10**20_000,
    "a dict with a long key": {"x" * MANY: 5},
    "names with line ends": {"x\n" * MANY: "ACGT"},
    "an array of texts": np.array(["word " * MANY]),
    "broken": Broken(),
    "no number": float("nan"),
    "nothing": None,
    "a function": lambda: None,
}  # fmt: skip
FUNCTIONS = [
    name for name in fmx.__all__ if callable(getattr(fmx, name)) and not isinstance(getattr(fmx, name), type)
]
METHODS = [
    name for name, own in vars(fmx.Index).items() if callable(own) and (name[0] != "_" and name != "close")
]


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict:
    """An argument for each parameter that must be given."""
    folder = tmp_path_factory.mktemp("valid")
    genome = folder / "genome.fa"
    genome.write_bytes(cases.fasta(CONTIGS.items()))
    (folder / "reads.fa").write_text(">a\nACGTACGT\n")
    (folder / "guides.csv").write_text("g1,ACGTACGT\n")
    fmx.build(genome, folder / "genome.fmx", threads=1)
    named = {"path": folder / "genome.fmx", "reference": genome, "sequences": CONTIGS}
    return named | dict.fromkeys(["reads", "reads1", "reads2", "patterns", "queries"], READS)


def check(ask, *arguments, **named) -> None:
    """What is asked is done, or ends with one line."""
    try:
        found = ask(*arguments, **named)
        for _ in found if isinstance(found, Iterator) else ():
            pass
    except (TypeError, ValueError, LookupError, fmx.FmxError) as error:
        said = str(error)
        assert 0 < len(said) <= errors.MESSAGE, len(said)
        assert said.isprintable(), said


def check_parameters(ask, valid, value) -> None:
    parameters = inspect.signature(ask).parameters.values()
    needed = {each.name: valid[each.name] for each in parameters if each.default is each.empty}
    for each in parameters:
        check(ask, **needed | {each.name: value})


@pytest.mark.parametrize("kind", HOSTILE)
def test_functions_an_index_a_table_and_its_names(kind, valid, folder):
    """In a folder for what a function writes."""
    value, index = HOSTILE[kind], fmx.open(valid["path"], threads=1)
    assert len(METHODS) > 5
    for name in METHODS:
        check_parameters(getattr(index, name), valid, value)
    home, guides = valid["path"].parent, {"g": "ACGTACGTACGTACGT"}
    of_function = {
        "count": {"reads": home / "reads.fa", "library": home / "guides.csv"},
        "offtargets": {"library": guides},
    }
    for name in FUNCTIONS:
        check_parameters(getattr(fmx, name), valid | of_function.get(name, {}), value)
    hits = index.locate(dict(zip(READS, READS, strict=True)))
    check(lambda: hits.names["contig"][value])
    check(fmx.Names.of, value)
    if isinstance(value, str):
        check(lambda: hits[value])
        check(lambda: hits.names[value])
        with pytest.raises(AttributeError) as found:
            getattr(fmx, value)
        assert len(str(found.value)) <= errors.MESSAGE


@pytest.mark.parametrize("name", [b"x" * MANY, b"\x1b" * MANY, b"x" * MANY + b"\xff", b""])
def test_files_of_long_names(name, valid, tmp_path):
    index = fmx.open(valid["path"], threads=1)
    fasta, twice = tmp_path / "x.fa", tmp_path / "twice.fa"
    fasta.write_bytes(b">" + name + b"\nGATTACA\n")
    twice.write_bytes(fasta.read_bytes() * 2)
    for path in (fasta, twice):
        check(fmx.build, path, tmp_path / "x.fmx", threads=1)
        check(fmx.pairwise, path)
        check(index.search, path)
        check(index.search_pairs, path, valid["reference"])
        check(index.mem, path)


def test_errors_keep_both_ends_and_travel():
    long = fmx.InputError("/folder/" * MANY, "contig " + "x" * MANY, "x" * MANY + "\nrename it")
    assert str(long).startswith("/folder/")
    assert str(long).endswith(r"\nrename it")
    assert len(str(long)) <= errors.MESSAGE
    for error in (long, fmx.OutputError("x" * MANY)):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
