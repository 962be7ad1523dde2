"""What fmx must take from a file, in plain Python, from docs/formats.md and docs/guide.md alone."""

import bz2
import gzip
import lzma
import re
import zlib

from output_of import zstd

BLANK = b" \t\n\v\f\r"
LONGEST_NAME = 254


class RefusedError(Exception):
    """The file is one that must be refused."""


def unpacked(data: bytes) -> bytes:
    """The bytes of a plain or compressed file."""
    unpack = next((unpack for begin, unpack in UNPACK.items() if data.startswith(begin)), bytes)
    try:
        return unpack(data)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        raise RefusedError(f"compressed: {error}") from None


def _unxz(data: bytes) -> bytes:
    """With the padding that xz allows and Python does not: a multiple of 4 bytes of 0."""
    n_padding = len(data) - len(data.rstrip(b"\0"))
    return lzma.decompress(data[: len(data) - n_padding // 4 * 4])


UNPACK = {
    b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\0": _unxz,
    b"\x28\xb5\x2f\xfd": zstd.decompress,
}  # fmt: skip


def reads(data: bytes, longest: int = LONGEST_NAME) -> list:
    """(name, sequence, quality or None) of each read of a FASTA or FASTQ file; ``longest`` name allowed."""
    found = _records(data)
    if any(len(name) > longest for name, _, _ in found):
        raise RefusedError("a long name")
    return found


def _records(data: bytes) -> list:
    data = data.lstrip(BLANK)
    if not data:
        return []
    if data[:1] == b"@":
        return _fastq(_lines(data))
    if data[:1] == b">":
        return [(_read_name(name), _letters(letters, b" \t"), None) for name, letters in _fasta(_lines(data))]
    raise RefusedError("neither '@' nor '>' at the start")


def reference(data: bytes) -> list:
    """(name, sequence) of each contig of a reference."""
    data = re.sub(rb"\A([ \t]*\r?\n)*", b"", data)
    if data[:1] != b">":
        raise RefusedError("no FASTA")
    contigs = []
    for header, letters in _fasta(_lines(data)):
        name = _first_word(header)
        if not re.fullmatch(rb"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*", name):
            raise RefusedError(f"a contig's name: {name!r}")
        sequence = _letters(letters, b" \t")
        if not sequence:
            raise RefusedError("an empty contig")
        contigs.append((name.decode(), sequence))
    if len({name for name, _ in contigs}) < len(contigs):
        raise RefusedError("the same name twice")
    if not any(set(sequence.upper()) & set("ACGTU") for _, sequence in contigs):
        raise RefusedError("no A, C, G or T")
    return contigs


def _lines(data: bytes) -> list:
    """Lines without their ends; a CR elsewhere is refused, but for white space at the end of the file."""
    lines = data.removesuffix(b"\n").split(b"\n")
    lines = [line.removesuffix(b"\r") for line in lines]
    if any(b"\r" in line for line in lines[: len(data.rstrip(BLANK).split(b"\n"))]):
        raise RefusedError("a CR inside a line")
    return lines


def _fastq(lines) -> list:
    found, lines = [], _in_four_lines(lines) if _is_wrapped(lines) else lines
    while lines:
        if not lines[0].strip(BLANK):
            if any(line.strip(BLANK) for line in lines):
                raise RefusedError("a blank line between records")
            break
        record, lines = lines[:4], lines[4:]
        if len(record) < 4 and not (len(record) == 3 and not record[1]):
            raise RefusedError("truncated")
        header, sequence, plus, quality = [*record, b""][:4]
        if header[:1] != b"@" or plus[:1] != b"+":
            raise RefusedError("no record of four lines")
        name, letters = _read_name(header[1:]), _letters([sequence], b"")
        if len(quality) != len(letters):
            raise RefusedError("lengths differ")
        if not re.fullmatch(rb"[!-~]*", quality):
            raise RefusedError("a quality")
        found.append((name, letters, quality.decode()))
    return found


def _is_wrapped(lines) -> bool:
    """Whether a record has its sequence in several lines, and qualities that are as many as its letters."""
    while lines and lines[0][:1] == b"@":
        plus = [i for i, line in enumerate(lines) if i and line[:1] == b"+"][:1]
        if not plus or plus[0] > 2:
            parts = lines[1 : plus[0]] if plus else lines[1:]
            letters = b"".join(parts)
            if not all(parts) or not re.fullmatch(rb"[A-Za-z.]*", letters):
                return False
            behind, n = lines[plus[0] + 1 :] if plus else [], 0
            while n < len(behind) and len(b"".join(behind[:n])) < len(letters):
                n += 1
            n_qualities = len(b"".join(behind[:n]))
            if n < len(behind):
                return n_qualities == len(letters) and (behind[n][:1] == b"@" or not behind[n].strip(BLANK))
            return len(lines) > 2 and n_qualities <= len(letters)
        lines = lines[plus[0] + 2 :]
    return False


def _in_four_lines(lines) -> list:
    """Records in four lines each; what is no record as it is."""
    found: list = []
    while lines and lines[0][:1] == b"@":
        plus = next((i for i, line in enumerate(lines) if i and line[:1] == b"+"), len(lines))
        letters, stop = b"".join(lines[1:plus]), min(plus + 2, len(lines))
        while stop < len(lines) and sum(map(len, lines[plus + 1 : stop])) < len(letters):
            stop += 1
        found += [lines[0], letters, *lines[plus : plus + 1]]
        found += [b"".join(lines[plus + 1 : stop])] if plus + 1 < len(lines) else []
        lines = lines[stop:]
    return found + lines


def _fasta(lines) -> list:
    """(header, lines of letters) of each record."""
    records: list = []
    for line in lines:
        if line[:1] == b">":
            records.append((line[1:], []))
        else:
            records[-1][1].append(line)
    return records


def _letters(lines, skipped) -> str:
    joined = b"".join(lines).translate(None, skipped)
    if not re.fullmatch(rb"[A-Za-z.]*", joined):
        raise RefusedError("a byte that is no letter")
    return joined.decode()


def _first_word(header: bytes) -> bytes:
    return re.split(rb"[ \t]", header.lstrip(b" \t"), maxsplit=1)[0]


def _read_name(header: bytes) -> str:
    name = _first_word(header)
    if not re.fullmatch(rb"([!-?A-~][!-~]*)?", name):
        raise RefusedError(f"a name that SAM cannot hold: {name!r}")
    return name.decode()


def sequences(data: bytes) -> list:
    """(name, sequence) of each record that ``fmx pairwise`` aligns."""
    data = data.lstrip(BLANK)
    if data[:1] != b">":
        raise RefusedError("no FASTA")
    found = []
    for header, lines in _fasta(_lines(data)):
        name = _read_name(header)
        if not name:
            raise RefusedError("no name")
        found.append((name, _letters(lines, b" \t")))
    return found


def members(data: bytes) -> list:
    """The members of a gzip file, which zeros may follow; none of one that is damaged."""
    parts = []
    while data:
        stream = zlib.decompressobj(31)
        try:
            stream.decompress(data[:3] + bytes(byte & 31 for byte in data[3:4]) + data[4:])  # reserved flags
        except zlib.error:
            return []
        parts.append(data[: len(data) - len(stream.unused_data)])
        data = stream.unused_data.lstrip(b"\0")
    return parts


def is_block(member: bytes) -> bool:
    """Whether a member is a BGZF block (SAM specification, 4.1), of whatever size by its header."""
    return member[:4] + member[10:16] == b"\x1f\x8b\x08\x04\x06\0BC\x02\0"


def lacks_end(data: bytes) -> bool:
    """Whether gzip ends with a BGZF block that has data, without the empty one (SAM specification, 4.1.2).

    Members before that block may be of any kind, with zeros between them.
    """
    last = b"".join(members(data)[-1:])
    is_last = is_block(last) and data.endswith(last) and not has_wrong_size(last)
    return is_last and last[-4:] != b"\0\0\0\0"


def has_wrong_size(data: bytes) -> bool:
    """Whether the header of a BGZF block states another size than the block has, which Python ignores."""
    blocks = filter(is_block, members(data))
    return any(int.from_bytes(block[16:18], "little") + 1 != len(block) for block in blocks)
