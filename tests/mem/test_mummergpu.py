"""The algorithm of MUMmerGPU++ against the definition: whole, in segments, in rounds, on a simulated GPU."""

import contextlib

import mems
import numpy as np
import pytest
from cover import examples
from hypothesis import example, given
from hypothesis import strategies as st
from ptx import check_lean, code_of
from texts import random_letters

from fmx.errors import DeviceError
from fmx.mem import mummergpu, mummergpu_gpu, word_ends
from fmx.mem.mummergpu import N_SUBQUERIES, LongestMatches, make_jobs

BLOCKS = st.lists(st.text("ACG", min_size=1, max_size=25), min_size=1, max_size=4)
QUERIES = st.lists(st.text("ACG", min_size=1, max_size=30), max_size=4)
LEAST = st.integers(1, 9)


def in_segments(host, queries, n_suffixes) -> list:
    """All matches, the subqueries matched in one segment after the other."""
    strands = mems.strands(queries)
    jobs = make_jobs(strands, host.least)
    found = LongestMatches(*(np.zeros(jobs.slot[-1], np.uint32) for _ in range(2)))
    for segment in mummergpu_gpu.cut_segments(host.segment, n_suffixes):
        here = mummergpu.match_all(segment, strands, jobs, host.least)
        mummergpu_gpu.merge(segment, host.segment.rank, here, found)
    return mems.matches_of(host, strands, mummergpu.subqueries(host.lcp, host.least, jobs, found))


@examples(40)
@given(BLOCKS, QUERIES, LEAST, st.integers(1, 130))
@example(["A" * 300, "A" * 280], ["A" * 290], 256, 100)
@example(["A" * 600, "A" * 300 + "C"], ["A" * 300 + "C" + "A" * 20], 260, 400)
@example(["ACGT" * 90, "CGTACGT" * 50], ["ACGT" * 80], 255, 113)
def test_matches_are_those_of_the_definition_whatever_the_segments(blocks, queries, least, n_suffixes):
    letters = "".join(f"{block}$" for block in blocks)
    host, expected = mems.mummergpu(letters, least), mems.expect(letters, queries, least)
    assert mems.ask(host, queries) == expected
    assert in_segments(host, queries, n_suffixes) == expected


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


@given(QUERIES, LEAST, st.integers(60, 900), st.integers(30, 3000))
def test_rounds_take_every_job_once_and_fit(queries, least, for_queries, for_results):
    strands = mems.strands(queries)
    jobs = make_jobs(strands, least)
    division = mummergpu_gpu.Division(1, for_queries, for_results)
    if for_queries < 80 or for_results < 8 * 30:  # perhaps too little for one job
        with contextlib.suppress(DeviceError):
            mummergpu_gpu.rounds(strands, jobs, division)
        return
    cuts = mummergpu_gpu.rounds(strands, jobs, division)
    assert [job for cut in cuts for job in range(*cut)] == list(range(jobs.strand.size))
    for start, stop in cuts:
        assert 8 * (jobs.slot[stop] - jobs.slot[start]) <= for_results
        n_words = word_ends(strands)[jobs.strand[stop - 1]] - strands.first[jobs.strand[start]]
        n_strands = jobs.strand[stop - 1] - jobs.strand[start] + 1
        assert 8 * n_words + 48 * n_strands + 24 * (stop - start) <= for_queries


@pytest.mark.parametrize("room", [10_000, 10**6, 10**12])
def test_a_division_fits_and_takes_whole_memory(room):
    division = mummergpu_gpu.divide(10**7, 4_000, room)
    taken = 4_000 + 9 * division.n_suffixes + division.queries + division.results
    assert taken <= room
    assert division.n_suffixes == 10**7 or taken > room - 9
    with pytest.raises(DeviceError, match="raise --gpu-memory"):
        mummergpu_gpu.divide(10**7, room, room)


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
def test_code_of_the_matching_kernel(capability):
    """Compiled for two GPUs without one: what its code must not hold."""
    pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
    host, strands = mems.mummergpu("ACGT$", 1), mems.strands(["ACG"])
    longest = LongestMatches(*[np.zeros(3, np.uint32)] * 2)
    arguments = host.segment, strands, make_jobs(strands, 1), np.int64(1), longest
    ptx = code_of(mummergpu_gpu.match_kernel, arguments, capability)
    check_lean(ptx)
    assert "ld.global.v2" not in ptx  # no wide loads: one thread, one place
