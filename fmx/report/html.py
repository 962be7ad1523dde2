"""The frame and the tables of self-contained HTML pages."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest

_STYLE = """
body { font: 15px/1.5 sans-serif; color: #222; background: #fff; margin: 2em auto;
  max-width: 62em; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em } p.about { color: #555 }
table { border-collapse: collapse; font-size: 13px; margin-bottom: 1em } div { overflow-x: auto }
svg { max-width: 100%; height: auto }
th, td { padding: 3px 10px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left } td.letters { font-family: monospace; text-align: left }
td.bar i { display: inline-block; height: 11px; background: #4477aa }
td.bar { text-align: left; width: 220px }
th.words, td.words { text-align: left } td.words { white-space: normal; overflow-wrap: anywhere }
"""
_WORDS = '<td class="(words|letters)">'


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


def _shown(value: object) -> str:
    """Return a number or text as HTML."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(str(value))
