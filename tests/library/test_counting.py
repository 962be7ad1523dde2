"""fmx.count and fmx.pairwise give what the commands write, and refuse what they cannot mean."""

import json
import random

import numpy as np
import pytest
from texts import random_letters

import fmx

LIBRARY = [(f"g{i}", random_letters(12, f"guide {i}"), f"G{i // 3}") for i in range(10)]


@pytest.fixture
def files(folder):
    """Files of reads, mates and libraries."""
    rng = random.Random(3)
    for name in ("a", "b", "mates"):
        text = ""
        for i in range(200):
            read = rng.choice(["", "T"]) + rng.choice(LIBRARY)[1][: rng.choice([12, 12, 11])] + "ACCA"
            text += f"@{i}\n{read}\n+\n{'#' if i % 9 == 0 else 'I'}{(len(read) - 1) * 'I'}\n"
        (folder / f"{name}.fq").write_text(text)
    rows = ["sgRNA ID,Target Gene Symbol,sgRNA Target Sequence,Exon"]
    rows += [f"{name},{gene},{x},1" for name, x, gene in LIBRARY]
    (folder / "library.csv").write_text("\n".join(rows) + "\n")
    pairs = [f"p{i},{LIBRARY[i][1]},{LIBRARY[-i][1]},G{i}" for i in range(1, 9)]
    (folder / "pairs.csv").write_text("\n".join(["id,sequence1,sequence2,gene", *pairs]) + "\n")
    return folder


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, []),
        ({"offsets": [0]}, ["--offset", "0"]),
        ({"offsets": np.array([1, 0]), "strands": "forward"}, ["--offset", "1,0", "--forward-only"]),
        ({"anywhere": True, "mismatches": 1}, ["--anywhere", "--mismatches", "1"]),
        ({"before": "accr"}, ["--before", "accr"]),
        ({"min_quality": 30, "threads": 3}, ["--min-quality", "30"]),
        ({"columns": {"gene": "4", "id": "sgrna id"}}, ["--columns", "gene=4,id=sgrna id"]),
    ],
)
def test_counts_are_those_of_the_command(given, words, files, command):
    found = fmx.count({"one": "a.fq", "two": ["b.fq", files / "a.fq"]}, "library.csv", **given)
    done = command(
        "count", "-l", "library.csv", "a.fq", "b.fq,a.fq", "--names", "one,two", "--format", "long", *words,
        "--report", "told.json",
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = [line.split("\t") for line in done.out.decode().splitlines()]
    table = found.table
    named = [table.names[column][table[column]] for column in ("sample", "guide", "gene")]
    assert list(zip(*named, map(str, table["count"].tolist()), strict=True)) == [
        tuple(row) for row in rows[1:]
    ]
    assert table.dtype == fmx.COUNT
    told = json.loads((files / "told.json").read_text())["samples"]
    for sample, wanted in zip(found.samples, told, strict=True):
        assert {name: getattr(sample, name) for name in ("sample", "reads", "assigned", "unassigned")} == {
            name: wanted[name] for name in ("sample", "reads", "assigned", "unassigned")
        }
    assert all(f"fmx: {note}\n" in done.err for note in found.notes)
    assert any("not used: " in note for note in found.notes)


def test_notes_have_the_warnings_of_the_command(folder, command):
    guide = "GATTACAGATTACAGATTAC"
    (folder / "l.csv").write_text(f"g1,{guide},A\ng2,GTAATCTGTAATCTGTAATC,B\ng3,{guide},C\n")
    for name in ("x_L001", "x_L002"):
        (folder / f"{name}.fa").write_text(f">r\n{guide}\n")
    found = fmx.count({"x_L001": "x_L001.fa", "x_L002": "x_L002.fa"}, "l.csv", offsets=[0])
    done = command("count", "-q", "-l", "l.csv", "x_L001.fa", "x_L002.fa", "--offset", "0")
    warnings = [note for note in found.notes if note.startswith("warning: ")]
    assert len(warnings) == 3
    assert done.err == "".join(f"fmx: {note}\n" for note in warnings)


def test_mates_and_one_file(files, command):
    found = fmx.count("a.fq", "pairs.csv", mates="mates.fq")
    done = command("count", "-q", "-l", "pairs.csv", "-1", "a.fq", "-2", "mates.fq")
    wanted = [line.split("\t") for line in done.out.decode().splitlines()[1:]]
    assert found.table["count"].tolist() == [int(row[2]) for row in wanted]
    assert sum(found.table["count"]) > 0
    assert (found.samples[0].sample, found.samples[0].unit) == ("a", "pair")
    again = fmx.count({"x": ["a.fq"]}, "pairs.csv", mates={"x": ["mates.fq"]})
    assert again.table.tolist() == found.table.tolist()


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"reads": ["ACGT"]}, TypeError, "reads must be a path"),
        ({"reads": {}}, ValueError, "reads must be a path, or a dict of at least one sample"),
        ({"reads": {"x": []}}, ValueError, r"reads\['x'\] must be a path, or a list of at least one"),
        ({"reads": {3: "a.fq"}}, ValueError, "reads must have names of samples as keys, not 3"),
        ({"mates": {"x": "b.fq"}}, ValueError, "mates must have the same samples as reads"),
        ({"columns": {"colour": "1"}}, ValueError, "columns must be a dict from id, sequence, sequence1"),
        ({"columns": {"sequence": "1", "sequence1": "1"}}, ValueError, "columns must name each"),
        ({"columns": "id=1"}, TypeError, "columns must be a dict"),
        ({"offsets": [-1]}, ValueError, "offsets must be a whole number from 0"),
        ({"offsets": "1"}, TypeError, "offsets must be a list of whole numbers"),
        ({"after": "AXC"}, ValueError, "after must be bases [(]IUPAC codes[)], not 'AXC'"),
        ({"anywhere": True, "offsets": [1]}, ValueError, "give only one of offsets, after with before"),
        ({"strands": "plus"}, ValueError, "strands must be one of both, forward, reverse"),
        ({"mismatches": 2}, ValueError, "mismatches must be a whole number from 0 to 1"),
        ({"min_quality": 94}, ValueError, "min_quality must be a whole number from 0 to 93"),
        ({"columns": {"gene": "nine"}}, fmx.InputError, "no column is called 'nine'"),
        ({"library": "a.fq"}, fmx.InputError, "this is FASTQ, not a library of guides"),
    ],
)
def test_what_is_wrong_is_named(given, error, said, files):
    with pytest.raises(error, match=said):
        fmx.count(**{"reads": "a.fq", "library": "library.csv"} | given)


SEQUENCES = ["ACGTTGCAACGTTAGC", "acguugcacgttagc", "", "ACGTTGNAACGTTAGC", "T", "GGGGGGCCCC"]


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({}, []),
        ({"identity": 0.9}, ["--id", "0.9"]),
        ({"identity": 0.5, "iddef": 3, "threads": 1}, ["--id", "0.5", "--iddef", "3"]),
        ({"match": 2, "mismatch": -9, "gap": -1, "engine": "auto"},
         ["--match", 2, "--mismatch", -9, "--gap", -1]),
    ],
    ids=str,
)  # fmt: skip
def test_pairs_are_those_of_the_command(given, options, folder, command):
    fasta = folder / "s.fa"
    fasta.write_text("".join(f">{i}\n{sequence}\n" for i, sequence in enumerate(SEQUENCES)))
    for files, sequences in (([fasta], [SEQUENCES]), ([fasta, fasta], [SEQUENCES, fasta])):
        found = fmx.pairwise(*sequences, **given)
        lines = command("pairwise", "-q", *files, *options).out.splitlines()[1:]
        rows = [[float(cell) for cell in line.split(b"\t")] for line in lines]
        assert found.dtype == fmx.PAIR
        assert [[*row[:3], float(f"{row[3]:.6f}"), *row[4:]] for row in found.tolist()] == rows != []
    assert fmx.pairwise(fasta, **given).tolist() == fmx.pairwise(SEQUENCES, **given).tolist()
    as_bytes = (sequence.encode() for sequence in SEQUENCES)
    assert fmx.pairwise(as_bytes, **given).tolist() == fmx.pairwise(SEQUENCES, **given).tolist()
    assert fmx.pairwise([]).size == fmx.pairwise(SEQUENCES, []).size == fmx.pairwise([], SEQUENCES).size == 0
    assert fmx.pairwise([]).dtype == fmx.PAIR
