"""Damage to bytes, to lines of text, and to whole gzip files, drawn from a random.Random."""

import gzip

TOKENS = [
    b"\r", b"\n", b"\n\n", b"\r\n", b"\0", b"\x1b[2J", b"@", b"+", b">", b" ", b"\t", b"\x0b", b"\x0c", b"*",
    b"=", b"-", b".", b"N", b"U", b"x", b"IIII", b"\x7f", b"\xff\xfe", "ä".encode(), b"\x1f\x8b",
    b"18446744073709551616",
]  # fmt: skip
NAMES = [
    b"", b"*", b"=", b"@SQ", b"@", b"a" * 254, b"a" * 255, b"a b", b" a", b"a\tb", b"a\x00b", b"\x01",
    b"  a b", b"\t a", b" ", b"\x7f", b"\xff", "é".encode(), b"a\x1b[31m", b">", b"+", b"r1/1", b"a,b",
    b"<a>", b"a\\tb", b'"', b"a\xc2\x85b",
]  # fmt: skip


def mutated(rng, data: bytes, ways, most=3) -> tuple:
    """(data after one to ``most`` changes, names of the changes)."""
    done = []
    for _ in range(rng.choice([1, 1, *range(1, most + 1)])):
        way = rng.choice(ways)
        data = way(rng, data)
        done.append(way.__name__)
    return data, " ".join(done)


def _span(rng, size, most=20) -> tuple:
    start = rng.randrange(size + 1)
    return start, min(size, start + rng.randrange(1, most))


def flip_a_bit(rng, data):
    if not data:
        return data
    i = rng.randrange(len(data))
    return data[:i] + bytes([data[i] ^ 1 << rng.randrange(8)]) + data[i + 1 :]


def set_a_byte(rng, data):
    if not data:
        return data
    i = rng.randrange(len(data))
    return data[:i] + bytes([rng.choice([0, 1, 10, 13, 127, 255, rng.randrange(256)])]) + data[i + 1 :]


def cut(rng, data):
    return data[: rng.randrange(len(data) + 1)]


def cut_the_end(rng, data):
    return data[: -rng.randrange(1, 40)]


def drop_a_span(rng, data):
    start, stop = _span(rng, len(data))
    return data[:start] + data[stop:]


def double_a_span(rng, data):
    start, stop = _span(rng, len(data), 200)
    return data[:stop] + data[start:]


def insert_a_token(rng, data):
    i = rng.randrange(len(data) + 1)
    return data[:i] + rng.choice(TOKENS) * rng.choice([1, 1, 1, 2, 50]) + data[i:]


def insert_junk(rng, data):
    i = rng.randrange(len(data) + 1)
    return data[:i] + rng.randbytes(rng.randrange(1, 30)) + data[i:]


def append(rng, data):
    return data + rng.choice([b"\0" * rng.randrange(1, 600), rng.choice(TOKENS), data, rng.randbytes(9)])


BYTES = [
    flip_a_bit, set_a_byte, cut, cut_the_end, drop_a_span, double_a_span, insert_a_token, insert_junk, append,
]  # fmt: skip


def _on_lines(change):
    """A way to change text, from one that changes the list of its lines in place."""

    def way(rng, data):
        lines = data.split(b"\n")
        change(rng, lines)
        return b"\n".join(lines)

    way.__name__ = change.__name__
    return way


@_on_lines
def double_a_line(rng, lines):
    i = rng.randrange(len(lines))
    lines.insert(i, lines[i])


@_on_lines
def drop_a_line(rng, lines):
    del lines[rng.randrange(len(lines))]


@_on_lines
def swap_lines(rng, lines):
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]


@_on_lines
def blank_line(rng, lines):
    lines.insert(rng.randrange(len(lines) + 1), rng.choice([b"", b"", b" ", b"\t", b"\r"]))


@_on_lines
def leading_blank(rng, lines):
    lines[:0] = [rng.choice([b"", b" ", b"\r", b"\t \x0b"])] * rng.randrange(1, 4)


@_on_lines
def return_at_end(rng, lines):
    i = rng.randrange(len(lines))
    lines[i] += rng.choice([b"\r", b"\r\r", b" ", b"\t", b" \r"])


@_on_lines
def another_start(rng, lines):
    i = rng.randrange(len(lines))
    lines[i] = rng.choice([b"@", b"+", b">", b" ", b"", b"\0", b"*"]) + lines[i][rng.randrange(2) :]


@_on_lines
def another_name(rng, lines):
    headers = [i for i, line in enumerate(lines) if line[:1] in (b">", b"@")]
    if headers:
        i = rng.choice(headers)
        lines[i] = lines[i][:1] + rng.choice(NAMES) + rng.choice([b"", b" more words"])


@_on_lines
def long_line(rng, lines):
    i = rng.randrange(len(lines))
    lines[i] += bytes(rng.choices(b"ACGT", k=rng.choice([255, 300, 2000])))


@_on_lines
def other_letters(rng, lines):
    i = rng.randrange(len(lines))
    lines[i] = rng.choice([lines[i].lower(), lines[i].replace(b"T", b"U"), lines[i].replace(b"C", b"n")])


def in_several_lines(rng, data):
    """FASTQ whose sequences and qualities are cut into lines."""
    lines, width = data.split(b"\n"), rng.choice([3, 10, 20])
    if data[:1] == b"@":
        for i, line in enumerate(lines):
            if i % 2:
                lines[i] = b"\n".join(line[j : j + width] for j in range(0, max(len(line), 1), width))
    return b"\n".join(lines)


def all_returns(rng, data):
    return data.replace(b"\n", b"\r\n")


def only_returns(rng, data):
    return data.replace(b"\n", b"\r")


def no_last_newline(rng, data):
    return data.rstrip(b"\n")


LINES = [
    double_a_line, drop_a_line, swap_lines, blank_line, leading_blank, return_at_end, another_start,
    another_name, long_line, other_letters, in_several_lines, all_returns, only_returns, no_last_newline,
]  # fmt: skip
TEXT = [*LINES, *LINES, *BYTES]


def packed(rng, data: bytes) -> tuple:
    """(data in some whole form: plain, gzip of one or two members, BGZF; its name)."""
    from output_of import bgzf

    form = rng.choice(["plain", "plain", "plain", "gzip", "members", "bgzf"])
    if form == "gzip":
        return gzip.compress(data, mtime=0), form
    if form == "members":
        i = rng.randrange(len(data) + 1)
        return gzip.compress(data[:i], mtime=0) + gzip.compress(data[i:], mtime=0), form
    if form == "bgzf":
        return bgzf(data, rng.choice([7, 100, 1000])), form
    return data, form
