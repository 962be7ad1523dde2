"""Reading FASTA into a Reference and its text on all threads, and groups of contigs from a table.

The bytes are cut into spans at arbitrary borders.  The last line that begins before a span determines its
state; afterwards the bases of all spans are moved together:

    data       >x.ACGT.AC | GT.>y.TT | TT.          . a newline, | a border of spans
    letters    ACGTAC GTTT TT
"""

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..compiler.functions import compiled
from ..compiler.primitives import at, find_byte
from ..compiler.sorting import lower_bound
from ..dna import CODE, LOOKED_AT, other_than_dna
from ..errors import InputError, escaped, shown
from ..input import InputShare
from ..input.chunks import CHUNK_SIZE, CR, IS_BAM, NEWLINE, about_cr, no_fasta, refuse_archive, skip_blank
from ..input.spans import read_whole
from ..input.streams import Source, stems_of
from ..input.tables import read_named
from ..machines import jobs
from ..machines.jobs import run_all
from .reference import Groups, Reference, are_names, grouped, make_blocks

if TYPE_CHECKING:
    from ..input import ReadPath

_HEADER, _BLANK = ord(">"), 1
_UPPER = np.zeros(256, np.uint8)  # byte to upper-case letter of the reference, _BLANK, or 0: neither
for _letter in range(ord("A"), ord("Z") + 1):
    _UPPER[_letter] = _UPPER[_letter + 32] = _letter
_UPPER[ord(".")] = ord(".")
_UPPER[[ord(" "), ord("\t"), CR]] = _BLANK


def _read_letters(
    source: Source, n_threads: int = 1, tell: Callable[[], object] = lambda: None, size: int = CHUNK_SIZE
) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    """Return (letters uint8, upper case; starts int64[n + 1] of contigs there; headers without '>').

    A Source is read in spans of ``size`` bytes; ``tell`` is that of read_whole.  Raises InputError if it is
    not FASTA with at least one contig.
    """
    if source.alignments:
        raise InputError(source.path, "", IS_BAM)
    data = read_whole(source, n_threads, tell, size)
    refuse_archive(source.path, data)
    cut = [(start, min(start + size, data.size)) for start in range(0, data.size, size)]
    newlines = run_all(_last_newline, [(data, *span) for span in cut], n_threads)
    line, first = 0, skip_blank(data, 0)  # start of the line in which a span begins
    letters, begins = np.empty(data.size, np.uint8), []
    for (start, _), newline in zip(cut, newlines, strict=True):
        before = data[start - 1] if start else NEWLINE
        in_header = line < start and data[line] == _HEADER
        begins.append((line == start, in_header, bool(before == CR), start > first))
        line = newline + 1 if newline >= 0 else line

    def scan(start: int, stop: int, begin: tuple) -> tuple:
        """Return (letters, bad byte or -1, the '>' bytes of contigs, the letters before each) of a span."""
        places = np.empty((2, np.count_nonzero(data[start:stop] == _HEADER)), np.int64)
        n_letters, n_contigs, bad = _scan(data[:stop], start, begin, _UPPER, letters[start:], places)
        return n_letters, bad, *places[:, :n_contigs]

    spans = run_all(scan, [(*span, begin) for span, begin in zip(cut, begins, strict=True)], n_threads)
    for _, bad, *_ in spans:
        if bad >= 0:
            line, wrong = 1 + int(np.count_nonzero(data[:bad] == NEWLINE)), data[bad]
            message = f"{escaped(bytes([wrong]))} is not a base"
            if bad and data[bad - 1] == CR and wrong != NEWLINE:
                message = about_cr(data[:CHUNK_SIZE])
            elif bad <= first or data[first] != _HEADER:
                message = no_fasta(wrong)
            raise InputError(source.path, f"line {line}", message)
    headers_at = np.concatenate([places for *_, places, _ in spans] or [np.empty(0, np.int64)])
    if headers_at.size == 0:
        raise InputError(source.path, "", "the file is empty; expected FASTA")
    ends = np.empty(headers_at.size, np.int64)
    _find_line_ends(data, headers_at, ends)
    headers = [data[i + 1 : end].tobytes() for i, end in zip(headers_at.tolist(), ends.tolist(), strict=True)]
    n, starts = 0, []
    for (start, _), (n_letters, _, _, before) in zip(cut, spans, strict=True):
        letters[n : n + n_letters] = letters[start : start + n_letters]
        starts.append(before + n)
        n += n_letters
    return letters[:n], np.concatenate([*starts, [n]]), headers


@compiled
def _last_newline(data, start, stop):
    """Return the index of the last newline in data[start:stop], or -1."""
    i = stop - 1
    while i >= start and data[i] != NEWLINE:
        i -= 1
    return i if i >= start else -1


@compiled
def _find_line_ends(data, starts, ends):
    """Set ``ends`` (int64) to the ends of the lines that contain the bytes at ``starts``."""
    for i in range(starts.size):
        newline = find_byte(data, NEWLINE, starts[i], data.size)
        ends[i] = data.size if newline < 0 else newline


@compiled
def _scan(data, i, begin, upper, letters, places):
    """Scan data[i:], one span, by a thread; return (letters, contigs that begin, index of a bad byte or -1).

    ``begin``: whether the span begins at the start of a line, in a header, after a CR, after the first '>'.
    ``places`` int64[2, contigs]: for each contig its '>' byte and the number of letters before it.
    """
    at_line_start, in_header, after_cr, in_contig = begin
    n_letters, n_contigs, bad = 0, 0, -1
    while i < data.size and bad < 0:
        if after_cr and data[i] != NEWLINE:
            bad = i
            break
        after_cr = False
        if at_line_start and data[i] == _HEADER:
            places[0, n_contigs], places[1, n_contigs] = i, n_letters
            n_contigs += 1
            in_header, at_line_start = True, False
            i += 1
            continue
        newline = find_byte(data, NEWLINE, i, data.size)
        stop = data.size if newline < 0 else newline
        cr = find_byte(data, CR, i, stop)
        if cr >= 0:  # an LF must follow it
            after_cr, stop, newline = True, cr + 1, -1
        if not in_header:
            for j in range(i, stop):
                letter = upper[data[j]]
                if letter > _BLANK and (n_contigs > 0 or in_contig):
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


_GROUP_COLUMNS = {
    "contig": ("contig", "sequence", "seqid", "seqname", "chrom", "chromosome", "accession", "name"),
    "group": ("group", "strain", "genome", "species", "taxon", "sample", "file", "reference"),
}


def read_groups(path: str, contigs: Sequence[str], tell: Callable[..., object]) -> Groups:
    """Read groups of ``contigs`` (names) from a table of contig and group, with or without a header line.

    ``tell`` gets a message if the table has other contigs.  Raises InputError that names the line, or a
    contig without a line.
    """
    columns, rows = read_named(path, _GROUP_COLUMNS)
    group_of: dict = {}
    for number, cells in rows:
        where = f"line {number}"
        if len(cells) < 2:
            raise InputError(path, where, "expected a contig and its group, separated by a tab")
        contig, group = cells[columns["contig"]], cells[columns["group"]]
        if not are_names([group]):
            raise InputError(path, where, f"{shown(group)!r} is not a group name: use printable characters")
        if group_of.setdefault(contig, group) != group:
            raise InputError(path, where, f"contig {shown(contig)} is already in group {group_of[contig]}")
    if missing := [name for name in contigs if name not in group_of]:
        more = f" and {len(missing) - 1:,} others" if missing[1:] else ""
        raise InputError(
            path, "", f"no line for contig {missing[0]}{more}: the table needs one line per contig"
        )
    if others := len(group_of.keys() - set(contigs)):
        verb = "is" if others == 1 else "are"
        tell(f"{path}: {others:,} of its contigs {verb} not in the reference; ignored")
    return grouped(group_of[name] for name in contigs)


_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")  # SAM's RNAME
_SAM_HOLDS = "is not allowed in SAM (letters, digits, !#$%&+./:;?@^_|~- and, except first, * and =)"


def read_fasta(
    paths: "ReadPath | Sequence[ReadPath]",
    n_threads: int = 1,
    prefixed: bool = False,
    done: Callable[[float | None], object] = lambda share: None,
    warn: Callable[[str], object] = lambda words: None,
    size: int = CHUNK_SIZE,
) -> tuple[Reference, np.ndarray]:
    """Read FASTA (plain or compressed, '-' for stdin), one file or a list, and return (Reference, text).

    Each of several files is a group, named by its stem; with ``prefixed``, the stem and a # precede the names
    of its contigs.  ``text`` is uint8[n_text] of codes (reference.py).  ``done`` gets the fraction of the
    files that was read, and ``warn`` a message if a file is hardly DNA.  ``size``: bytes of a span.  Raises
    InputError unless the files are FASTA with at least one contig, all with different names and none empty.
    """
    paths = [paths] if isinstance(paths, str | bytes | os.PathLike) else paths
    stems = [""]
    if prefixed or len(paths) > 1:
        stems = stems_of(paths)
        for i, (path, stem) in enumerate(zip(paths, stems, strict=True)):
            if stem in stems[:i]:
                raise InputError(path, "", "the file is given twice")
            if not are_names([stem]):
                raise InputError(path, "", "the file name cannot serve as a group name: rename the file")
    names: dict = {}
    letters, starts, files = [], [np.zeros(1, np.int64)], []
    share = InputShare(paths)
    for number, (path, stem) in enumerate(zip(paths, stems, strict=True)):
        with Source(path) as source:

            def tell(source: Source = source, number: int = number) -> None:
                share.note(number, source.position())
                done(share())

            of_file, starts_in_file, headers = _read_letters(source, n_threads, tell, size)
        share.note(number, source.size)
        done(share())
        if strange := other_than_dna(of_file[:LOOKED_AT]):
            warn(f"{source.path}: {strange} No read can match at these characters")
        _add_names(names, source.path, headers, f"{stem}#" if prefixed else "")
        lengths = np.diff(starts_in_file)
        if (lengths == 0).any():
            name = list(names)[lengths.argmin() - lengths.size]
            raise InputError(
                source.path, f"contig {name}", "it has no sequence; remove it or correct the file"
            )
        letters.append(of_file)
        starts.append(starts_in_file[1:] + starts[-1][-1])
        files += lengths.size * [stem]
    joined, borders = letters[0] if len(paths) == 1 else np.concatenate(letters), np.concatenate(starts)
    del letters

    def digests_of(first: int, last: int) -> bytes:
        sequences = [joined[borders[i] : borders[i + 1]].data for i in range(first, last)]
        return b"".join(hashlib.md5(sequence).digest() for sequence in sequences)

    # The MD5 of each contig, in another thread, while the blocks are cut.
    digests = jobs.start(
        n_threads, run_all, digests_of, jobs.spans(borders.size - 1, 16 * n_threads), n_threads
    )
    columns, text = _cut_blocks(joined, borders, n_threads)
    md5 = np.frombuffer(b"".join(digests()), np.uint8).reshape(-1, 16)
    if text.size == 0:
        raise InputError(source.path, "", "the reference has no A, C, G or T: nothing to index")
    groups = grouped(files) if len(paths) > 1 else None
    return Reference(list(names), np.diff(borders), md5, make_blocks(*columns), text.size, groups), text


def _cut_blocks(letters: np.ndarray, starts: np.ndarray, n_threads: int) -> tuple[tuple, np.ndarray]:
    """Return (the four columns of Blocks, the text) of contigs that begin at ``starts``."""
    cut = jobs.spans(letters.size, n_threads)
    nowhere = np.empty((3, 0), np.int64), np.empty(0, np.uint8)
    counts = run_all(_cut, [(letters, starts, CODE, span, (0, 0), *nowhere) for span in cut], n_threads)
    before = np.cumsum([(0, 0), *counts], axis=0).tolist()
    n_bases, n_blocks = before.pop()
    columns, text = np.empty((3, n_blocks), np.int64), np.zeros(n_bases + n_blocks, np.uint8)
    pieces = [
        (letters, starts, CODE, span, tuple(counts), columns, text)
        for span, counts in zip(cut, before, strict=True)
    ]
    run_all(_cut, pieces, n_threads)
    return (*columns, np.diff(columns[0], append=text.size) - 1), text


def _add_names(names: dict, path: str, headers: list[bytes], prefix: str) -> None:
    """Add the names of a file's contigs to ``names``, {name: file}, in order.  Raises InputError."""
    for i, header in enumerate(headers):
        name = header.replace(b"\t", b" ").strip(b" \r").split(b" ", 1)[0].decode("utf-8", "surrogateescape")
        if not name:
            raise InputError(path, f"contig number {i + 1}", "expected a name after '>'")
        name = prefix + name
        if not _NAME.fullmatch(name):
            raise InputError(path, f"contig number {i + 1}", f"its name {name} {_SAM_HOLDS}; rename it")
        if name in names:
            what = "occurs twice (a name ends at the first space); contig names must be unique"
            if names[name] != path:
                what = f"is also in {names[name]}; use --prefix-names to name it FILE#{name}"
            raise InputError(path, "", f"contig {name} {what}")
        names[name] = path


@compiled
def _cut(letters, starts, code, span, before, columns, text):
    """Write a thread's span of letters to ``text``, if it has room; return (bases, blocks that begin there).

    ``before``: bases before the span, and blocks that begin there.
    ``columns`` int64[3, n_blocks]: text_start, contig, contig_start.  ``text`` holds zeros: separators stay.
    """
    n_bases, n_blocks = before
    fills = text.size > 0
    i, stop = span
    contig = lower_bound(starts, 0, starts.size, i + 1) - 1
    inside = i > starts[contig] and code[letters[i - 1]] < 4
    while i < stop:
        contig_stop = min(starts[contig + 1], stop)
        while i < contig_stop:
            symbol = code[at(letters, i)]
            if symbol < 4:
                if not inside:
                    if fills:
                        columns[0, n_blocks], columns[1, n_blocks] = n_bases + n_blocks, contig
                        columns[2, n_blocks] = i - starts[contig]
                    n_blocks += 1
                if fills:
                    text[n_bases + n_blocks - 1] = symbol + 1
                n_bases += 1
            inside = symbol < 4
            i += 1
        contig, inside = contig + 1, False
    return n_bases - before[0], n_blocks - before[1]
