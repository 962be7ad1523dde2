"""The Python library answers as the oracle does, and its documented example runs."""

import subprocess
import sys

import cases
import naive
import numpy as np
import pytest
from conftest import ROOT
from texts import TEXTS, reads_of

import fmx
from fmx.search.mapping import RunSizes

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)


@pytest.fixture
def opened(index_of):
    return fmx.open(index_of(CONTIGS), threads=2)


def rows(reads, strands=(0, 1), limit=None) -> list:
    """What a search must return."""
    found = []
    for i, read in enumerate(reads):
        every = naive.locate(CONTIGS, read, strands)
        found += [(i, contig, place, bool(strand), len(every)) for contig, place, strand in every[:limit]]
    return found


def test_search_locate_and_count(opened):
    hits = opened.locate(READS)
    assert hits.dtype == fmx.HIT
    assert hits.tolist() == rows(READS)
    assert opened.search(READS).tolist() == rows(READS, limit=1)
    assert opened.search(READS, k=3).tolist() == rows(READS, limit=3)
    assert opened.search(READS, k=None, strands="forward").tolist() == rows(READS, [naive.FORWARD])
    assert opened.locate(READS, strands="reverse").tolist() == rows(READS, [naive.REVERSE])
    assert opened.count(READS).tolist() == [len(naive.locate(CONTIGS, read)) for read in READS]
    assert opened.count(READS).dtype == np.int64


def test_more_hits_than_are_located_at_a_time():
    n = RunSizes().hits + 1000
    opened = fmx.from_sequences({"a": "A" * (n + 4)})
    for read, how in (("AAAAA", {}), ("AACAA", {"mismatches": 1})):
        hits = opened.locate(["AAAAA", read, read], **how)
        assert hits["position"].tolist() == [*range(n)] * 3
        assert hits["read"].tolist() == [0] * n + [1] * n + [2] * n
        assert not hits["reverse"].any()


def test_reads_may_be_bytes_or_a_file(opened, tmp_path):
    (tmp_path / "r.fq").write_bytes(cases.fastq(enumerate(READS)))
    expected = opened.locate(READS).tolist()
    assert opened.locate([read.encode() for read in READS]).tolist() == expected
    assert opened.locate(tmp_path / "r.fq").tolist() == expected
    assert opened.locate(str(tmp_path / "r.fq")).tolist() == expected


def test_nothing_asked_nothing_found(opened):
    for answer in (opened.search([]), opened.locate(["", "N", "NNNN"])):
        assert answer.size == 0
        assert answer.dtype == fmx.HIT
    assert opened.count([]).tolist() == []


def test_contigs_and_errors(opened, tmp_path):
    assert opened.contigs == [name for name, _ in CONTIGS]
    assert opened.lengths.tolist() == [len(sequence) for _, sequence in CONTIGS]
    with pytest.raises(ValueError, match="strands"):
        opened.search(["A"], strands="plus")
    with pytest.raises(fmx.InputError, match="record 2"):
        opened.search(["A", "A-C"])
    with pytest.raises(fmx.IndexFileError):
        fmx.open(tmp_path / "nothing.fmx")
    with pytest.raises(AttributeError):
        fmx.nothing  # noqa: B018


def test_build_names_the_index_after_the_reference(tmp_path):
    (tmp_path / "genome.fa").write_bytes(cases.fasta(CONTIGS))
    assert fmx.build(tmp_path / "genome.fa").locate(READS).tolist() == rows(READS)
    assert (tmp_path / "genome.fmx" / "meta.json").exists()


def test_an_index_in_memory_is_that_of_a_file(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held = fmx.from_sequences(dict(CONTIGS), threads=2)
    assert held.path is None
    assert (held.contigs, held.lengths.tolist()) == (opened.contigs, opened.lengths.tolist())
    assert held.locate(READS).tolist() == rows(READS)
    query = [CONTIGS[0][1]]
    assert held.mem(query, min_length=4).tolist() == opened.mem(query, min_length=4).tolist() != []
    near = [index.locate(READS[:9], mismatches=1).tolist() for index in (held, opened)]
    assert near[0] == near[1] != []
    sampled = fmx.from_sequences([sequence for _, sequence in CONTIGS], sa_rate=4)
    assert sampled.locate(READS).tolist() == rows(READS)
    assert sampled.contigs == [str(i) for i in range(len(CONTIGS))]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(fmx.UnsupportedError, match="whole suffix array"):
        sampled.mem(query)


@pytest.mark.parametrize(
    ("sequences", "said"),
    [({}, "is empty"), ({"a": ""}, "contig a: it has no sequence"), ({"a": "NN"}, "has no A, C, G or T"),
     ({"*": "A"}, "is not allowed in SAM"), (["A", "C-"], "record 2")],
)  # fmt: skip
def test_sequences_that_are_no_reference(sequences, said):
    with pytest.raises(fmx.InputError, match=f"^given sequences: .*{said}"):
        fmx.from_sequences(sequences)


def test_every_public_name_exists():
    for name in fmx.__all__:
        assert getattr(fmx, name) is not None


def test_the_example_runs(tmp_path):
    command = [sys.executable, ROOT / "docs" / "example.py", tmp_path]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [
        "probe chr1 2 + of 2", "probe chr2 6 - of 2", "site chr2 0 + of 2", "site chr2 0 - of 2", "[2 2 0]",
        "[(0, 1, 18, 0.875, 8, 7)]",
    ]  # fmt: skip
