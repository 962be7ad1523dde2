"""Tables: NumPy arrays that know names, and the same rows for Arrow."""

import importlib.util
import sys

import cases
import naive
import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import TEXTS, reads_of

import fmx

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)


@pytest.fixture
def opened(index_of):
    return fmx.open(index_of(CONTIGS), threads=2)


@pytest.fixture
def fastq(tmp_path):
    path = tmp_path / "r.fq"
    path.write_bytes(cases.fastq((f"read/{i}", read) for i, read in enumerate(READS)))
    return path


def test_names_come_back(opened, fastq):
    names = [f"read/{i}" for i in range(len(READS))]
    for reads in (fastq, dict(zip(names, READS, strict=True))):
        hits = opened.locate(reads)
        assert list(hits.names["read"]) == names
        assert hits.names["read"][hits["read"]] == [names[i] for i in hits["read"]]
        assert hits.names["contig"][int(hits["contig"][0])] == opened.contigs[hits[0]["contig"]]
    assert "read" not in opened.locate(READS).names


def test_names_that_there_are_not(opened):
    hits = opened.locate(READS)
    what = r"no names for 'read', only for contig: sequences in a list have no names; give a file"
    with pytest.raises(KeyError, match=what):
        hits[:0].names["read"]
    with pytest.raises(ValueError, match=r"no column 'strand': the columns are read, contig, position"):
        hits["strand"]
    with pytest.raises(TypeError, match=r"names are indexed by whole numbers, not by array\(\["):
        hits.names["contig"][hits["reverse"]]


def test_tables_of_other_libraries(opened, fastq):
    everything = opened.locate(fastq), opened.locate(READS), opened.search([]), opened.locate({})
    everything = *everything, everything[0][:0]
    several = *everything, opened.locate(READS[:3], mismatches=1), opened.mem(fastq, min_length=4)
    for hits in (*several, fmx.pairwise({"a": "ACGT", "b": "ACG"}), fmx.pairwise(["ACGT", "ACG"])):
        table = hits.to_arrow()
        assert table == pyarrow.table(hits)
        table.validate(full=True)
        for name in hits.dtype.names:
            assert table[name].to_pylist() == hits[name].tolist()
        for name, names in hits.names.items():
            assert table[f"{name}_name"].to_pylist() == names[hits[name]]
        assert len(table.column_names) == len(hits.dtype.names) + len(hits.names)
        if "contig" in hits.names:
            assert pyarrow.types.is_dictionary(table["contig_name"].type)
        for module, give in (("pandas", hits.to_pandas), ("polars", hits.to_polars)):
            if importlib.util.find_spec(module):
                frame = give()
                assert list(frame.columns) == table.column_names
                for name in table.column_names:
                    assert list(frame[name]) == table[name].to_pylist()
                if "contig" in hits.names:
                    assert "categor" in str(frame["contig_name"].dtype).lower()


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_tables_of_libraries_that_are_not_there(package, opened, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    hits = opened.locate(READS)
    give = {"pandas": hits.to_pandas, "polars": hits.to_polars, "pyarrow": hits.to_arrow}[package]
    with pytest.raises(fmx.UnsupportedError, match=rf"^{package} cannot be used .*: pip install {package}$"):
        give()


def test_chunks_together_are_the_table(opened, fastq, chunks_of):
    chunks_of(200)
    whole = opened.search(fastq, k=3)
    chunks = opened.search_chunks(fastq, k=3)
    tables = [next(chunks)]
    opened.close()  # what was begun goes on
    tables += chunks
    assert len(tables) > 2
    assert [row for table in tables for row in table.tolist()] == whole.tolist()
    assert [name for table in tables for name in table.names["read"]] == list(whole.names["read"])
    for table in tables:
        assert table.names["read"][table["read"]] == whole.names["read"][table["read"]]
        pyarrow.table(table)  # which looks all names up
    with pytest.raises(IndexError):
        tables[1].names["read"][0]


letters = st.characters(codec="utf-8", exclude_characters="\n")


@given(st.lists(st.text(letters, max_size=8), max_size=12), st.data())
def test_names_are_a_sequence_of_str(wanted, data):
    names = fmx.Names.of(wanted)
    assert list(names) == wanted
    assert len(names) == len(wanted)
    numbers = data.draw(st.lists(st.integers(0, len(wanted) - 1), max_size=9)) if wanted else []
    assert names[np.array(numbers, np.int64)] == [wanted[i] for i in numbers]
    assert fmx.Names.joined(iter([names, names])) == wanted + wanted
    with pytest.raises(IndexError):
        names[len(wanted)]


def test_near_matches(index_of):
    opened = fmx.open(index_of(CONTIGS), threads=2)
    sampled = fmx.open(index_of(CONTIGS, sa_rate=4), threads=1)
    reads = [read for read in READS if 4 < len(read) < 40][:20]
    wanted = []
    for i, read in enumerate(reads):
        every = naive.near(CONTIGS, read, 1)
        by_place = sorted(every, key=lambda hit: hit[1:])
        wanted += [(i, *place, bool(minus), len(every), n) for n, *place, minus in by_place]
    for index in (opened, sampled):
        found = index.locate(reads, mismatches=1)
        assert found.dtype == fmx.NEAR_HIT
        assert found.tolist() == wanted
        assert (
            index.count(reads, mismatches=1).tolist()
            == np.bincount(found["read"], minlength=len(reads)).tolist()
        )
        best = index.search(reads, mismatches=1, k=None, strata=True)
        least = {i: min(hit[5] for hit in wanted if hit[0] == i) for i in {hit[0] for hit in wanted}}
        assert {(row[0], row[5]) for row in best.tolist()} == set(least.items())
    assert opened.locate(["N" * 3], iupac=True).size > opened.locate(["N" * 3]).size == 0
