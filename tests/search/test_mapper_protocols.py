"""Every mapper, every counter of reads and every engine of the CPU has what its callers use."""

import protocols
import pytest

from fmx.search.counts.tally import ReadCounter, Screen, Tally, Together
from fmx.search.engines import cpu
from fmx.search.mapper import Mapper, MapsSpans
from fmx.search.mapping import MapOptions, TextPart
from fmx.search.near.near_mapper import NearMapper
from fmx.search.pairs.pair_mapper import PairMapper


@pytest.mark.parametrize("kind", [Mapper, NearMapper, PairMapper], ids=lambda kind: kind.__name__)
def test_a_mapper_maps_a_span_with_a_writer(kind):
    assert protocols.takes(kind.map, 4)  # itself, the span, the writer and what emits pieces


def test_mappers_have_what_callers_ask_for():
    mapper = Mapper([TextPart(None, None)], MapOptions())
    assert protocols.missing(MapsSpans, mapper) == []


@pytest.mark.parametrize("kind", [Tally, Screen, Together], ids=lambda kind: kind.__name__)
def test_a_counter_of_reads_adds_batches_and_begins_anew(kind):
    assert protocols.missing(ReadCounter, kind.__new__(kind)) == []


def test_the_engine_of_the_cpu_takes_a_query_and_patterns():
    assert protocols.takes(cpu.search, 2)
