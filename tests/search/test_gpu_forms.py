"""Which form of seed and verify a GPU's memory has room for."""

import numpy as np
import pytest

from fmx.index import layouts
from fmx.index.prefix_table import PrefixTable
from fmx.index.reference import make_blocks
from fmx.index.seed_table import SeedTable
from fmx.search.gpu.gpu_search import VerifyForm, seed_lengths
from fmx.search.queries.exact import Exact
from fmx.search.queries.verify import Verify

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
N, OWN, N_SPARE = 10**6, 9, 10**9
PREFIX, ROWS, ZERO = PrefixTable(np.zeros(20, np.uint32), 4), np.zeros(N, np.uint32), np.zeros(1, np.int64)


def verify(n):
    """A query of a text of n symbols whose arrays hold nothing."""
    blocks = make_blocks(ZERO, ZERO, ZERO, ZERO + n - 1)
    seeds = SeedTable(np.zeros(4**OWN + 1, np.uint32), OWN)
    return Verify(PREFIX, seeds, ROWS[:n], np.zeros(n // 32 + 3, np.uint64), blocks)


@pytest.mark.parametrize("sizes", [[N], [N, N // 2, N // 3]])
def test_the_fastest_form_that_fits_is_chosen(sizes):
    from fmx.search.gpu import gpu_search

    queries = [verify(n) for n in sizes]
    forms = [VerifyForm(wide, s) for wide in (True, False) for s in (11, 10, 9)]
    needed = [gpu_search.peak_bytes(queries, form) + N_SPARE for form in forms]
    for memory in {*needed, *(n - 1 for n in needed)}:
        fitting = [form for form, n in zip(forms, needed, strict=True) if n <= memory]
        assert gpu_search.choose(queries, memory, N_SPARE) == (fitting or forms[-1:])[0]
    assert gpu_search.choose(queries, needed[0] - N_SPARE) != VerifyForm(True, 11)  # a quarter is spared
    assert gpu_search.choose(queries, 10**12) == VerifyForm(True, 11)
    assert gpu_search.choose(queries, 0) == VerifyForm(False, 9)


def test_backward_search_has_no_form():
    from fmx.search.gpu import gpu_search

    name = layouts.parse_name("bvsfm-k2-d96")
    codes = np.array([1, 2, 0], np.uint8)
    layout = name.kind.build(codes, np.array([2, 0, 1], np.uint32), name.k, name.d)
    assert gpu_search.choose([Exact(PREFIX, layout)], 10**12) is None


@pytest.mark.parametrize(("n", "longest"), [(3 * 10**9, 16), (10**9, 16), (10**8, 14), (10**6, 11), (5, 9)])
def test_seeds_are_as_long_as_the_text_is_worth(n, longest):
    assert seed_lengths(n, OWN) == list(range(longest, OWN - 1, -1))
