"""FASTA -> the letters of all contigs, by all threads.

The bytes are cut into spans, wherever their borders lie.  What stands before a span is told by the last line
that begins there, and the letters of the spans close ranks afterwards:

    data       >x.ACGT.AC | GT.>y.TT | TT.          . a newline, | a border of spans
    letters    ACGTAC GTTT TT
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..compiler.primitives import find_byte
from ..errors import InputError, escaped
from ..input.chunks import CHUNK_SIZE, CR, NEWLINE, about_cr, no_fasta, skip_blank
from ..input.spans import read_whole
from ..machines.threads import run_all

SPAN = CHUNK_SIZE
_HEADER, _BLANK = ord(">"), 1
_UPPER = np.zeros(256, np.uint8)  # byte -> upper-case letter of the reference, _BLANK, or 0: neither
for _letter in range(ord("A"), ord("Z") + 1):
    _UPPER[_letter] = _UPPER[_letter + 32] = _letter
_UPPER[ord(".")] = ord(".")
_UPPER[[ord(" "), ord("\t"), CR]] = _BLANK


class Letters(NamedTuple):
    """``letters`` uint8, upper case; ``starts`` int64[n + 1] of contigs there; ``headers`` without '>'."""

    letters: Any
    starts: Any
    headers: list


class Begin(NamedTuple):
    """Where a span begins: at the start of a line, in a header, after a CR, behind the first header."""

    at_line_start: bool
    in_header: bool
    after_cr: bool
    in_contig: bool


class Found(NamedTuple):
    """In a span: letters; of each contig the byte of its '>' and the letters before; a bad byte or -1."""

    n_letters: int
    at: Any
    before: Any
    bad: int


def read_letters(source, n_threads=1, tell=lambda: None) -> Letters:
    """The Letters of a Source; ``tell`` as of read_whole.

    Raises InputError for what is no FASTA file of at least one contig.
    """
    data = read_whole(source, n_threads, tell)
    cut = [(start, min(start + SPAN, data.size)) for start in range(0, data.size, SPAN)]
    begins = _begins(data, cut, run_all(_last_newline, [(data, *span) for span in cut], n_threads))
    letters = np.empty(data.size, np.uint8)
    spans = [(data, *span, begin, letters) for span, begin in zip(cut, begins, strict=True)]
    found = run_all(_scan_span, spans, n_threads)
    for own in found:
        if own.bad >= 0:
            line = 1 + int(np.count_nonzero(data[: own.bad] == NEWLINE))
            raise InputError(source.path, f"line {line}", _complaint(data, own.bad))
    at = np.concatenate([own.at for own in found] or [np.empty(0, np.int64)])
    if at.size == 0:
        raise InputError(source.path, "", "is empty: expected FASTA")
    ends = np.empty(at.size, np.int64)
    _find_line_ends(data, at, ends)
    headers = [data[i + 1 : end].tobytes() for i, end in zip(at.tolist(), ends.tolist(), strict=True)]
    n, starts = 0, []
    for (start, _), own in zip(cut, found, strict=True):
        letters[n : n + own.n_letters] = letters[start : start + own.n_letters]
        starts.append(own.before + n)
        n += own.n_letters
    return Letters(letters[:n], np.concatenate([*starts, [n]]), headers)


def _begins(data, cut, newlines):
    """Yield the Begin of each span; ``newlines`` the last one in each, or -1."""
    line, first = 0, skip_blank(data, 0)  # where the line begins that a span begins in
    for (start, _), newline in zip(cut, newlines, strict=True):
        before = data[start - 1] if start else NEWLINE
        yield Begin(line == start, line < start and data[line] == _HEADER, before == CR, start > first)
        line = newline + 1 if newline >= 0 else line


def _scan_span(data, start, stop, begin, letters) -> Found:
    at = np.empty((2, np.count_nonzero(data[start:stop] == _HEADER)), np.int64)
    n_letters, n_contigs, bad = _scan(data[:stop], start, begin, _UPPER, letters[start:], at)
    return Found(n_letters, at[0, :n_contigs], at[1, :n_contigs], bad)


def _complaint(data, bad) -> str:
    byte = data[bad]
    if bad and data[bad - 1] == CR and byte != NEWLINE:
        return about_cr(data[:CHUNK_SIZE])
    first = skip_blank(data, 0)
    if bad <= first or data[first] != _HEADER:
        return no_fasta(byte)
    return f"{escaped(bytes([byte]))} is not a letter of a sequence"


@compiled
def _last_newline(data, start, stop):
    """Index of the last newline in data[start:stop], or -1."""
    i = stop - 1
    while i >= start and data[i] != NEWLINE:
        i -= 1
    return i if i >= start else -1


@compiled
def _find_line_ends(data, starts, ends):
    """``ends`` int64: where the lines end that hold these bytes."""
    for i in range(starts.size):
        newline = find_byte(data, NEWLINE, starts[i], data.size)
        ends[i] = data.size if newline < 0 else newline


@compiled
def _scan(data, i, begin, upper, letters, at):
    """Take data[i:], one span, by a thread: (letters, contigs that begin, index of a bad byte or -1).

    ``at`` int64[2, contigs]: of each the byte of its '>' and the number of letters before it.
    """
    at_line_start, in_header, after_cr = begin.at_line_start, begin.in_header, begin.after_cr
    n_letters, n_contigs, bad = 0, 0, -1
    while i < data.size and bad < 0:
        if after_cr and data[i] != NEWLINE:
            bad = i
            break
        after_cr = False
        if at_line_start and data[i] == _HEADER:
            at[0, n_contigs], at[1, n_contigs] = i, n_letters
            n_contigs += 1
            in_header, at_line_start = True, False
            i += 1
            continue
        newline = find_byte(data, NEWLINE, i, data.size)
        stop = data.size if newline < 0 else newline
        cr = find_byte(data, CR, i, stop)
        if cr >= 0:  # what follows it must be a LF
            after_cr, stop, newline = True, cr + 1, -1
        if not in_header:
            for j in range(i, stop):
                letter = upper[data[j]]
                if letter > _BLANK and (n_contigs > 0 or begin.in_contig):
                    letters[n_letters] = letter
                    n_letters += 1
                elif letter != _BLANK:
                    bad = j
                    break
        at_line_start = newline >= 0
        if at_line_start:
            in_header = False
        i = stop + at_line_start
    return n_letters, n_contigs, bad
