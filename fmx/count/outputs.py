"""What a run has counted, and all that is written of it."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._version import __version__
from ..errors import shown
from ..input.streams import whole_output
from .library import Library
from .report import html
from .stats import as_json, as_table, stats_of
from .tables import table


@dataclass(frozen=True)
class CountOutput:
    """What is written: the table as ``kind``, one of tables.KINDS; of samples ``stats`` (TSV), ``json`` and a
    ``report`` (HTML), if they are not None."""

    path: str = "-"
    kind: str = "mageck"
    stats: str | None = None
    json: str | None = None
    report: str | None = None


class Seen(NamedTuple):
    """Of Samples the Tally each, ``found``; ``counts`` int64[n_samples, n_rows] of the rows of ``library``;
    the ``options`` in words; ``left_length``: letters of what is kept of unassigned reads."""

    library: Library
    samples: list
    found: list
    counts: np.ndarray
    options: str
    left_length: int


@contextmanager
def opened(output):
    """What ``write`` needs; the files of a CountOutput appear when it has done so.  Raises OutputError."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(whole_output(path))
            for name in ("path", "stats", "json", "report")
            if (path := getattr(output, name))
        }


def write(files, kind, seen) -> list:
    """Write all of what was Seen; the SampleStats."""
    stats = [
        stats_of(sample, tally, row, seen.left_length)
        for sample, tally, row in zip(seen.samples, seen.found, seen.counts, strict=True)
    ]
    about = {"version": __version__, "library": shown(seen.library.path), "guides": len(seen.library)}
    about["options"] = seen.options
    files["path"].write(table(kind, seen.library, [sample.name for sample in seen.samples], seen.counts))
    if "stats" in files:
        files["stats"].write(as_table(stats))
    if "json" in files:
        files["json"].write(as_json(about, stats))
    if "report" in files:
        files["report"].write(html(about, stats, seen.counts))
    return stats
