"""What was counted as tables: MAGeCK's, a line a guide and sample, Parquet."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

import numpy as np

from .._version import __version__
from ..errors import OutputError, installed, shown
from ..input.streams import whole_output
from ..system.files import PLACE
from .library import Library
from .report import html
from .stats import as_json, as_table, stats_of

KINDS = ("mageck", "long", "parquet")


def table(kind: str, library: Library, names: Sequence[str], counts: np.ndarray) -> bytes:
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
def opened(output: CountOutput) -> Iterator[dict[str, BinaryIO]]:
    """What ``write`` needs; the files of a CountOutput appear when it has done so.  Raises OutputError."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(whole_output(path))
            for name in ("path", "stats", "json", "report")
            if (path := getattr(output, name))
        }


def write(files: Mapping[str, BinaryIO], kind: str, seen: Seen) -> list:
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
