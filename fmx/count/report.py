"""The report of a run: one page of HTML that needs nothing else, with tables and figures."""

from html import escape

import numpy as np

from ..errors import n_of
from ..report import svg
from ..report.page import page, table

_POINTS = 300  # of a curve
_HEAD = ("sample", "reads", "assigned", "%", "ambiguous", "low quality", "recombined",
         "unassigned", "guides without reads",
         "Gini", "where guides stand")  # fmt: skip


def html(about, stats, counts) -> bytes:
    """``about`` the run (a dict), the SampleStats, and counts int64[n_samples, n_guides]."""
    names = [each.sample for each in stats]
    parts = [
        f"<h1>Guides of {escape(about['library'])}</h1>",
        f'<p class="about">fmx {escape(about["version"])}; {n_of(about["guides"], "guide")}, '
        f"{n_of(len(names), 'sample')}; {escape(about['options'])}</p>",
        "<h2>Samples</h2>", _samples(stats),
        "<h2>What became of reads</h2>", _fates(stats),
        "<h2>Reads by rank of guide</h2>", _ranks(names, counts),
    ]  # fmt: skip
    if len(names) > 1:
        parts += [
            "<h2>Correlation of samples (Pearson, of log2(count + 1))</h2>",
            _correlation(names, counts),
        ]
    parts += ["<h2>The most frequent sequences that are no guide</h2>", _unassigned(stats)]
    return page(f"fmx count: {about['library']}", parts)


def _samples(stats) -> str:
    rows = []
    for each in stats:
        numbers = each.ambiguous, each.low_quality, each.recombined, each.unassigned, each.zero_guides
        cells = [
            escape(each.sample),
            f"{each.reads:,}",
            f"{each.assigned:,}",
            f"{100 * each.assigned_share:.2f}",
        ]
        cells += [*(f"{n:,}" for n in numbers), f"{each.gini:.3f}", escape(each.places_in_words())]
        rows.append([f"<td>{cell}</td>" for cell in cells])
    return table(_HEAD, rows)


def _fates(stats) -> str:
    kinds = ("assigned", "ambiguous", "low_quality", "recombined", "unassigned")
    rows = {each.sample: [getattr(each, kind) / max(each.reads, 1) for kind in kinds] for each in stats}
    return svg.bars(rows, [kind.replace("_", " ") for kind in kinds], "Shares of reads")


def _ranks(names, counts) -> str:
    """Guides by rank, from the most frequent on, against their reads, as powers of ten."""
    most = 1.03 * np.log10(max(counts.max(initial=0), 9) + 1.0)
    n = counts.shape[1]
    at = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).round().astype(np.int64))
    curves = {}
    for name, row in zip(names, counts, strict=True):
        heights = np.log10(np.sort(row)[::-1][at] + 1.0) / most
        curves[name] = list(zip((at / max(n - 1, 1)).tolist(), heights.tolist(), strict=True))
    x_ticks = [(i / 4, f"{max(1, round(i * n / 4)):,}") for i in range(5)]
    y_ticks = [(np.log10(10**i + 1.0) / most, f"{10**i:,}") for i in range(int(most) + 1)]
    y_ticks = [(0.0, "0"), *((y, words) for y, words in y_ticks if y <= 1)]
    return svg.lines(curves, (x_ticks, y_ticks), ("rank of guide", "reads"), "Reads by rank of guide")


def _correlation(names, counts) -> str:
    logs = np.log2(counts + 1.0)
    logs -= logs.mean(axis=1, keepdims=True)
    norms = np.sqrt((logs**2).sum(axis=1))
    logs /= np.where(norms > 0, norms, 1)[:, None]
    return svg.matrix(names, logs @ logs.T, "Correlation of samples")


def _unassigned(stats) -> str:
    rows = [
        [f"<td>{escape(each.sample)}</td>", f'<td class="letters">{letters}</td>', f"<td>{n:,}</td>"]
        for each in stats
        for letters, n in each.top_unassigned[:10]
    ]
    if not rows:
        return "<p>None is known.</p>"
    return table(("sample", "sequence", "reads among the first of each file"), rows)
