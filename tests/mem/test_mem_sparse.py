"""Maximal matches by a sparse suffix array: the naive ones, in the order of the default matcher."""

import cases
import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mems import expect_rows, rows
from test_mem import STRANDS, TASK_SIZES, UNIQUE, broken, drawn_queries, find
from texts import numbered, random_letters

from fmx.dna import FORWARD, REVERSE
from fmx.index.build import build_index
from fmx.index.fm_index import take
from fmx.index.plan import IndexOptions
from fmx.index.writer import MemoryIndex
from fmx.mem.matching import MemOptions

BOTH = FORWARD | REVERSE


def in_memory(contigs, k, w, part_size=2**32 - 2):
    """An opened index in memory."""
    held, options = MemoryIndex(), IndexOptions([f"sparse-k{k}-w{w}"], part_size=part_size)
    build_index(cases.fasta(contigs), held, options)
    return take(held)


@given(contigs=st.lists(broken, min_size=1, max_size=3), data=st.data())
def test_matches_of_any_text_and_queries(contigs, data):
    contigs = numbered([*contigs, "ACGT"])
    queries = data.draw(drawn_queries(contigs))
    k, w = 2 * data.draw(st.integers(1, 4)) + 1, data.draw(st.integers(1, 9))
    least, strands = k + w - 1 + data.draw(st.integers(0, 20)), data.draw(STRANDS)
    unique, task_size = data.draw(st.sampled_from(UNIQUE)), data.draw(TASK_SIZES)
    options = MemOptions(least, strands, unique, 2)
    found = find(in_memory(contigs, k, w), queries, options, task_size=task_size)
    assert rows(found) == expect_rows(contigs, queries, least, strands, unique)


@pytest.mark.parametrize("unique", UNIQUE)
def test_long_matches_and_repeats_are_those_of_the_default(unique, index_of):
    """Matches over many words, buckets of many rows on both strands, and other copies that end early."""
    unit = random_letters(400, "unit")
    copies = [unit[:i] + "A" * (i % 3) + unit[i:] for i in range(0, 400, 7)]
    turned, once = naive.reverse_complement("".join(copies[:30])), random_letters(300, "once")
    contigs = numbered([*copies, turned, "A" * 900 + "ACC" * 300, once])
    queries = [unit, "".join(copies[::9]) + "N" + "A" * 500, "T" * 99 + once[30:250]]
    queries.append(naive.reverse_complement(unit) + "ACC" * 90)
    default, index = index_of(contigs), in_memory(contigs, 21, 16)
    for least in (36, 37, 50, 120):
        options = MemOptions(least, BOTH, unique, 2)
        found = find(index, queries, options)
        assert found == find(default, queries, options)
        assert found.count(b"\n") > (0 if unique else 9)


def test_the_command(tmp_path, index_of, command):
    """By an index with a sparse suffix array alone: from k + w - 1 bases on, on the CPU."""
    contigs = numbered([random_letters(900, i) for i in range(2)])
    cases.build(tmp_path / "sparse.fmx", contigs, ["sparse"])
    (tmp_path / "q.fa").write_text(f">q\n{contigs[0][1][:300]}{contigs[1][1][100:400]}\n")
    how = "mem", "-q", "-b", "-l", 36, tmp_path / "q.fa", "-x"
    done = command(*how, tmp_path / "sparse.fmx")
    assert (done.code, done.out) == (0, command(*how, index_of(contigs)).out)
    assert done.out.count(b"\n") == 4
    for wrong, told in (
        (("-l", 35), "-l is 35, but this index finds only sequences of 36 bases or more"),
        (("-l", 36, "--engine", "cuda"), "leave out --engine"),
        (("-l", 36, "--algorithm", "mummergpu"), "this command needs a whole suffix array"),
    ):
        done = command("mem", "-q", "-x", tmp_path / "sparse.fmx", tmp_path / "q.fa", *wrong)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert told in done.err
