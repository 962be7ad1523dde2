"""Every RecordWriter has what its callers use, is whole when it was made, and says what ends a file."""

import journeys
import numpy as np
import protocols
import pytest

from fmx.index.fasta import read_fasta
from fmx.output import FORMATS, RecordWriter, Sink, kinds_of, module_of
from fmx.output.formats import matrix
from fmx.output.hits import BatchWriter, HitWriter, Writers
from fmx.output.mates import MateWriter
from fmx.output.search_output import RecordOutput

CONTIGS = [("one", "ACGTACGGTCA"), ("two", "TTGACCATTGA")]


@pytest.fixture
def reference(tmp_path):
    paths = [tmp_path / f"{name}.fa" for name, _ in CONTIGS]
    for path, contig in zip(paths, CONTIGS, strict=True):
        path.write_bytes(journeys.fasta([contig]))
    return read_fasta(paths)[0]  # of several files, whose contigs are groups


KINDS = [kind for kind in FORMATS if kind in kinds_of("search") or kind in ("rtab", "npz", "nothing")]


def writer_of(kind, reference):
    output = RecordOutput(kind=kind, matrix="counts" if kind in ("rtab", "npz") else None)
    return module_of(kind).open_hits(reference, output, lambda names: b"")


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_of_hits_is_a_record_writer(kind, reference):
    writer, head = writer_of(kind, reference)
    assert isinstance(writer, BatchWriter)
    assert protocols.missing(RecordWriter, writer) == []
    assert (type(head), type(writer.end()), writer.refusals()) == (bytes, bytes, set())
    assert writer.of(None) is writer
    writer.allow(1)
    piece = np.zeros(3, np.uint8)
    assert not writer.owns(piece)
    assert not writer.owns(b"")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_gpu_cannot_make_has_no_door_to_it(kind, reference):
    writer, _ = writer_of(kind, reference)
    assert hasattr(writer, "made_on_gpu") == isinstance(writer, HitWriter)


def test_writers_around_others_have_what_these_have(reference):
    writer, _ = writer_of("sam", reference)
    for around in (MateWriter(writer), Writers({"reads": writer})):
        used = set(protocols.missing(RecordWriter, around))
        assert used <= {"allow", "format", "split", "owns"}, used  # allowed before; of() gives the others
    assert protocols.missing(Sink, matrix._Pieces([])) == []
