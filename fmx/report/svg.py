"""Figures as SVG: curves and histograms, narrow enough to be read on a telephone."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777", "#222222")
_LEFT, _WIDE, _RIGHT, _TOP, _BOTTOM, _ROW = 84, 340, 28, 16, 268, 20  # units of the drawing, about pixels
_LONGEST = 52  # characters of a name that are shown
_LABELS = 6  # at most, of the columns of a histogram

Points = Iterable[tuple[float, float]]
Ticks = Iterable[tuple[float, str]]


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    """Return a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(str(words))}</text>'


def _figure(
    parts: list[str], ticks: tuple[Ticks, Ticks], labels: tuple[str, str], title: str, n_rows: int = 0
) -> str:
    """``parts`` between labelled axes; ``ticks``: [(x from 0 to 1, words)], [(y from 0 to 1, words)].

    ``n_rows``: lines of text below.
    """
    width, height = _LEFT + _WIDE + _RIGHT, _BOTTOM + 48 + _ROW * n_rows
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
    ]
    lines += [text(_LEFT + x * _WIDE, _BOTTOM + 16, words, "middle") for x, words in ticks[0]]
    for y, words in ticks[1]:
        lines.append(f'<path d="M{_LEFT} {_y(y):.1f}h{_WIDE}" stroke="#e5e5e5"/>')
        lines.append(text(_LEFT - 6, _y(y) + 4, words, "end"))
    lines += [*parts, f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_LEFT + _WIDE}" fill="none" stroke="#333"/>']
    lines.append(text(_LEFT + _WIDE / 2, _BOTTOM + 36, labels[0], "middle"))
    middle = (_BOTTOM + _TOP) / 2
    lines.append(text(14, middle, labels[1], "middle", f' transform="rotate(-90 14 {middle})"'))
    return "\n".join([*lines, "</svg>"])


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def lines(
    curves: Mapping[str, Points], ticks: tuple[Ticks, Ticks], labels: tuple[str, str], title: str
) -> str:
    """Curves {name: points (x, y) from 0 to 1}, their names below; ``ticks``, ``labels``: of the axes."""
    parts = []
    for i, (name, points) in enumerate(curves.items()):
        colour, dash = COLOURS[i % len(COLOURS)], ("", "6 3", "2 2")[i // len(COLOURS) % 3]
        style = f'stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}" fill="none"'
        path = " ".join(f"{_LEFT + x * _WIDE:.1f},{_y(y):.1f}" for x, y in points)
        at = _BOTTOM + 58 + _ROW * i
        parts += [f'<polyline points="{path}" {style}/>', f'<path d="M16 {at - 4}h24" {style}/>']
        parts.append(text(48, at, name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"))
    return _figure(parts, ticks, labels, title, len(curves))


def _step(most: int) -> int:
    """Return the step between ticks: 1, 2 or 5 times a power of ten, at most five of them up to ``most``."""
    ten = 10 ** (len(str(most)) - 1)
    return next(step for step in (ten // 5, ten // 2, ten, 2 * ten) if step and most <= 5 * step)


def histogram(columns: Sequence[int], scale: tuple[int, int], labels: tuple[str, str], title: str) -> str:
    """Return a histogram; ``scale``: (start of the first column, width of each); ``labels``: of the axes."""
    most, wide = max(columns) or 1, _WIDE / len(columns)
    broad = min(wide - 1, 40)
    parts = [
        f'<rect x="{_LEFT + i * wide:.1f}" y="{_y(n / most):.1f}" width="{max(1.0, broad):.1f}" '
        f'height="{_BOTTOM - _y(n / most):.1f}" fill="{COLOURS[0]}"/>'
        for i, n in enumerate(columns)
    ]
    x_ticks = [
        ((i * wide + broad / 2) / _WIDE, f"{scale[0] + i * scale[1]:,}")
        for i in range(0, len(columns), -(-len(columns) // _LABELS))
    ]
    y_ticks = [(n / most, f"{n:,}") for n in range(0, most + 1, _step(most))]
    return _figure(parts, (x_ticks, y_ticks), labels, title)
