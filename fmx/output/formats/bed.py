"""BED6, for hits and matches: contig, start, end, name of the query, mismatches, strand.
output/__init__.py finds open_hits and open_matches by their names."""

from typing import TYPE_CHECKING

from ...compiler.functions import static_type
from ...input.sets import n_changes
from .. import Opening, SamHeader, put
from ..hits import HitWriter
from ..lines import MatchWriter
from ..records import LINED, REVERSE, UNMAPPED, contigs_of, put_place, put_record

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ..search_output import SearchOutput

Bed = static_type("Bed", LINED, __name__)


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return the writer and b"": BED has no header."""
    return HitWriter(Bed(*contigs_of(reference))), b""


def open_matches(reference: "Reference", output: object, which: int, sam_header: SamHeader) -> Opening:
    """Return the writer and b"": BED has no header."""
    return MatchWriter(Bed(*contigs_of(reference))), b""


@put_record.register(Bed)
def _put_bed(form, out, at, batch, record):
    if record.flag & UNMAPPED:
        return at
    at = put.byte(out, put_place(form, out, at, record), put.TAB)
    at = put.field(out, put.query(out, at, batch, record.query), n_changes(record.changes))
    return put.byte(out, put.strand_field(out, at, record.flag & REVERSE), put.LINE)
