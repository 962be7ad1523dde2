"""Occurrences are located some at a time, however many a read has, and those of equal reads once."""

import cases
import naive
import numpy as np
import pytest
import workflow
from texts import numbered, random_letters, reads_of

from fmx.index import fm_index
from fmx.input import spans
from fmx.search.counts import N_LOCATED, Screen, Tally, owners_of
from fmx.search.mappers import make_mapper
from fmx.search.mapping import MapOptions

UNIT = random_letters(60, "group")
CONTIGS = numbered(
    [UNIT + random_letters(30, 1), UNIT[20:], random_letters(50, 2), UNIT[:40] + "N" + UNIT[30:], "ACGTACGT"]
)
GROUPS = ["b", "a", "b", "a", "c"]


class Watched:
    """A locator whose calls are noted in ``located``: the numbers of positions."""

    def __init__(self, locator, located):
        self.locator, self.located = locator, located

    def locate(self, lo, size):
        self.located.append(int(size.sum()))
        return self.locator.locate(lo, size)


def count(opened, reads, counter):
    """Count reads; the numbers of positions located at a time."""
    (chunk,) = spans.read_chunks([cases.fastq(enumerate(reads))])
    found, located = make_mapper(opened, MapOptions()).search(chunk), []
    locators = tuple(Watched(locator, located) for locator in found.locators)
    counter.add(found.run(0, found.total.size)._replace(locators=locators), found.total)
    return located


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """A function: how it is built -> an opened index."""
    folder = tmp_path_factory.mktemp("owners")
    (folder / "groups.tsv").write_text("".join(f"c{i}\t{name}\n" for i, name in enumerate(GROUPS)))

    def grouped(**how):
        options = workflow.IndexOptions(groups=folder / "groups.tsv", **how)
        workflow.build_index(cases.fasta(CONTIGS), folder / "ref.fmx", options)
        return fm_index.load(folder / "ref.fmx")

    return grouped


@pytest.mark.parametrize("how", [{}, {"part_size": 130}, {"sa_rate": 3}], ids=str)
@pytest.mark.parametrize("kind", [Tally, Screen])
def test_positions_are_located_some_at_a_time(kind, how, grouped):
    opened = grouped(**how)
    reads = [*reads_of(CONTIGS, n=60), UNIT[:25], UNIT[5:30], *"ACGT", "AC"]
    found = []
    for n in (N_LOCATED, 40, 1):
        counter = kind(owners_of(opened, by_group=True), n)
        located = count(opened, reads, counter)
        assert max(located) <= n
        found.append(counter.table().tolist() if kind is Tally else counter.combinations())
    assert found[0] == found[1] == found[2]


def test_equal_reads_are_located_once(index_of):
    """Time was that of sorting every occurrence of every read; one-base reads came to no end."""
    contigs = numbered([random_letters(40, f"contig {i}") for i in range(60)])
    reads = [*"ACGT" * 30, "AC", "GT", contigs[7][1], contigs[7][1]]
    opened = fm_index.load(index_of(contigs))
    tally = Tally(owners_of(opened), 499)
    located = count(opened, reads, tally)
    assert sum(located) < 3 * 60 * 40
    assert max(located) <= 499
    found = {read: naive.locate(contigs, read) for read in set(reads)}
    rows = [line.split("\t")[2:] for line in naive.counts(contigs, [found[read] for read in reads])]
    expected = [[int(number.replace(".", "")) for number in row] for row in rows]
    np.testing.assert_array_equal(tally.table()[:, :4], expected)
