"""What ``fmx count`` writes: tables (MAGeCK's, a line a guide and sample, Parquet) and a report in HTML."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from .._version import __version__
from ..errors import OutputError, installed, n_of, shown
from ..input.streams import whole_output
from ..report import svg
from ..report.page import page, table
from ..system.files import PLACE
from .library import Library
from .stats import LOW, as_json, as_table, stats_of

if TYPE_CHECKING:
    from .stats import SampleStats

_POINTS = 300  # of a curve
ENOUGH = 0.95  # of reads count: what the others hold is noise
_FATES = ("ambiguous", "low quality", "recombined", "unassigned")


def html(about: Mapping[str, Any], stats: "Sequence[SampleStats]", counts: np.ndarray) -> bytes:
    """``about`` the run (a dict), the SampleStats, and counts int64[n_samples, n_guides]."""
    names, unit = [each.sample for each in stats], stats[0].unit
    parts = [
        f"<h1>Guides of {escape(about['library'])}</h1>",
        f'<p class="about">fmx {escape(about["version"])}; {n_of(about["guides"], "guide")}, '
        f"{n_of(len(names), 'sample')}; {escape(about['options'])}</p>",
        f"<h2>{unit.capitalize()}s of samples</h2>", _samples(stats),
        f"<h2>What became of {unit}s</h2>", _fates(stats),
        f"<h2>{unit.capitalize()}s of guides</h2>", _guides(stats),
        f"<p>Mean and median of {unit}s per guide; 90/10 skew: {unit}s of the guide at the 90th percentile "
        "divided by those of the guide at the 10th, if it has any; Gini index of log(count + 1), as "
        "MAGeCK's.</p>",
        f"<h2>{unit.capitalize()}s by rank of guide</h2>", _ranks(names, counts, unit),
    ]  # fmt: skip
    if len(names) > 1:
        parts += [
            "<h2>Correlation of samples (Pearson, of log2(count + 1))</h2>",
            _correlation(names, counts),
        ]
    if few := [each for each in stats if each.assigned_share < ENOUGH and each.top_unassigned]:
        parts += ["<h2>The most frequent sequences that are no guide</h2>", _unassigned(few)]
    return page(f"fmx count: {about['library']}", parts)


def _samples(stats: "Sequence[SampleStats]") -> str:
    """What became of the reads of each sample; a column of zeros is left out."""
    fates = {name: [getattr(each, name.replace(" ", "_")) for each in stats] for name in _FATES}
    shown = {name: numbers for name, numbers in fates.items() if any(numbers)}
    rows = []
    for i, each in enumerate(stats):
        cells = [f"{each.reads:,}", f"{each.assigned:,}", f"{100 * each.assigned_share:.2f}"]
        cells += [f"{numbers[i]:,}" for numbers in shown.values()]
        ends = _words(each.sample), _words(each.places_in_words())
        rows.append([ends[0], *(f"<td>{cell}</td>" for cell in cells), ends[1]])
    return table(("sample", f"{stats[0].unit}s", "assigned", "%", *shown, "where guides stand"), rows)


def _guides(stats: "Sequence[SampleStats]") -> str:
    """How the reads of each sample are spread over guides."""
    head = (
        "sample",
        "guides",
        f"without {stats[0].unit}s",
        f"under {LOW}",
        "mean",
        "median",
        "90/10 skew",
        "Gini",
    )
    rows = []
    for each in stats:
        cells = [
            f"{each.guides:,}",
            f"{each.zero_guides:,}",
            f"{each.low_guides:,}",
            f"{each.mean_reads:,.1f}",
        ]
        cells += [f"{each.median_reads:,.1f}", "none" if each.skew is None else f"{each.skew:.2f}"]
        rows.append([_words(each.sample), *(f"<td>{cell}</td>" for cell in (*cells, f"{each.gini:.3f}"))])
    return table(head, rows)


def _words(text: str) -> str:
    return f'<td class="words">{escape(text)}</td>'


def _fates(stats: "Sequence[SampleStats]") -> str:
    kinds = ["assigned", "ambiguous", "low_quality", "recombined", "unassigned"]
    kinds = [kind for kind in kinds if any(getattr(each, kind) for each in stats)] or kinds[:1]
    rows = {each.sample: [getattr(each, kind) / max(each.reads, 1) for kind in kinds] for each in stats}
    return svg.bars(rows, [kind.replace("_", " ") for kind in kinds], "Shares of reads")


def _ranks(names: Sequence[str], counts: np.ndarray, unit: str) -> str:
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
    return svg.lines(curves, (x_ticks, y_ticks), ("rank of guide", f"{unit}s"), f"{unit}s by rank of guide")


def _correlation(names: Sequence[str], counts: np.ndarray) -> str:
    logs = np.log2(counts + 1.0)
    logs -= logs.mean(axis=1, keepdims=True)
    norms = np.sqrt((logs**2).sum(axis=1))
    logs /= np.where(norms > 0, norms, 1)[:, None]
    return svg.matrix(names, logs @ logs.T, "Correlation of samples")


def _unassigned(stats: "Sequence[SampleStats]") -> str:
    rows = [
        [_words(each.sample), f'<td class="letters">{letters}</td>', f"<td>{n:,}</td>"]
        for each in stats
        for letters, n in each.top_unassigned[:10]
    ]
    return table(("sample", "sequence", f"{stats[0].unit}s among the first of each file"), rows)


# What was counted as tables: MAGeCK's, a line a guide and sample, Parquet.

KINDS = ("mageck", "long", "parquet")


def counts_table(kind: str, library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """Counts int64[n_samples, n_guides] of samples with these ``names``, as one of KINDS."""
    return {"mageck": _mageck, "long": _long, "parquet": _parquet}[kind](library, names, counts)


def _mageck(library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """A line a guide, a column a sample."""
    lines = ["\t".join(["sgRNA", "Gene", *names])]
    columns = [list(map(str, row)) for row in counts.tolist()]
    lines += map("\t".join, zip(library.ids, library.genes, *columns, strict=True))
    return ("\n".join(lines) + "\n").encode()


def _long(library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """A line for each guide of each sample."""
    lines = ["sample\tsgRNA\tGene\tcount"]
    for name, row in zip(names, counts.tolist(), strict=True):
        lines += [
            f"{name}\t{guide}\t{gene}\t{n}"
            for guide, gene, n in zip(library.ids, library.genes, row, strict=True)
        ]
    return ("\n".join(lines) + "\n").encode()


def _parquet(library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """The columns of ``_mageck``."""
    with installed("pyarrow", "'fmx-mapper[parquet]'", OutputError):
        import pyarrow
        from pyarrow import parquet
    columns: dict = {"sgRNA": library.ids, "Gene": library.genes}
    columns |= {name: np.asarray(row) for name, row in zip(names, counts, strict=True)}
    into = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), into, compression="zstd")
    return into.getvalue()


# What a run has counted, and all that is written of it.


@dataclass(frozen=True)
class CountOutput:
    """What is written: the table as ``kind``, one of tables.KINDS; of samples ``stats`` (TSV), ``json`` and a
    ``report`` (HTML), if they are not None."""

    path: str = field(default="-", metadata=PLACE)
    kind: str = "mageck"
    stats: str | None = field(default=None, metadata=PLACE)
    json: str | None = field(default=None, metadata=PLACE)
    report: str | None = field(default=None, metadata=PLACE)

    @property
    def places(self) -> tuple[str | None, ...]:
        """Where all of it is written."""
        return self.path, self.stats, self.json, self.report

    def beside(self) -> dict:
        """What each shard leaves beside its part: nothing, for that tells all."""
        return {}


class CountResult(NamedTuple):
    """``samples`` and the GuideTally of each, ``found``; ``counts`` int64[n_samples, n_rows] of the rows of
    ``library``; the ``options`` in words; ``left_length``: letters of what is kept of unassigned reads."""

    library: Library
    samples: list
    found: list
    counts: np.ndarray
    options: str
    left_length: int

    def stats(self) -> "list[SampleStats]":
        """What became of the reads of each sample."""
        each = zip(self.samples, self.found, self.counts, strict=True)
        return [stats_of(*own, self.left_length) for own in each]


@contextmanager
def opened(output: CountOutput) -> Iterator[dict[str, BinaryIO]]:
    """What ``write`` needs; the files of a CountOutput appear when it has done so.  Raises OutputError."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(whole_output(path))
            for name in ("path", "stats", "json", "report")
            if (path := getattr(output, name))
        }


def write(files: Mapping[str, BinaryIO], kind: str, seen: CountResult) -> list:
    """Write the tables and reports that are asked for; the SampleStats."""
    stats = seen.stats()
    about = {"version": __version__, "library": shown(seen.library.path), "guides": len(seen.library)}
    about["options"] = seen.options
    files["path"].write(
        counts_table(kind, seen.library, [sample.name for sample in seen.samples], seen.counts)
    )
    if "stats" in files:
        files["stats"].write(as_table(stats))
    if "json" in files:
        files["json"].write(as_json(about, stats))
    if "report" in files:
        files["report"].write(html(about, stats, seen.counts))
    return stats
