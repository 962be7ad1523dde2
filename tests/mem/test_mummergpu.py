"""The algorithm of MUMmerGPU++ against the definition, and the code of its kernel."""

import mems
import numpy as np
import pytest
from cover import examples
from hypothesis import example, given
from hypothesis import strategies as st
from ptx import check_lean, code_of
from texts import random_letters

from fmx.mem import mummergpu_gpu
from fmx.mem.mummergpu import N_SUBQUERIES, LongestMatches, make_jobs

BLOCKS = st.lists(st.text("ACG", min_size=1, max_size=25), min_size=1, max_size=4)
QUERIES = st.lists(st.text("ACG", min_size=1, max_size=30), max_size=4)
LEAST = st.integers(1, 9)


@examples(60)
@given(BLOCKS, QUERIES, LEAST)
@example(["A" * 300, "A" * 280], ["A" * 290], 256)
@example(["A" * 600, "A" * 300 + "C"], ["A" * 300 + "C" + "A" * 20], 260)
@example(["ACGT" * 90, "CGTACGT" * 50], ["ACGT" * 80], 255)
def test_matches_are_those_of_the_definition(blocks, queries, least):
    letters = "".join(f"{block}$" for block in blocks)
    assert mems.ask(mems.mummergpu(letters, least), queries) == mems.expect(letters, queries, least)


def test_a_long_query_is_several_jobs():
    letters = random_letters(70, "long") + "$"
    query = random_letters(N_SUBQUERIES, "before") + letters[:69] + random_letters(N_SUBQUERIES, "after")
    host, strands = mems.mummergpu(letters, 6), mems.strands([query, "ACGT", query[:100]])
    jobs = make_jobs(strands, 6)
    assert jobs.strand.tolist() == [0, 0, 0, 2]
    assert jobs.begin.tolist() == [0, N_SUBQUERIES, 2 * N_SUBQUERIES, 0]
    assert jobs.slot.tolist() == [0, N_SUBQUERIES, 2 * N_SUBQUERIES, len(query) - 5, len(query) + 90]
    expected = mems.expect(letters, [query, "ACGT", query[:100]], 6)
    assert mems.matches_of(host, strands, host.seek(strands), slice_size=3) == expected


def test_only_matches_that_start_where_they_are_wanted():
    letters, query = random_letters(80, "part", "AC") + "$", random_letters(60, "query", "AC")
    host = mems.mummergpu(letters, 5)
    parts = []
    for start, stop in ((0, 13), (13, 14), (14, 60)):
        strands = mems.strands([query])._replace(start=np.array([start]), stop=np.array([stop]))
        parts += mems.matches_of(host, strands, host.seek(strands))
    assert parts == mems.expect(letters, [query], 5)


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
def test_code_of_the_matching_kernel(capability):
    """Compiled for two GPUs without one: what its code must not hold."""
    pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
    host, strands = mems.mummergpu("ACGT$", 1), mems.strands(["ACG"])
    longest = LongestMatches(*[np.zeros(3, np.uint32)] * 2)
    arguments = host.suffixes, strands, make_jobs(strands, 1), np.int64(1), longest
    ptx = code_of(mummergpu_gpu.match_kernel, arguments, capability)
    check_lean(ptx)
    assert "ld.global.v2" not in ptx  # no wide loads: one thread, one place
