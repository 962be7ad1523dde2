"""PAF: the twelve columns and cg:Z; before it NH:i for hits, AS:i and id:f (identity) for pairs."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined, static_type
from ...input.sets import n_changes
from .. import Opening, SamHeader, put
from ..hits import HitWriter
from ..lines import MatchWriter, PairWriter, put_pair
from ..records import LINED, REVERSE, UNMAPPED, contigs_of, put_record
from .sam import quality_of

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ..search_output import SearchOutput

_PATH, _SCORE, _IDENTITY = map(put.as_bytes, ("\tcg:Z:", "\tAS:i:", "\tid:f:"))
_MATCH, _EQUAL = b"M="  # operations of a CIGAR
_NH = put.as_bytes("\tNH:i:")
_UNKNOWN = 255  # mapping quality


PafHits = static_type("PafHits", (*LINED, "lengths"), __name__)  # of the contigs, int64[n]
_PafMatches = static_type("_PafMatches", PafHits._fields, __name__)


class _PafPairs(NamedTuple):
    """Names and lengths, int64[n], of the sequences, and the bytes before a path."""

    queries: put.NameLines
    targets: put.NameLines
    path: np.ndarray
    query_lengths: np.ndarray
    target_lengths: np.ndarray


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return (HitWriter, nothing)."""
    return HitWriter(PafHits(*contigs_of(reference), reference.lengths)), b""


def open_matches(reference: "Reference", output: object, which: int, sam_header: SamHeader) -> Opening:
    """Return (MatchWriter, nothing)."""
    return MatchWriter(_PafMatches(*contigs_of(reference), reference.lengths)), b""


def open_pairs(names: tuple[Any, Any], lengths: tuple[np.ndarray, np.ndarray], with_path: bool) -> Opening:
    """Return (PairWriter, nothing)."""
    return PairWriter(
        _PafPairs(put.make_names(names[0]), put.make_names(names[1]), _PATH, *lengths), with_path
    ), b""


@put_record.register(PafHits)
def _put_hit(form, out, at, batch, record):
    if record.flag & UNMAPPED:
        return at
    at = _put_places(form, out, at, batch, record, quality_of(record.n_best))
    return _put_path(out, put.number(out, put.text(out, at, _NH), record.total), record)


@put_record.register(_PafMatches)
def _put_match(form, out, at, batch, record):
    return _put_path(out, _put_places(form, out, at, batch, record, _UNKNOWN), record)


@inlined
def _put_places(form, out, at, batch, record, quality):
    """Write the twelve columns."""
    n = record.end - record.begin
    at = put.field(out, put.query(out, at, batch, record.query), batch.length[record.query])
    at = put.field(out, put.field(out, at, record.begin), record.end)
    at = put.name_field(out, put.strand_field(out, at, record.flag & REVERSE), form.names, record.contig)
    at = put.field(out, put.field(out, at, form.lengths[record.contig]), record.start)
    n_equal = n - n_changes(record.changes)
    return _put_sizes(out, put.field(out, at, record.start + n), n_equal, n, quality)


@inlined
def _put_path(out, at, record):
    """Write the CIGAR and the end of the line."""
    at = put.number(out, put.text(out, at, _PATH), record.end - record.begin)
    return put.byte(out, put.byte(out, at, _MATCH if n_changes(record.changes) else _EQUAL), put.LINE)


@put_pair.register(_PafPairs)
def _put_pair(form, out, at, records, r):
    query, target = records.query[r], records.target[r]
    at = _put_whole(out, put.name(out, at, form.queries, query), form.query_lengths[query])
    at = put.name_field(out, put.strand_field(out, at, False), form.targets, target)
    at = _put_whole(out, at, form.target_lengths[target])
    at = _put_sizes(out, at, records.matches[r], records.length[r], _UNKNOWN)
    at = put.signed(out, put.text(out, at, _SCORE), records.h[r])
    return put.share(out, put.text(out, at, _IDENTITY), records.identity[r])


@inlined
def _put_whole(out, at, n):
    """Write a length, and start and end of the whole sequence."""
    return put.field(out, put.field(out, put.field(out, at, n), 0), n)


@inlined
def _put_sizes(out, at, matches, length, quality):
    """Write matches, alignment length and quality."""
    return put.field(out, put.field(out, put.field(out, at, matches), length), quality)
