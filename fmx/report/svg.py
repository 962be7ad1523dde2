"""Figures as SVG: lines, bars, histograms, and a matrix of numbers."""

from collections.abc import Sequence
from html import escape

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777", "#222222")
_KINDS = ("#4477aa", "#ccbb44", "#ee8866", "#aa3377", "#bbbbbb")  # of bars
_WIDE, _HIGH, _LEFT, _BOTTOM, _TOP, _ROW = 520, 300, 64, 48, 16, 20
_LONGEST, _NAMES = 28, 215  # characters of a name that are shown, and the width for them
_SCALE = 96  # width for the numbers of a histogram


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    """Return a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(str(words))}</text>'


def shortened(name: str) -> str:
    """Return a name, shortened to fit in a figure."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _figure(width: int, height: int, parts: list[str], title: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
    head += f'width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif" font-size="12">'
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>"])


def lines(
    curves: dict, ticks: Sequence[Sequence[tuple[float, str]]], labels: tuple[str, str], title: str
) -> str:
    """Curves {name: points (x, y) from 0 to 1}, with ticks ([(x, words)], [(y, words)]) and two labels."""
    height = max(_HIGH, _TOP + _ROW * len(curves)) + _BOTTOM
    parts, bottom = [], _TOP + _HIGH - 2 * _TOP
    for x, words in ticks[0]:
        at = _LEFT + x * _WIDE
        parts.append(f'<path d="M{at:.1f} {bottom}v-{bottom - _TOP}" stroke="#e5e5e5"/>')
        parts.append(text(at, bottom + 16, words, "middle"))
    for y, words in ticks[1]:
        at = bottom - y * (bottom - _TOP)
        parts.append(f'<path d="M{_LEFT} {at:.1f}h{_WIDE}" stroke="#e5e5e5"/>')
        parts.append(text(_LEFT - 6, at + 4, words, "end"))
    parts.append(f'<path d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDE}" fill="none" stroke="#333"/>')
    for i, (name, points) in enumerate(curves.items()):
        colour, dash = COLOURS[i % len(COLOURS)], ("", "6 3", "2 2")[i // len(COLOURS) % 3]
        style = f'stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}" fill="none"'
        path = " ".join(f"{_LEFT + x * _WIDE:.1f},{bottom - y * (bottom - _TOP):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" {style}/>')
        at = _TOP + _ROW * i + 6
        parts.append(f'<path d="M{_LEFT + _WIDE + 16} {at}h24" {style}/>')
        parts.append(text(_LEFT + _WIDE + 46, at + 4, shortened(name)))
    parts.append(text(_LEFT + _WIDE / 2, bottom + 36, labels[0], "middle"))
    place = f'transform="rotate(-90 14 {(bottom + _TOP) / 2})"'
    parts.append(text(14, (bottom + _TOP) / 2, labels[1], "middle", f" {place}"))
    return _figure(_LEFT + _WIDE + 250, height, parts, title)


def bars(rows: dict, kinds: list[str], title: str, colours: Sequence[str] = _KINDS) -> str:
    """Stacked bars of {name: shares of ``kinds``, which add up to 1}; the first share is also a number."""
    parts, left, at = [], _NAMES, _NAMES
    for j, kind in enumerate(kinds):
        parts.append(f'<rect x="{at}" y="4" width="12" height="12" fill="{colours[j]}"/>')
        parts.append(text(at + 18, 14, kind))
        at += 36 + 7 * len(kind)
    for i, (name, shares) in enumerate(rows.items()):
        y, x = 28 + _ROW * i, float(left)
        parts.append(text(left - 8, y + 12, shortened(name), "end"))
        for j, share in enumerate(shares):
            width = share * _WIDE
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="15" fill="{colours[j]}"/>')
            x += width
        parts.append(text(left + _WIDE + 8, y + 12, f"{100 * shares[0]:.1f} % {kinds[0]}"))
    return _figure(left + _WIDE + 76 + 7 * len(kinds[0]), 36 + _ROW * len(rows), parts, title)


def amounts(rows: dict, title: str) -> str:
    """Bars of {name: (number, words)}, scaled to the largest."""
    parts, left, most = [], _NAMES, max((number for number, _ in rows.values()), default=0) or 1
    for i, (name, (number, words)) in enumerate(rows.items()):
        y, width = 8 + _ROW * i, number / most * _WIDE
        parts.append(text(left - 8, y + 12, shortened(name), "end"))
        parts.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="15" fill="{COLOURS[0]}"/>')
        parts.append(text(left + width + 8, y + 12, words))
    return _figure(left + _WIDE + 170, 16 + _ROW * len(rows), parts, title)


def _step(most: int) -> int:
    """Return the step between ticks: 1, 2 or 5 times a power of ten, at most five of them up to ``most``."""
    ten = 10 ** (len(str(most)) - 1)
    return next(step for step in (ten // 5, ten // 2, ten, 2 * ten) if step and most <= 5 * step)


def histogram(columns: Sequence[int], scale: tuple[int, int], labels: tuple[str, str], title: str) -> str:
    """Return a histogram; ``scale``: (start of the first column, width of each); ``labels``: of the axes."""
    parts, bottom, most, wide = [], _TOP + _HIGH - 2 * _TOP, max(columns) or 1, _WIDE / len(columns)
    tick = _step(most)
    for n in range(0, most + 1, tick):
        at = bottom - n / most * (bottom - _TOP)
        parts.append(f'<path d="M{_SCALE} {at:.1f}h{_WIDE}" stroke="#e5e5e5"/>')
        parts.append(text(_SCALE - 6, at + 4, f"{n:,}", "end"))
    for i, n in enumerate(columns):
        high, x = n / most * (bottom - _TOP), _SCALE + i * wide
        place = f'x="{x:.1f}" y="{bottom - high:.1f}" width="{max(1.0, min(wide - 1, 40)):.1f}"'
        parts.append(f'<rect {place} height="{high:.1f}" fill="{COLOURS[0]}"/>')
    parts.append(f'<path d="M{_SCALE} {_TOP}V{bottom}H{_SCALE + _WIDE}" fill="none" stroke="#333"/>')
    step = max(1, -(-len(columns) // 8))
    for i in range(0, len(columns), step):
        at = _SCALE + i * wide + min(wide - 1, 40) / 2
        parts.append(text(at, bottom + 16, f"{scale[0] + i * scale[1]:,}", "middle"))
    parts.append(text(_SCALE + _WIDE / 2, bottom + 36, labels[0], "middle"))
    place = f'transform="rotate(-90 14 {(bottom + _TOP) / 2})"'
    parts.append(text(14, (bottom + _TOP) / 2, labels[1], "middle", f" {place}"))
    return _figure(_SCALE + _WIDE + 30, bottom + 48, parts, title)


def matrix(names: Sequence[str], numbers: Sequence[Sequence[float]], title: str) -> str:
    """Return a square matrix of numbers from -1 to 1; cells near 1 are darker."""
    n, left = len(names), _NAMES
    cell = max(14, min(56, 560 // n))
    parts = []
    for i, name in enumerate(names):
        y = 10 + cell * i
        parts.append(text(left - 8, y + cell / 2 + 4, shortened(name), "end"))
        x = left + cell * i + cell / 2
        turn = f' transform="rotate(45 {x:.1f} {cell * n + 24})"'
        parts.append(text(x, cell * n + 24, shortened(name), "start", turn))
        for j in range(n):
            share = max(0.0, float(numbers[i][j]))
            shade = [round(255 - share**3 * (255 - low)) for low in (0x33, 0x66, 0xAA)]
            at = f'x="{left + cell * j}" y="{y}" width="{cell - 1}" height="{cell - 1}"'
            parts.append(f'<rect {at} fill="rgb({shade[0]},{shade[1]},{shade[2]})"/>')
            if cell >= 34:
                style = f' fill="{"#fff" if share > 0.88 else "#222"}"'
                place = left + cell * j + cell / 2, y + cell / 2 + 4
                parts.append(text(*place, f"{numbers[i][j]:.2f}", "middle", style))
    below = 44 + 5 * max(len(shortened(name)) for name in names)
    return _figure(left + cell * n + below, cell * n + below, parts, title)
