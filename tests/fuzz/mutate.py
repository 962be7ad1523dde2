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
    """(data after one to ``most`` changes, names of the changes); ``ways``: (name, change(rng, data))."""
    names = []
    for _ in range(rng.choice([1, 1, *range(1, most + 1)])):
        name, change = rng.choice(ways)
        data = change(rng, data)
        names.append(name)
    return data, ", ".join(names)


def at(rng, data, change):
    """Data, bytes or lines, with an item of it replaced by ``change(slice of this item)``."""
    i = rng.randrange(len(data) or 1)
    return data[:i] + change(data[i : i + 1]) + data[i + 1 :] if data else data


def span(rng, data, change, most=20):
    """Data with some bytes replaced by ``change(these)``."""
    start = rng.randrange(len(data) + 1)
    stop = min(len(data), start + rng.randrange(1, most))
    return data[:start] + change(data[start:stop]) + data[stop:]


def insert(rng, data, piece):
    i = rng.randrange(len(data) + 1)
    return data[:i] + piece + data[i:]


BYTES = [
    ("flip a bit", lambda rng, data: at(rng, data, lambda x: bytes([x[0] ^ 1 << rng.randrange(8)]))),
    ("set a byte", lambda rng, data: at(
        rng, data, lambda x: bytes([rng.choice([0, 1, 10, 13, 127, 255, rng.randrange(256)])]))),
    ("cut", lambda rng, data: data[: rng.randrange(len(data) + 1)]),
    ("cut the end", lambda rng, data: data[: -rng.randrange(1, 40)]),
    ("drop a span", lambda rng, data: span(rng, data, lambda x: b"")),
    ("double a span", lambda rng, data: span(rng, data, lambda x: x + x, 200)),
    ("insert tokens", lambda rng, data: insert(rng, data, rng.choice(TOKENS) * rng.choice([1, 1, 2, 50]))),
    ("insert junk", lambda rng, data: insert(rng, data, rng.randbytes(rng.randrange(1, 30)))),
    ("append", lambda rng, data: data + rng.choice(
        [b"\0" * rng.randrange(1, 600), rng.choice(TOKENS), data, rng.randbytes(9)])),
]  # fmt: skip


def swap(rng, lines):
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return lines


def rename(rng, lines):
    if headers := [i for i, line in enumerate(lines) if line[:1] in (b">", b"@")]:
        i = rng.choice(headers)
        lines[i] = lines[i][:1] + rng.choice(NAMES) + rng.choice([b"", b" more words"])
    return lines


def other_letters(line):
    return [line[0].lower(), line[0].replace(b"T", b"U"), line[0].replace(b"C", b"n")]


def in_several_lines(rng, data):
    """FASTQ whose sequences and qualities are cut into lines."""
    lines, width = data.split(b"\n"), rng.choice([3, 10, 20])
    if data[:1] == b"@":
        for i in range(1, len(lines), 2):
            n = max(len(lines[i]), 1)
            lines[i] = b"\n".join(lines[i][j : j + width] for j in range(0, n, width))
    return b"\n".join(lines)


LISTS = [  # changes of the list of lines
    ("double a line", lambda rng, lines: at(rng, lines, lambda x: x + x)),
    ("drop a line", lambda rng, lines: at(rng, lines, lambda x: [])),
    ("swap lines", swap),
    ("blank line", lambda rng, lines: insert(rng, lines, [rng.choice([b"", b"", b" ", b"\t", b"\r"])])),
    ("leading blank", lambda rng, lines: [rng.choice([b"", b" ", b"\r", b"\t \x0b"])] * rng.randrange(1, 4)
     + lines),
    ("return at end", lambda rng, lines: at(
        rng, lines, lambda x: [x[0] + rng.choice([b"\r", b"\r\r", b" ", b"\t", b" \r"])])),
    ("another start", lambda rng, lines: at(
        rng, lines,
        lambda x: [rng.choice([b"@", b"+", b">", b" ", b"", b"\0", b"*"]) + x[0][rng.randrange(2) :]])),
    ("another name", rename),
    ("long line", lambda rng, lines: at(
        rng, lines, lambda x: [x[0] + bytes(rng.choices(b"ACGT", k=rng.choice([255, 300, 2000])))])),
    ("other letters", lambda rng, lines: at(rng, lines, lambda x: [rng.choice(other_letters(x))])),
]  # fmt: skip
LINES = [
    *((name, lambda rng, data, change=change: b"\n".join(change(rng, data.split(b"\n"))))
      for name, change in LISTS),
    ("in several lines", in_several_lines),
    ("all returns", lambda rng, data: data.replace(b"\n", b"\r\n")),
    ("only returns", lambda rng, data: data.replace(b"\n", b"\r")),
    ("no last newline", lambda rng, data: data.rstrip(b"\n")),
]  # fmt: skip
TEXT = [*LINES, *LINES, *BYTES]


def packed(rng, data: bytes) -> tuple:
    """(data in some whole form: plain, gzip of one or two members, BGZF; its name)."""
    from output_of import bgzf

    form = rng.choice(["plain", "plain", "plain", "gzip", "members", "bgzf"])
    if form == "bgzf":
        return bgzf(data, rng.choice([7, 100, 1000])), form
    i = rng.randrange(len(data) + 1) if form == "members" else 0
    parts = [data[:i], data[i:]] if i else [data]
    return data if form == "plain" else b"".join(gzip.compress(part, mtime=0) for part in parts), form
