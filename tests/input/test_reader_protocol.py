"""Every Reader gives all bytes, in order, whatever room it is given, and then none."""

import gzip
import os
from concurrent.futures import Future
from typing import runtime_checkable

import numpy as np
import pytest
from output_of import bgzf

from fmx.codecs import GzipStream, PlainRange, parallel_gzip
from fmx.input import Reader, SpanLike
from fmx.input.chunks import Chunk
from fmx.input.mates import Balance, PairSpan
from fmx.input.sequences import plan
from fmx.input.spans import Before, Span, StreamRest, blocks_of
from fmx.input.streams import Source, WrappedFastq
from fmx.machines.jobs import settled
from fmx.system import RegularFile

DATA = b"".join(b"@r%d\nACGTACGTTT\n+\nIIIIIIIIII\n" % i for i in range(3000))


@pytest.fixture
def opened(tmp_path):
    """Opens bytes as a RegularFile."""

    def make(data):
        path = tmp_path / "reads"
        path.write_bytes(data)
        descriptor = os.open(path, os.O_RDONLY)
        file = RegularFile(str(path), descriptor)
        os.close(descriptor)
        return file

    return make


READERS = {
    "plain": lambda opened: PlainRange(opened(DATA), 0),
    "blocks": lambda opened: next(blocks_of(opened(bgzf(DATA, 20_000)), len(DATA), 0))[0],
    "gzip": lambda opened: GzipStream("reads", PlainRange(opened(gzip.compress(DATA)), 0)),
    "source": lambda opened: Source(DATA),
    "source of gzip": lambda opened: Source(gzip.compress(DATA)),
    "stream": lambda opened: StreamRest(PlainRange(opened(DATA), 40), np.frombuffer(DATA[:40], np.uint8)),
    "wrapped": lambda opened: WrappedFastq(PlainRange(opened(DATA), 0)),
}


@pytest.mark.parametrize("size", [50_000, 1 << 20])
@pytest.mark.parametrize("kind", READERS)
def test_a_reader_fills_what_it_is_given_until_the_end(kind, size, opened):
    reader, room, given = READERS[kind](opened), np.empty(max(size, len(DATA)), np.uint8), b""
    assert isinstance(reader, runtime_checkable(Reader))
    own = room if kind == "blocks" else room[:size]  # whose own bytes are asked for at once
    while n := reader.readinto(own):
        given += own[:n].tobytes()
        assert n == own.size or len(given) == len(DATA)
    assert given == DATA
    assert reader.readinto(own) == 0


def test_other_readers_have_what_readers_have():
    assert isinstance(parallel_gzip.Range.__new__(parallel_gzip.Range), runtime_checkable(Reader))


NOTHING = np.empty(0, np.uint8)
SPANS = {
    "span": Span("reads", True, 1, StreamRest(Source(DATA), NOTHING), settled(Before())),
    "pairs": PairSpan(["reads"], [None], (True,), Balance(), (settled(([], [])), Future())),
    "given": next(plan("reads", ["ACGT"])),
    "chunk": Chunk("reads", NOTHING, True, 1, 0),
}


@pytest.mark.parametrize("kind", SPANS)
def test_a_span_can_be_read_and_named(kind):
    span = SPANS[kind]
    assert isinstance(span, runtime_checkable(SpanLike))
    assert "reads" in span.path
    assert span.read() is not None
