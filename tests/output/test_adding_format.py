"""An output format added by the steps of docs/layouts.md, a file and a line of output.FORMATS."""

from typing import NamedTuple

import cases
import naive
import workflow

from fmx.index.reference import Blocks
from fmx.input.chunks import literal_fasta
from fmx.output import FORMATS, Format, kinds_of, put
from fmx.output.hits import HitWriter
from fmx.output.records import REVERSE, UNMAPPED, put_record
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import BOTH, MapOptions

CONTIGS = [("one", "ACGTTGCAGATTACA"), ("two", "TTTACGT")]
READS = ["ACGT", "TTT", "GATTACA", "TGTAATC"]


class Plain(NamedTuple):
    """Read, contig, position and strand of a hit, as numbers."""

    names: put.NameLines
    blocks: Blocks


def open_hits(reference, output, sam_header):
    """(writer, bytes before the first record)."""
    form = Plain(put.make_names(reference.names), reference.blocks)
    return HitWriter(form, end=b"end\n"), b"read contig position reverse\n"


@put_record.register(Plain)
def _put_hit(form, out, at, batch, record):
    if record.flag & UNMAPPED:
        return at
    at = put.field(out, put.number(out, at, record.query), record.contig)
    at = put.field(out, put.field(out, at, record.start), 1 if record.flag & REVERSE else 0)
    return put.byte(out, at, put.LINE)


def test_a_search_writes_it(tmp_path, index_of, monkeypatch):
    monkeypatch.setitem(FORMATS, "plain", Format(__name__, ("locate",)))
    assert kinds_of("locate")[-1] == "plain"
    index = cases.load(index_of(CONTIGS), "verify")
    output = SearchOutput(RecordOutput(str(tmp_path / "hits"), "plain"))
    options = MapOptions(SelectionPolicy(ALL), BOTH, 1)
    workflow.search(index, [literal_fasta(READS)], options, output)
    hits = [(i, hit) for i, read in enumerate(READS) for hit in naive.locate(CONTIGS, read)]
    lines = ["\t".join(map(str, (i, *hit))) for i, hit in hits]
    assert len(lines) > 5
    assert (tmp_path / "hits").read_text().splitlines() == ["read contig position reverse", *lines, "end"]
