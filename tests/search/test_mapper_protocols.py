"""Every mapper, every counter of reads and every engine of the CPU has what its callers use."""

import protocols
import pytest
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.search import MapsSpans
from fmx.search.counts.tally import ReadCounter, Screen, Tally, Together
from fmx.search.engines import cpu
from fmx.search.gpu.gpu_mapper import GpuMapper
from fmx.search.hits import Locator, Near
from fmx.search.mapper import Mapper
from fmx.search.mappers import make_mapper
from fmx.search.mapping import MapOptions
from fmx.search.near.matches import CpuVerifier, SparseVerifier
from fmx.search.near.near_mapper import NearMapper
from fmx.search.numbers import SparseLocator
from fmx.search.pairs.near_pairs import NearPairMapper
from fmx.search.pairs.pair_mapper import PairMapper
from fmx.search.pairs.proper import Pairing

CONTIGS = numbered([random_letters(300, "mappers")])


@pytest.mark.parametrize("kind", [Mapper, NearMapper, PairMapper, GpuMapper], ids=lambda kind: kind.__name__)
def test_a_mapper_maps_a_span_with_a_writer(kind):
    assert protocols.takes(kind.map, 4)  # itself, the span, the writer and what emits pieces


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (MapOptions(), Mapper),
        (MapOptions(near=Near(1)), NearMapper),
        (MapOptions(pairing=Pairing()), PairMapper),
        (MapOptions(near=Near(1), pairing=Pairing()), NearPairMapper),
    ],
    ids=["exact", "near", "pairs", "near pairs"],
)
def test_mappers_have_what_callers_ask_for(options, kind, index_of):
    opened = fm_index.load(index_of(CONTIGS), method="verify", with_text=True)
    mapper = make_mapper(opened, options)
    assert type(mapper) is kind
    assert protocols.missing(MapsSpans, mapper) == []


@pytest.mark.parametrize("kind", [Locator, SparseLocator], ids=lambda kind: kind.__name__)
def test_a_locator_locates_the_rows_of_a_result(kind):
    assert protocols.takes(kind.of, 2)
    assert protocols.takes(kind.locate, 3)
    assert isinstance(kind.at_hand, property)


@pytest.mark.parametrize("kind", [CpuVerifier, SparseVerifier], ids=lambda kind: kind.__name__)
def test_a_verifier_compares_the_rows_of_words(kind):
    assert protocols.takes(kind.of, 2)
    assert protocols.takes(kind.__call__, 3)


@pytest.mark.parametrize("kind", [Tally, Screen, Together], ids=lambda kind: kind.__name__)
def test_a_counter_of_reads_adds_batches_and_begins_anew(kind):
    assert protocols.missing(ReadCounter, kind.__new__(kind)) == []


def test_the_engine_of_the_cpu_takes_a_query_and_patterns():
    assert protocols.takes(cpu.search, 2)
