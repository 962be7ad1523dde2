"""An index that is closed gives back what it held, and says so when it is searched."""

import gc
import sys
from pathlib import Path

import pytest
from texts import TEXTS, reads_of

import fmx

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)
CALLS = {
    "search": lambda index: index.search(READS),
    "search_chunks": lambda index: index.search_chunks(READS),
    "search_pairs": lambda index: index.search_pairs(READS, READS),
    "locate": lambda index: index.locate(READS),
    "near": lambda index: index.locate(READS, mismatches=1),
    "count": lambda index: index.count(READS),
    "mem": lambda index: index.mem(READS),
    "with": lambda index: index.__enter__(),
}


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_files_are_given_back(index_of):
    path = index_of(CONTIGS)
    with fmx.open(path, method="backward", threads=1) as index:
        hits = index.locate(READS)
        wanted = index.locate(READS, mismatches=1).tolist()  # which opens it with the text
        index.mem(READS)  # and with the suffix array
        assert is_mapped(path)
    gc.collect()
    assert not is_mapped(path)
    assert hits.names["contig"][hits["contig"]]
    assert (index.contigs, index.lengths.tolist()) == (
        [name for name, _ in CONTIGS],
        [len(sequence) for _, sequence in CONTIGS],
    )
    with fmx.open(path, threads=1) as again:
        assert again.locate(READS, mismatches=1).tolist() == wanted


@pytest.mark.parametrize("made", ["opened", "in memory"])
@pytest.mark.parametrize("name", CALLS)
def test_a_closed_index_says_so(name, made, index_of):
    index = fmx.open(index_of(CONTIGS), threads=1) if made == "opened" else fmx.from_sequences(dict(CONTIGS))
    assert repr(index).endswith("bases>")
    index.close()
    index.close()
    assert repr(index).endswith("bases, closed>")
    with pytest.raises(ValueError, match=r"^the index is closed: open it again"):
        CALLS[name](index)


def test_what_was_begun_goes_on(index_of, chunks_of):
    chunks_of(200)
    with fmx.open(index_of(CONTIGS), threads=2) as index:
        wanted = index.search(READS).tolist()
        chunks = index.search_chunks(READS)
        found = next(chunks).tolist()
    for hits in chunks:
        found += hits.tolist()
    assert found == wanted
