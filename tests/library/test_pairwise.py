"""fmx.pairwise gives what fmx pairwise writes."""

import pytest

import fmx

SEQUENCES = ["ACGTTGCAACGTTAGC", "acguugcacgttagc", "", "ACGTTGNAACGTTAGC", "T", "GGGGGGCCCC"]


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "s.fa"
    path.write_text("".join(f">{i}\n{sequence}\n" for i, sequence in enumerate(SEQUENCES)))
    return path


def rows(table) -> list:
    """Lines of a table that was written, as rows of fmx.PAIR."""
    lines = [line.split(b"\t") for line in table.splitlines()[1:]]
    return [tuple((float if i == 3 else int)(cell) for i, cell in enumerate(line)) for line in lines]


def as_written(found) -> list:
    """Rows of fmx.PAIR with identities as a table has them."""
    return [(*row[:3], float(f"{row[3]:.6f}"), *row[4:]) for row in found.tolist()]


OPTIONS = [
    ({}, []),
    ({"identity": 0.9}, ["--id", "0.9"]),
    ({"identity": 0.5, "iddef": 3, "threads": 1}, ["--id", "0.5", "--iddef", "3"]),
    (
        {"match": 2, "mismatch": -9, "gap": -1, "engine": "auto"},
        ["--match", 2, "--mismatch", -9, "--gap", -1],
    ),
]


@pytest.mark.parametrize(("given", "options"), OPTIONS, ids=str)
def test_the_array_holds_what_the_command_writes(given, options, fasta, command):
    for files, sequences in (([fasta], [SEQUENCES]), ([fasta, fasta], [SEQUENCES, fasta])):
        found = fmx.pairwise(*sequences, **given)
        assert found.dtype == fmx.PAIR
        assert as_written(found) == rows(command("pairwise", "-q", *files, *options).out)
        assert found.size


def test_sequences_may_be_bytes_a_generator_a_path_or_none(fasta):
    wanted = fmx.pairwise(SEQUENCES).tolist()
    assert fmx.pairwise(fasta).tolist() == wanted
    assert fmx.pairwise(sequence.encode() for sequence in SEQUENCES).tolist() == wanted
    assert fmx.pairwise([]).dtype == fmx.PAIR
    assert fmx.pairwise([]).size == fmx.pairwise(SEQUENCES, []).size == fmx.pairwise([], SEQUENCES).size == 0
