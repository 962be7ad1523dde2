"""fmx mem on an index in parts: the bytes of an index in one, whatever is asked for and however it is cut."""

import cases
import mems
import naive
import pytest
import workflow
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from mems import expect_rows, in_slices, rows
from several import far_apart, symbols_of
from test_mem import STRANDS, TASK_SIZES, UNIQUE, broken, drawn_queries, find
from texts import numbered, random_letters

from fmx.dna import FORWARD, REVERSE
from fmx.index import fm_index
from fmx.mem import matching
from fmx.mem.matching import ALGORITHMS, IN_BOTH, MemOptions

BOTH = FORWARD | REVERSE
KINDS = ["mummer", "paf", "bed", "tsv", "sam"]


def build_both(folder, contigs, part_size):
    """(index in one piece, index in parts), with LCP arrays."""
    paths = folder / "one.fmx", folder / "parts.fmx"
    for path, size in zip(paths, (10**9, part_size), strict=True):
        workflow.build_index(cases.fasta(contigs), path, workflow.IndexOptions(part_size=size, with_lcp=True))
    return paths


@examples(40)
@given(sequences=st.lists(broken, min_size=1, max_size=5), data=st.data())
def test_any_text_in_any_parts(tmp_path_factory, sequences, data):
    contigs = numbered([*sequences, "ACGT"])
    queries = data.draw(drawn_queries(contigs))
    sizes = symbols_of(contigs)
    part_size = data.draw(st.integers(max(sizes), max(max(sizes), sum(sizes) - 1)))
    one, several = build_both(tmp_path_factory.mktemp("index"), contigs, part_size)
    least, strands = data.draw(st.integers(1, 14)), data.draw(STRANDS)
    unique, algorithm = data.draw(st.sampled_from(UNIQUE)), data.draw(st.sampled_from(list(ALGORITHMS)))
    kind, task_size = data.draw(st.sampled_from(KINDS)), data.draw(TASK_SIZES)
    options = MemOptions(least, strands, unique, 2, algorithm)
    how = {"task_size": task_size, "n_rows": data.draw(st.sampled_from([1, 2, 5, None]))}
    found = find(several, queries, options, **how)
    assert rows(found) == expect_rows(contigs, queries, least, strands, unique)
    assert find(several, queries, options, kind, **how) == find(one, queries, options, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_positions_beyond_32_bits_are_kept(kind, tmp_path):
    unit = random_letters(90, "far")
    contigs = numbered([unit, naive.reverse_complement(unit[:50]), unit[20:] + "NN" + unit[:30], "A" * 40])
    _, path = build_both(tmp_path, contigs, 105)
    near = fm_index.load(path)
    far = far_apart(near)
    assert far.reference.blocks.text_start[-1] > 2 * 2**33
    queries = [unit, unit[:60] + "N" + unit[10:], "A" * 50]
    for unique in UNIQUE:
        options = MemOptions(12, BOTH, unique)
        found = find(far, queries, options, kind)
        assert found == find(near, queries, options, kind)
        assert (unique == IN_BOTH) or len(found.splitlines()) > 5


def test_slices_are_no_larger_than_asked_for(tmp_path):
    """Of three parts 10 rows each are looked at, or those of one window, whose matches are 418 at most."""
    contigs = numbered(["AC" * 90 + random_letters(9, i) for i in range(5)])
    _, path = build_both(tmp_path, contigs, 2 * 190)
    opened, strands = fm_index.load(path, method="verify"), mems.strands(["AC" * 30 + "G" + "AC" * 40])
    joined = matching.join(opened, [ALGORITHMS["mummergpu"](part, 15) for part in opened.parts])
    sizes = [matches.length.size for matches in in_slices(joined, 10).slices(strands)]
    assert max(sizes) < 450
    assert len(sizes) > 50
