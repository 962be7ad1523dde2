"""``fmx count`` from a library and reads to a table: one page."""

import time
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from .._version import __version__
from ..compiler import functions
from ..input.streams import whole_output
from .counting import Counter, CountOptions, count_samples
from .library import Library
from .report import html
from .stats import as_json, as_table, stats_of
from .table import MANY, NONE, find_neighbours, keys_of, make_table
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


def count(library: Library, samples, options: CountOptions, output: CountOutput, progress) -> None:
    """Count the guides of a library in Samples."""
    functions.on_first_compile(progress.say)
    library = without_doubles(library, progress)
    guides = make_table(library.sequences)
    tell_neighbours(library, guides, options, progress)
    start = time.monotonic()
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(whole_output(path))
            for name in ("path", "stats", "json", "report")
            if (path := getattr(output, name))
        }
        counter = Counter(guides, len(library), options)
        found = count_samples(counter, samples, options.n_threads, progress)
        counts = np.array([seen.counts for seen in found])
        stats = [
            stats_of(sample, seen, counter.left_length) for sample, seen in zip(samples, found, strict=True)
        ]
        about = {"version": __version__, "library": library.path, "guides": len(library)}
        about["options"] = str(options)
        files["path"].write(table(output.kind, library, [sample.name for sample in samples], counts))
        if "stats" in files:
            files["stats"].write(as_table(stats))
        if "json" in files:
            files["json"].write(as_json(about, stats))
        if "report" in files:
            files["report"].write(html(about, stats, counts))
    for each in stats:
        progress.say(each.sentence())
    n_reads, seconds = sum(each.reads for each in stats), time.monotonic() - start
    progress.say(f"{n_reads:,} reads in {seconds:.1f} s, {n_reads / max(seconds, 1e-9):,.0f} reads/s")


def without_doubles(library, progress) -> Library:
    """A library without the guides whose sequence an earlier one has; says which."""
    library, left = library.unique()
    if left:
        one, other = left[0]
        progress.say(
            f"{library.path}: {len(left):,} guides have the sequence of an earlier one, which counts for "
            f"both (as {one}, which is {other}); they are left out"
        )
    return library


def tell_neighbours(library, guides, options, progress) -> None:
    """Say how many guides are one letter apart from another one."""
    n_close, example = 0, None
    for which, length in enumerate(guides.lengths):
        own = [i for i, sequence in enumerate(library.sequences) if len(sequence) == length]
        own = [i for i in own if not set(library.sequences[i]) - set("ACGT")]
        into = np.empty(len(own), np.int64)
        keys = keys_of([library.sequences[i] for i in own])
        find_neighbours(guides, which, keys, into)
        n_close += int(np.count_nonzero(into != NONE))
        for i, other in zip(own, into.tolist(), strict=True):
            if example is None and other not in (NONE, MANY):
                example = f" (as {library.ids[i]} and {library.ids[other]})"
    if n_close:
        what = "; reads between them are ambiguous" if options.mismatches else ""
        progress.say(
            f"{library.path}: {n_close:,} guides are one letter apart from others{example or ''}{what}"
        )
