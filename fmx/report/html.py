"""The frame, the tables and the bars of self-contained HTML pages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest

_STYLE = """
body { font: 15px/1.5 sans-serif; color: #222; background: #fff; margin: 2em auto;
  max-width: 62em; padding: 0 1em; overflow-wrap: break-word }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em } p.about { color: #555 }
table { border-collapse: collapse; font-size: 13px; margin-bottom: 1em } div { overflow-x: auto }
caption { text-align: left; padding: 3px 10px; color: #555 }
svg { width: 100%; max-width: 600px; height: auto }
th, td { padding: 3px 10px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left } td.letters { font-family: monospace; text-align: left }
td.name { white-space: normal; min-width: 6.5em; position: sticky; left: 0; background: #fff }
td.bar { width: 220px; min-width: 7em; text-align: left; font-size: 0 } td.bar i { height: 14px }
.bars { width: 100%; max-width: 56em } .bars td.bar { width: 60% }
.bars td.name { min-width: min(16em, 30vw) } .bars td:last-child { text-align: left }
i { display: inline-block; background: #4477aa }
.key { margin-right: 1.5em; white-space: nowrap; font-size: 13px }
.key i { width: 12px; height: 12px }
th.words, td.words { text-align: left } td.words { white-space: normal; overflow-wrap: anywhere }
"""
_MOST = 16  # rows of a matrix with numbers
_WORDS = '<td class="(words|letters|name)">'


def page(title: str, parts: list[str]) -> bytes:
    """Make a page of ``parts``, HTML; all but headings and paragraphs are wrapped in a div."""
    lines = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
        *(part if part.startswith("<h") or part.startswith("<p") else f"<div>{part}</div>" for part in parts),
        "</body>\n</html>\n",
    ]
    return "\n".join(lines).encode()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; rows of cells in HTML; heads of words are aligned with them."""
    rows = list(rows)
    classes = [' class="words"' if re.match(_WORDS, cell) else "" for cell in rows[0]] if rows else []
    heads = [f"<th{kind}>{cell}</th>" for cell, kind in zip_longest(head, classes, fillvalue="")]
    lines = ["<table>", f"<tr>{''.join(heads)}</tr>"]
    lines += ["<tr>" + "".join(row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def cells(*words: object, kind: str = "") -> list[str]:
    """Cells of a table row; ``kind``: attributes of all cells but the first."""
    first, *rest = map(_shown, words)
    return [f"<td>{first}</td>", *(f"<td{kind}>{word}</td>" for word in rest)]


def breakable(name: str) -> str:
    """Return a name as HTML that a narrow window breaks only after punctuation."""
    return "<wbr>".join(map(escape, filter(None, re.findall(r"[^\W_]*[\W_]*", name))))


def name_cell(name: str) -> str:
    """A cell with a name, which stays in view if its table is wider than the window."""
    return f'<td class="name">{breakable(name)}</td>'


def bars(
    rows: Mapping[str, tuple[Sequence[float], str]], colours: Sequence[str] = ("",),
    kinds: Sequence[str] = (), caption: str = "",
) -> str:  # fmt: skip
    """Bars {name: (parts of the full width, from 0 to 1, words)}, with a legend of the ``kinds`` of parts."""
    fills = [f"background: {colour}" if colour else "" for colour in colours]
    keys = [
        f'<span class="key"><i style="{fill}"></i> {escape(kind)}</span>'
        for kind, fill in zip(kinds, fills, strict=False)
    ]
    lines = [*keys, '<table class="bars">', f"<caption>{escape(caption)}</caption>" if caption else ""]
    for name, (parts, words) in rows.items():
        bar = "".join(
            f'<i style="width: {100 * x:.2f}%; {fill}"></i>' for x, fill in zip(parts, fills, strict=True)
        )
        lines.append(f'<tr>{name_cell(name)}<td class="bar">{bar}</td><td>{escape(words)}</td></tr>')
    return "\n".join([*filter(None, lines), "</table>"])


def amounts(rows: Mapping[str, tuple[float, str]], caption: str = "") -> str:
    """Bars {name: (number, words)}, scaled to the largest."""
    most = max((number for number, _ in rows.values()), default=0) or 1
    return bars({name: ([number / most], words) for name, (number, words) in rows.items()}, caption=caption)


def shares(rows: Mapping[str, int]) -> str:
    """Bars {name: number}, each with its number and percentage of the sum."""
    n = sum(rows.values())
    return amounts({name: (own, f"{own:,} ({100 * own / n:.1f} %)") for name, own in rows.items()})


def matrix(names: Sequence[str], numbers: Sequence[Sequence[float]]) -> str:
    """A square matrix of numbers from -1 to 1; cells near 1 are darker, and have numbers if they are few."""
    rows = []
    for i, name in enumerate(names):
        row = [name_cell(f"{i + 1}: {name}")]
        for number in map(float, numbers[i]):
            share = max(0.0, number)
            red, green, blue = (round(255 - share**3 * (255 - low)) for low in (0x33, 0x66, 0xAA))
            style = f"background: rgb({red},{green},{blue}); color: {'#fff' if share > 0.88 else '#222'}"
            row.append(f'<td style="{style}">{f"{number:.2f}" if len(names) <= _MOST else ""}</td>')
        rows.append(row)
    return table(["", *map(str, range(1, len(names) + 1))], rows)


def _shown(value: object) -> str:
    """Return a number or text as HTML."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(str(value))
