"""TSV with a header line: hits and matches (0-based, half-open), pairs, and counts of reads."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import by_type_or_this, static_type
from ...input.sets import n_changes
from .. import Opening, SamHeader, put
from ..hits import HitWriter
from ..lines import MatchWriter, PairWriter, put_pair
from ..records import LINED, REVERSE, UNMAPPED, contigs_of, put_place, put_record
from .matrix import open_matrix

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...search.counts import Owners
    from ..search_output import SearchOutput

HITS = b"pattern\tcontig\tstart\tend\tstrand\toccurrences\n"
NEAR = HITS[:-1] + b"\tmismatches\n"
_NOWHERE = put.as_bytes(4 * "\t*")
_MATCHES = b"query\tquery_start\tquery_end\tstrand\tcontig\tstart\tend\tlength\n"
_PAIRS = b"query\ttarget\tscore\tidentity\tlength\tmatches"


# TsvHits also has: whether patterns without a hit have a line.
TsvHits = static_type("TsvHits", (*LINED, "absent"), __name__)
_TsvNear = static_type("_TsvNear", TsvHits._fields, __name__)
_TsvMatches = static_type("_TsvMatches", LINED, __name__)


class _TsvPairs(NamedTuple):
    """Names of the sequences, and the bytes before a path."""

    queries: put.NameLines
    targets: put.NameLines
    path: np.ndarray


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return (HitWriter, header line)."""
    if output.matrix:
        return open_matrix(reference, output)
    form, head = (_TsvNear, NEAR) if output.mismatches else (TsvHits, HITS)
    return HitWriter(form(*contigs_of(reference), output.absent)), head


def open_matches(reference: "Reference", output: object, which: int, sam_header: SamHeader) -> Opening:
    """Return (MatchWriter, header line)."""
    return MatchWriter(_TsvMatches(*contigs_of(reference))), _MATCHES


def open_pairs(names: tuple[Any, Any], lengths: tuple[np.ndarray, np.ndarray], with_path: bool) -> Opening:
    """Return (PairWriter, header line)."""
    form = _TsvPairs(put.make_names(names[0]), put.make_names(names[1]), put.as_bytes("\t"))
    return PairWriter(form, with_path), _PAIRS + (b"\tcigar\n" if with_path else b"\n")


@put_record.register(TsvHits)
@put_record.register(_TsvNear)
def _put_hit(form, out, at, batch, record):
    is_mapped = record.flag & UNMAPPED == 0
    if not is_mapped and not form.absent:
        return at
    at = put.query(out, at, batch, record.query)
    if is_mapped:
        at = put_place(form, out, put.byte(out, at, put.TAB), record)
        at = put.strand_field(out, at, record.flag & REVERSE)
    else:
        at = put.text(out, at, _NOWHERE)
    return put.byte(out, _put_changes(form, out, put.field(out, at, record.total), record), put.LINE)


@by_type_or_this
def _put_changes(form, out, at, record):
    """Write the column of mismatches; there is none without mismatches."""
    return at


@_put_changes.register(_TsvNear)
def _put_near(form, out, at, record):
    if record.flag & UNMAPPED:
        return put.byte(out, put.byte(out, at, put.TAB), put.STAR)
    return put.field(out, at, n_changes(record.changes))


@put_record.register(_TsvMatches)
def _put_match(form, out, at, batch, record):
    at = put.field(out, put.query(out, at, batch, record.query), record.begin)
    at = put.byte(out, put.strand_field(out, put.field(out, at, record.end), record.flag & REVERSE), put.TAB)
    at = put_place(form, out, at, record)
    return put.byte(out, put.field(out, at, record.end - record.begin), put.LINE)


@put_pair.register(_TsvPairs)
def _put_pair(form, out, at, records, r):
    at = put.name(out, at, form.queries, records.query[r])
    at = put.name_field(out, at, form.targets, records.target[r])
    at = put.signed(out, put.byte(out, at, put.TAB), records.h[r])
    at = put.share(out, put.byte(out, at, put.TAB), records.identity[r])
    return put.field(out, put.field(out, at, records.length[r]), records.matches[r])


def counts(owners: "Owners", table: np.ndarray, by_group: bool = False) -> bytes:
    """Return the table of counts: one line per contig or group; ``table``: counts of a Tally."""
    lines = ["group" if by_group else "contig", "\tlength\treads\thits\tunique\t", "shared\t" * by_group]
    lines.append("fractional\n")
    for name, length, row in zip(owners.names, owners.lengths, table.tolist(), strict=True):
        reads, hits, once, millionths, only = row
        split = f"{only}\t{reads - only}" if by_group else once
        fraction = f"{millionths // 10**6}.{millionths % 10**6:06}"
        lines.append(f"{name}\t{length}\t{reads}\t{hits}\t{split}\t{fraction}\n")
    return "".join(lines).encode()


def screen(combinations: Mapping[tuple[str, ...], int], of: str, what: str, n_all: int) -> bytes:
    """Return the table of a screen: reads per combination of groups; last, those that occur in none.

    ``combinations``: of a Screen, ``of`` "groups" or "indexes"; ``n_all``: number of all reads, or of pairs;
    ``what``: reads or pairs.
    """
    lines, left = [f"{of}\tnumber\t{what}\tpercent\n"], n_all - sum(combinations.values())
    for names, n in [*combinations.items(), (("*",), left)]:
        number = len(names) if names != ("*",) else 0
        lines.append(f"{','.join(names)}\t{number}\t{n}\t{100 * n / max(n_all, 1):.2f}\n")
    return "".join(lines).encode()
