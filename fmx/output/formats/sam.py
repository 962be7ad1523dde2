"""SAM 1.6 text; docs/formats.md describes the fields and flags."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.functions import by_type_or_this, compiled, inlined, static_type
from ...index.reference import contig_of, position_of_key
from ...input.reads import comment_of, tag_end
from .. import Opening, SamHeader, put
from ..hits import HitWriter
from ..records import (
    COMMENTS,
    CRAM,
    LINED,
    MATCH,
    MISMATCHED,
    MISMATCHES,
    NOWHERE,
    REVERSE,
    SECONDARY,
    UNMAPPED,
    begin_text_tag,
    contigs_of,
    end_text_tag,
    gap_byte,
    gap_of,
    insert_of,
    put_number_tag,
    put_record,
    put_tags,
    with_gaps,
)

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ..search_output import SearchOutput

_NUMBER, _TEXT = map(put.as_bytes, (":i:", ":Z:"))
_NO_MATE, _NO_READ, _NO_QUALITY = map(put.as_bytes, ("\t*\t0\t0\t", "*\t*", "\t*"))
_NO_PLACE = put.as_bytes("\t*\t0")
_HD = put.as_bytes("@HD\tVN:1.6\tSO:unsorted\tGO:query\n")
_SQ, _LN, _M5, _HEX = map(put.as_bytes, ("@SQ\tSN:", "\tLN:", "\tM5:", "0123456789abcdef"))
# Tags that describe an alignment (SAMtags specification), and last the read group.
_LEFT_OUT = put.as_bytes("AMASCCCGCMCPH0H1H2HIIHMCMDMQNHNMPQSASMTCUQRG")
_CLIP = b"H"[0]  # of a CIGAR
_SAME = b"="[0]  # the same contig as the record's
_UNKNOWN = 255  # mapping quality


def header(
    reference: "Reference", version: str, command_line: str, read_group: str, names: "put.NameLines"
) -> bytearray:
    """Return the header lines; ``read_group``: @RG lines or empty; ``names``: of the contigs."""
    digits = len(str(reference.lengths.max()))
    line = _SQ.size + _LN.size + digits + _M5.size + 2 * reference.md5.shape[1] + 1
    out = np.empty(_HD.size + names.data.size + reference.lengths.size * line + put.DIGITS, np.uint8)
    size = _put_contigs(out, put.text(out, 0, _HD), names, reference.lengths, reference.md5)
    lines = bytearray(out[:size].data)
    group = f"{read_group}\n" if read_group else ""
    lines += f"{group}@PG\tID:fmx\tPN:fmx\tVN:{version}\tCL:{command_line}\n".encode()
    return lines


@compiled
def _put_contigs(out, at, names, lengths, digests):
    """Write an @SQ line for each contig from ``at`` on; return the end.

    ``lengths`` int64[n], ``digests`` uint8[n, 16].
    """
    for i in range(lengths.size):
        at = put.text(out, put.name(out, put.text(out, at, _SQ), names, i), _LN)
        at = put.text(out, put.number(out, at, lengths[i]), _M5)
        for j in range(digests.shape[1]):
            at = put.byte(out, at, _HEX[digests[i, j] >> 4])
            at = put.byte(out, at, _HEX[digests[i, j] & 15])
        at = put.byte(out, at, put.LINE)
    return at


def _mapping_quality(n: int) -> int:
    """MAPQ of a read with n equally likely occurrences: -10 log10(1 - 1/n), at most 60."""
    return 60 if n == 1 else min(60, round(-10 * np.log10(1 - 1 / n)))


_MAPQ = np.array([0, *(_mapping_quality(n) for n in range(1, 32))], np.int64)  # 0 from n = 10 on


@inlined
def quality_of(n):
    """MAPQ of a read with n equally likely occurrences, in compiled code."""
    return _MAPQ[n] if n < _MAPQ.size else 0


# SamHits also has: whether unmapped reads have a record, the bits of TAGS, the ID of the read group of all
# reads, uint8[n], and ``longest_group``: longest ID if reads have their own read groups, else 0.
SamHits = static_type("SamHits", (*LINED, "unmapped", "tags", "group", "longest_group"), __name__)
# SamGaps, on a GPU, leave gaps for bases and qualities, and note where, in ``gaps``.
SamGaps = static_type("SamGaps", (*SamHits._fields, "gaps"), __name__)
_SamMatches = static_type("_SamMatches", LINED, __name__)


def form_of(kind: Any, reference: "Reference", output: "SearchOutput") -> Any:
    """SamHits, or another ``kind`` with its fields, for a SearchOutput."""
    tags, group = output.tags | CRAM * (output.kind == "cram"), put.as_bytes(output.groups.name)
    longest = 0 if tags & COMMENTS else output.groups.longest  # a read's own group is among its tags
    return kind(*contigs_of(reference), output.unmapped, tags, group, longest)


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return (HitWriter, header)."""
    form = form_of(SamHits, reference, output)
    return HitWriter(form, is_sam=True), sam_header(form.names)


def open_matches(reference: "Reference", output: object, which: int, sam_header: SamHeader) -> Opening:
    """Return (MatchWriter, header)."""
    from ..lines import MatchWriter  # not needed for a search

    form = _SamMatches(*contigs_of(reference))
    return MatchWriter(form, is_sam=True), sam_header(form.names)


@put_number_tag.register(SamHits)
@put_number_tag.register(SamGaps)
@put_number_tag.register(_SamMatches)
def _put_number_tag(form, out, at, name, x, n_bytes):
    return put.number(out, put.text(out, put.text(out, put.byte(out, at, put.TAB), name), _NUMBER), x)


@begin_text_tag.register(SamHits)
@begin_text_tag.register(SamGaps)
@begin_text_tag.register(_SamMatches)
def _begin_text_tag(form, out, at, name):
    return put.text(out, put.text(out, put.byte(out, at, put.TAB), name), _TEXT)


@end_text_tag.register(SamHits)
@end_text_tag.register(SamGaps)
@end_text_tag.register(_SamMatches)
def _end_text_tag(form, out, at):
    return at


@put_record.register(SamHits)
@put_record.register(SamGaps)
def _put_hit(form, out, at, batch, record):
    if record.contig < 0 and not form.unmapped:
        return at
    r, is_mapped = record.query, (record.flag & UNMAPPED) == 0
    at = put.field(out, put.query(out, at, batch, r), record.flag)
    if record.contig < 0:
        at = put.text(out, at, _NO_PLACE)
    else:
        at = put.field(out, put.name_field(out, at, form.names, record.contig), record.start + 1)
    at = put.byte(out, put.field(out, at, quality_of(record.n_best) if is_mapped else 0), put.TAB)
    at = put.byte(out, put.number(out, at, record.end), MATCH) if is_mapped else put.byte(out, at, put.STAR)
    at = _put_mate(form, out, at, record)
    if record.flag & SECONDARY:
        at = put.text(out, at, _NO_READ)
    else:
        at = _put_read(form, out, at, batch, r, (record.flag & REVERSE) != 0)
    at = put_tags(form, out, at, batch, record)
    if form.tags & COMMENTS:
        at = _put_comment(form, out, at, batch, r)
    return put.byte(out, at, put.LINE)


@by_type_or_this
def _put_comment(form, out, at, batch, r):
    """Write the tags in the comment of read r, without those of its earlier alignment; on a GPU none."""
    return at


@_put_comment.register(SamHits)
def _put_comment_tags(form, out, at, batch, r):
    i, end = comment_of(batch, r)
    while i < end:
        stop, is_copied = tag_end(batch.data, put.TAB, i, end), True
        for j in range(0, _LEFT_OUT.size if form.group.size else _LEFT_OUT.size - 2, 2):
            is_copied &= batch.data[i] != _LEFT_OUT[j] or batch.data[i + 1] != _LEFT_OUT[j + 1]
        if is_copied:
            at = put.span(out, put.byte(out, at, put.TAB), batch.data, i, stop - i)
        i = stop + 1
    return at


@inlined
def _put_mate(form, out, at, record):
    """Write RNEXT, PNEXT and TLEN, between tabs."""
    key = record.mate.key
    if key == NOWHERE:
        return put.text(out, at, _NO_MATE)
    contig = contig_of(key)
    if contig == record.contig:
        at = put.byte(out, put.byte(out, at, put.TAB), _SAME)
    else:
        at = put.name_field(out, at, form.names, contig)
    at = put.field(out, at, position_of_key(key) + 1)
    return put.byte(out, put.signed(out, put.byte(out, at, put.TAB), insert_of(form, record)), put.TAB)


@put_record.register(_SamMatches)
def _put_match(form, out, at, batch, record):
    """Write an alignment of a part of a query, with the rest hard-clipped."""
    n, before, after = record.end - record.begin, record.begin, batch.length[record.query] - record.end
    reverse = (record.flag & REVERSE) != 0
    if reverse:
        before, after = after, before
    at = put.field(out, put.query(out, at, batch, record.query), record.flag)
    at = put.field(out, put.name_field(out, at, form.names, record.contig), record.start + 1)
    at = put.byte(out, put.field(out, at, _UNKNOWN), put.TAB)
    at = put.byte(out, put.number(out, _put_clip(out, at, before), n), MATCH)
    at = put.text(out, _put_clip(out, at, after), _NO_MATE)
    at = put.bases(out, at, batch.data, batch.start[record.query] + record.begin, n, reverse)
    at = put_number_tag(form, out, put.text(out, at, _NO_QUALITY), MISMATCHES, 0, 1)
    at = put.number(out, begin_text_tag(form, out, at, MISMATCHED), n)
    return put.byte(out, end_text_tag(form, out, at), put.LINE)


@inlined
def _put_clip(out, at, n):
    return put.byte(out, put.number(out, at, n), _CLIP) if n > 0 else at


@by_type_or_this
def _put_read(form, out, at, batch, r, reverse):
    """Write SEQ and QUAL on a strand."""
    if batch.length[r] == 0:
        return put.text(out, at, _NO_READ)
    at = put.letters(out, at, batch, r, reverse)
    if batch.quality_start[r] < 0:
        return put.text(out, at, _NO_QUALITY)
    return put.qualities(out, put.byte(out, at, put.TAB), batch, r, reverse)


@with_gaps.register(SamHits)
def _with_gaps(form, gaps):
    return SamGaps(*form, gaps)


@_put_read.register(SamGaps)
def _put_gap(form, out, at, batch, r, reverse):
    if batch.length[r] == 0:
        return put.text(out, at, _NO_READ)
    form.gaps[r] = at
    at, n = gap_of(form, batch, r)
    return at + n if batch.quality_start[r] >= 0 else put.text(out, at + n, _NO_QUALITY)


@gap_of.register(SamGaps)
def _gap_of(form, batch, r):
    n = batch.length[r]
    return form.gaps[r], 2 * n + 1 if n > 0 and batch.quality_start[r] >= 0 else n


@gap_byte.register(SamGaps)
def _gap_byte(form, batch, r, reverse, j):
    n = batch.length[r]
    if j < n:
        return put.letter(batch, r, reverse, j)
    return put.quality(batch, r, reverse, j - n - 1) if j > n else np.uint8(put.TAB)
