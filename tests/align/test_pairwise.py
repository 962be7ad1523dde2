"""``fmx pairwise`` from end to end: its outputs, its filter, its errors."""

import gzip
import itertools
import os
import subprocess

import numpy as np
import pytest

from fmx.align.bounds import AlignmentCounts, identity
from fmx.cli.main import run
from fmx.errors import UnsupportedError
from fmx.output.formats.matrix import PairMatrix

from . import naive_nw
from .families import encode, family

SMALL = [
    ("a", "ACGTTGCAACGTTAGC"),
    ("b", "ACGTTGCACGTTAGC"),
    ("empty", ""),
    ("a", "acguugcaacguuagc"),  # the same name, lower case, U
    ("n", "ACGTTGNAACGTTAGC"),
    ("one", "T"),
    ("far", "GGGGGGCCCC"),
]


def write(path, records):
    path.write_text("".join(f">{name} some words\n{sequence}\n" for name, sequence in records))
    return path


def pairwise(tmp_path, *arguments, name="out.tsv"):
    output = tmp_path / name
    assert run(["pairwise", *map(str, arguments), "-o", str(output), "-q"]) == 0
    return output.read_bytes()


def cigar(path):
    """Run lengths of a path of letters."""
    edges = [0, *[i for i in range(1, len(path)) if path[i] != path[i - 1]], len(path)]
    return "".join(f"{b - a}{path[a]}" for a, b in itertools.pairwise(edges)) if path else ""


def naive_rows(pairs, p=0.0, definition=1):
    rows = []
    for (name_a, a), (name_b, b) in pairs:
        path = naive_nw.align(a, b)
        value = naive_nw.identity(path, len(a), len(b), definition)
        if value >= p:
            found = f"{naive_nw.score(a, b)}\t{value:.6f}\t{len(path)}\t{path.count('=')}\t{cigar(path)}"
            rows.append(f"{name_a}\t{name_b}\t{found}\n")
    return rows


def half(records):
    return [(x, y) for i, x in enumerate(records) for y in records[i + 1 :]]


HEADER = "query\ttarget\tscore\tidentity\tlength\tmatches\tcigar\n"


@pytest.mark.parametrize(("threads", "p"), [(1, 0.0), (3, 0.0), (2, 0.6), (2, 0.9), (2, 1.0)])
def test_table_is_the_definitions(tmp_path, threads, p):
    got = pairwise(tmp_path, write(tmp_path / "s.fa", SMALL), "--cigar", "-t", threads, "--id", p)
    assert got.decode() == HEADER + "".join(naive_rows(half(SMALL), p))


def test_two_files_are_multiplied(tmp_path):
    one, two = write(tmp_path / "one.fa", SMALL[:4]), tmp_path / "two.fa.gz"
    text = "".join(f">{name}\r\n{sequence[:7]}\r\n{sequence[7:]}\r\n" for name, sequence in SMALL[2:])
    two.write_bytes(gzip.compress(text.encode()))
    got = pairwise(tmp_path, one, two, "--cigar")
    assert got.decode() == HEADER + "".join(naive_rows([(x, y) for x in SMALL[:4] for y in SMALL[2:]]))


def test_paf_columns(tmp_path):
    fasta = write(tmp_path / "s.fa", SMALL[:2])
    got = pairwise(tmp_path, fasta, "--format", "paf", "--cigar", name="out.paf").decode()
    assert got == (
        "a\t16\t0\t16\t+\tb\t15\t0\t15\t15\t16\t255\tAS:i:50\tid:f:0.937500\tcg:Z:"
        f"{cigar(naive_nw.align(SMALL[0][1], SMALL[1][1]))}\n"
    )


def test_matrices_hold_all_values(tmp_path):
    fasta = write(tmp_path / "s.fa", SMALL)
    scores = [[naive_nw.score(a, b) for _, b in SMALL] for _, a in SMALL]
    ids = [
        [naive_nw.identity(naive_nw.align(a, b), len(a), len(b), 1) for _, b in SMALL[i:]]
        for i, (_, a) in enumerate(SMALL)
    ]
    pairwise(tmp_path, fasta, "--matrix", "score", name="m.npz")
    with np.load(tmp_path / "m.npz") as file:
        assert file["values"].tolist() == scores
        assert file["queries"].tolist() == file["targets"].tolist() == [name for name, _ in SMALL]
    pairwise(tmp_path, fasta, "--matrix", "identity", name="i.npz")
    with np.load(tmp_path / "i.npz") as file:
        assert [row[i:].tolist() for i, row in enumerate(file["values"])] == ids
        assert (file["values"] == file["values"].T).all()
    lines = pairwise(tmp_path, fasta, "--matrix", "score", name="m.phy").decode().splitlines()
    assert lines[0] == "7"
    assert [line.split() for line in lines[1:]] == [
        [name, *map(str, row)] for (name, _), row in zip(SMALL, scores, strict=True)
    ]
    pairwise(tmp_path, fasta, write(tmp_path / "t.fa", SMALL[:2]), "--matrix", "score", name="p.npz")
    with np.load(tmp_path / "p.npz") as file:
        assert file["values"].tolist() == [row[:2] for row in scores]


@pytest.mark.parametrize("definition", range(5))
def test_filter_keeps_what_all_against_all_keeps(tmp_path, definition):
    sequences = family(seed=7, n_roots=4, n_children=10, length=300, most=0.15)
    records = [(f"s{i}", s[: len(s) - i % 4 * 3]) for i, s in enumerate(sequences)]
    fasta = write(tmp_path / "s.fa", records)
    everything = pairwise(tmp_path, fasta, "--cigar", "--iddef", definition).decode().splitlines()
    for p in (0.85, 0.93, 0.97, 1.0):
        wanted = [row for row in everything[1:] if float(row.split("\t")[3]) >= p - 1e-9]
        options = ["--cigar", "--iddef", definition, "--id", p]
        for more in ([], ["--no-prefilter"]):
            assert pairwise(tmp_path, fasta, *options, *more).decode().splitlines()[1:] == wanted
        if p < 1:
            assert len(wanted) > 2


def test_filter_rules_out_far_pairs_without_aligning_them(genes):
    from fmx.align.jobs import AlignmentJob, select

    s = encode(genes)
    job = AlignmentJob(s, s, half=True, identity=0.97)
    kept = select(job, (0, len(genes)))
    assert 0 < kept.query.size < job.n_pairs(0, len(genes)) / 4


def test_identities_are_vsearchs(tmp_path, genes, peer):
    records = [(str(i), g[i : len(g) - 2 * i]) for i, g in enumerate(genes[:8])]
    command = [
        peer("vsearch"), "--allpairs_global", str(write(tmp_path / "s.fa", records)), "--acceptall",
        "--quiet", "--qmask", "none", "--userout", str(tmp_path / "v.tsv"),
        "--userfields", "query+target+id0+id1+id2+id3+id4+aln",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    rows = [line.split("\t") for line in (tmp_path / "v.tsv").read_text().splitlines()]
    assert len(rows) == 28
    for query, target, *values, columns in rows:
        a, b = records[int(query)][1], records[int(target)][1]
        path, i, j = [], 0, 0
        for column in columns:  # vsearch: M both, D a letter of the query only, I of the target only
            both = column == "M"
            path.append(("=" if a[i] == b[j] else "X") if both else "I" if column == "D" else "D")
            i, j = i + (column != "I"), j + (column != "D")
        path = "".join(path)
        assert (i, j) == (len(a), len(b))
        inner = path.strip("ID")
        openings = sum(1 for k, c in enumerate(path) if c in "ID" and (k == 0 or path[k - 1] != c))
        for definition, value in enumerate(values):
            counts = path.count("="), path.count("X"), len(path), len(path) - len(inner), openings
            mine = identity(definition, len(a), len(b), AlignmentCounts(*counts))
            assert abs(100 * mine - float(value)) < 0.0501
            assert mine == naive_nw.identity(path, len(a), len(b), definition)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty; expected FASTA"),
        ("\n\n", "the file is empty; expected FASTA"),
        ("@r\nACGT\n+\nIIII\n", "this looks like FASTQ"),
        ("ACGT\n", "expected '>'"),
        (">a\nACGT\n>\nAC\n", "record 2: expected a name"),
        (">a\nAC-GT\n", "an alignment? remove its gaps"),
        (">a\nAC7GT\n", "a character that is not a base: '7'"),
    ],
)
def test_bad_input_is_refused_in_one_line(tmp_path, capsys, content, message):
    fasta = tmp_path / "s.fa"
    fasta.write_text(content)
    assert run(["pairwise", str(fasta), "-o", str(tmp_path / "out.tsv")]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert str(fasta) in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out.tsv").exists()


def test_only_one_set_has_pairs_of_a_sequence_with_itself(tmp_path, capfd):
    fasta = str(write(tmp_path / "s.fa", SMALL))
    for n_files in (1, 2):
        assert run(["pairwise", *n_files * [fasta], "--matrix", "score", "-o", str(tmp_path / "m.npz")]) == 0
        assert ("of them a sequence with itself" in capfd.readouterr().err) == (n_files == 1)


def test_a_matrix_larger_than_any_memory_is_refused(tmp_path):
    matrix = PairMatrix("npz", "score", range(2**40), range(2**40), is_half=True)
    said = "1099511627776 x 1099511627776 does not fit into memory: write"
    with pytest.raises(UnsupportedError, match=said), matrix.opened(str(tmp_path / "m.npz"), 1):
        pass
    assert list(tmp_path.iterdir()) == []


def test_without_a_gpu_cuda_is_refused(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("fmx.machines.gpu.n_devices", lambda: 0)
    assert run(["pairwise", str(write(tmp_path / "s.fa", SMALL)), "--engine", "cuda"]) == 1
    assert "use --engine cpu" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["gap", "mismatch"])
def test_a_penalty_that_is_given_as_a_reward_is_warned_of(name, tmp_path, capfd):
    fasta = str(write(tmp_path / "in.fa", [("a", "ACGT"), ("b", "ACGT")]))
    assert run(["pairwise", fasta, f"--{name}", "10", "-o", os.devnull]) == 0
    assert f"; a penalty is --{name} -10\n" in capfd.readouterr().err
    assert run(["pairwise", fasta, f"--{name}", "-10", "-o", os.devnull]) == 0
    assert "warning" not in capfd.readouterr().err
