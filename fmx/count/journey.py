"""``fmx count`` from a library and reads to a table: one page."""

import time
from dataclasses import dataclass

import numpy as np

from ..compiler import functions
from ..input.streams import whole_output
from .counting import Counter, CountOptions, count_samples
from .library import Library
from .table import MANY, NONE, find_neighbours, keys_of, make_table
from .tables import gini, table


@dataclass(frozen=True)
class CountOutput:
    """What is written: ``kind`` one of tables.KINDS."""

    path: str = "-"
    kind: str = "mageck"


def count(library: Library, samples, options: CountOptions, output: CountOutput, progress) -> None:
    """Count the guides of a library in Samples."""
    functions.on_first_compile(progress.say)
    library = without_doubles(library, progress)
    guides = make_table(library.sequences)
    tell_neighbours(library, guides, options, progress)
    start = time.monotonic()
    with whole_output(output.path) as sink:
        counter = Counter(guides, len(library), options)
        found = count_samples(counter, samples, len(library), options.n_threads, progress)
        counts = np.array([sample.counts for sample in found])
        sink.write(table(output.kind, library, [sample.name for sample in samples], counts))
    for sample, seen in zip(samples, found, strict=True):
        progress.say(sentence(sample, seen))
    n_reads, seconds = sum(seen.reads for seen in found), time.monotonic() - start
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


def sentence(sample, seen) -> str:
    """What was seen of a sample, in one line."""
    said = [f"{sample.name}: {seen.reads:,} reads: {seen.assigned:,} assigned"]
    said[0] += f" ({100 * seen.assigned / max(seen.reads, 1):.2f} %)"
    for n, what in (
        (seen.ambiguous, "ambiguous"), (seen.low_quality, "of low quality"), (seen.unassigned, "unassigned"),
    ):  # fmt: skip
        if n:
            said.append(f"{n:,} {what}")
    zero = int(np.count_nonzero(seen.counts == 0))
    said.append(f"{zero:,} of {seen.counts.size:,} guides without reads, Gini {gini(seen.counts):.3f}")
    return f"{', '.join(said[:-1])}; {said[-1]}; guides at {places_in_words(seen)}"


def places_in_words(seen) -> str:
    """At which offsets guides were found, the most frequent first."""
    hits = seen.hits
    order = np.argsort(-hits, axis=None, kind="stable")[:8]
    least = max(1, hits.sum() // 100)
    said = []
    for strand, offset in (divmod(i, hits.shape[1]) for i in order.tolist() if hits.flat[i] >= least):
        share = 100 * hits[strand, offset] / hits.sum()
        said.append(f"{offset}{' (reverse)' if strand else ''} {share:.0f} %")
    return ", ".join(said) or "no offset"
