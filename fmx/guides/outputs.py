"""Output of ``fmx count``: tables (MAGeCK, one line per guide and sample, Parquet) and facts for reports."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import OutputError, installed, shown
from ..report import JobOutput, Report
from ..report.page import SAMPLE_FATES
from ..system import PLACE
from .library import Library
from .samples import Sample
from .stats import SampleStats, stats_of
from .targets import GuideTally

_POINTS = 300  # of a curve

# Tables of counts: MAGeCK's, one line per guide and sample, Parquet.

KINDS = ("mageck", "long", "parquet")


def counts_table(kind: str, library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """The table of counts int64[n_samples, n_guides] in the format ``kind``; ``names``: of the samples."""
    return {"mageck": _mageck, "long": _long, "parquet": _parquet}[kind](library, names, counts)


def _mageck(library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """One line per guide, one column per sample."""
    lines = ["\t".join(["sgRNA", "Gene", *names])]
    columns = [list(map(str, row)) for row in counts.tolist()]
    lines += map("\t".join, zip(library.ids, library.genes, *columns, strict=True))
    return ("\n".join(lines) + "\n").encode()


def _long(library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """One line per guide and sample."""
    lines = ["sample\tsgRNA\tGene\tcount"]
    for name, row in zip(names, counts.tolist(), strict=True):
        lines += [
            f"{name}\t{guide}\t{gene}\t{n}"
            for guide, gene, n in zip(library.ids, library.genes, row, strict=True)
        ]
    return ("\n".join(lines) + "\n").encode()


def _parquet(library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
    """Return the columns of MAGeCK's table."""
    with installed("pyarrow", "'.[parquet]' in a clone of fmx", OutputError):
        import pyarrow
        from pyarrow import parquet
    columns: dict = {"sgRNA": library.ids, "Gene": library.genes}
    columns |= {name: np.asarray(row) for name, row in zip(names, counts, strict=True)}
    into = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), into, compression="zstd")
    return into.getvalue()


# The result of a run.


@dataclass(frozen=True)
class CountOutput(JobOutput):
    """The output: a table in the format ``kind``, one of KINDS."""

    path: str = field(default="-", metadata=PLACE)
    kind: str = "mageck"
    report: Report | None = field(default=None, metadata=PLACE)


@dataclass(frozen=True, eq=False)
class CountResult:
    """``samples``, and the GuideTally of each (``found``); ``counts`` int64[n_samples, n_rows] for the rows
    of ``library``; ``left_length``: bases of the windows kept of unassigned reads."""

    library: Library
    samples: list[Sample]
    found: list[GuideTally]
    counts: np.ndarray
    left_length: int

    @cached_property
    def stats(self) -> list[SampleStats]:
        """The SampleStats of each sample."""
        each, ids = zip(self.samples, self.found, self.counts, strict=True), self.library.ids
        ids = ids if self.library.sequences else []  # of pairs of two libraries, only those seen are rows
        return [stats_of(*own, self.left_length, ids) for own in each]

    def table(self, kind: str) -> bytes:
        """Return the table of counts in the format ``kind``."""
        return counts_table(kind, self.library, [sample.name for sample in self.samples], self.counts)

    def facts(self) -> dict[str, int]:
        """Return the numbers for a report (docs/reports.md)."""
        seen, (assigned, *others) = self.stats, SAMPLE_FATES
        names = ("reads", assigned, "one_letter_off", *others)
        counts = {name: sum(getattr(each, name) for each in seen) for name in names}
        return {f"{seen[0].unit}s": counts.pop("reads"), **counts}

    def details(self) -> dict[str, Any]:
        """Return the other facts of samples for a report."""
        return {
            "library": {"path": shown(self.library.path), "guides": len(self.library)},
            "samples": [each.facts() for each in self.stats],
            "ranks": _ranks(self.counts),
            "correlation": _correlation(self.counts),
        }


def _ranks(counts: np.ndarray) -> list:
    """Return (rank, reads) of guides of each sample, the most frequent first: at most _POINTS."""
    n = counts.shape[1]
    at = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).round().astype(np.int64))
    return [np.stack([at + 1, np.sort(row)[::-1][at]], axis=1).tolist() for row in counts]


def _correlation(counts: np.ndarray) -> list:
    """Pearson correlation of log2(count + 1) between samples; 0 for a constant sample."""
    logs = np.log2(counts + 1.0)
    logs -= logs.mean(axis=1, keepdims=True) if counts.size else 0
    norms = np.sqrt((logs**2).sum(axis=1))
    logs /= np.where(norms > 0, norms, 1)[:, None]
    return (logs @ logs.T).round(6).tolist()
