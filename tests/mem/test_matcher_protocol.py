"""Everything that finds maximal exact matches does so as strands.Matcher says."""

import mems
import protocols
import pytest
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.mem import Matcher
from fmx.mem.matching import ALGORITHMS, JoinedMatchers, MemOptions, make_matcher
from fmx.mem.mummergpu_gpu import GpuMummer

LETTERS = random_letters(600, "matchers")


def test_a_matcher_of_a_gpu_has_what_finders_call():
    assert protocols.missing(Matcher, GpuMummer.__new__(GpuMummer)) == []


@pytest.mark.parametrize("is_joined", [False, True])
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "sparse"])
def test_a_matcher_yields_matches_in_order_and_no_empty_ones(algorithm, is_joined, index_of):
    is_sparse = algorithm == "sparse"
    layouts = ("sparse-k5-w3",) if is_sparse else ("bvsfm-k2-d96",)
    path = index_of(numbered([LETTERS]), layouts, with_lcp=not is_sparse)
    opened = fm_index.load(path, method="sparse" if is_sparse else "verify")
    matcher = make_matcher(opened, MemOptions(15, algorithm="seeds" if is_sparse else algorithm))
    if is_joined:
        matcher = JoinedMatchers([matcher], [0])
    assert protocols.missing(Matcher, matcher) == []
    found = list(matcher.slices(mems.strands([LETTERS[100:140] + "T" + LETTERS[300:360]])))
    places = [place for part in found for place in zip(part.strand, part.position, strict=True)]
    assert places == sorted(places) != []
    assert all(part.length.size for part in found)
