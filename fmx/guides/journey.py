"""``fmx count`` from libraries and reads to what is written: one page."""

import numpy as np

from ..compiler import functions
from ..errors import InputError, n_of
from ..machines.progress import Progress
from .counting import Counter, CountOptions, count_samples
from .inputs import Inputs, named
from .library import Library
from .outputs import CountOutput, Seen, opened, write
from .shards import Counted, ShardInputs, pack
from .targets import make_targets

FEW = 0.2  # of the reads of a sample


def count(counter, samples, options: CountOptions, output: CountOutput, progress) -> Counted:
    """Count guides in Samples, by a Counter that was made for them."""
    wall = progress.wall
    with opened(output) as files:
        inputs = Inputs(samples, options.n_threads)
        with wall.spending("counting"):
            found = count_samples(counter, inputs, len(samples), options.n_threads, progress)
        wall.turn_to("writing")
        stats = write(files, output.kind, _seen(counter, samples, found, options))
    tell_samples(stats, progress)
    n_reads, n_assigned = sum(each.reads for each in stats), sum(each.assigned for each in stats)
    return Counted(n_reads, n_assigned, samples[0].unit)


def tell_samples(stats: list, progress: Progress) -> None:
    """Say what was seen of each sample, by SampleStats, and what may be the matter with some."""
    for each in stats:
        if not each.reads:
            progress.say(f"warning: no reads in {', '.join(map(named, each.files))}")
        progress.say(each.sentence())
    if few := [each.sample for each in stats if each.reads and each.assigned_share < FEW]:
        progress.say(
            f"hint: few {stats[0].unit}s of {', '.join(few[:5])} count: is it the right library? Try "
            "--anywhere and --mismatches 1; --json tells the most frequent sequences that are no guide"
        )


def count_shard(counter, samples, options: CountOptions, shard, progress) -> Counted:
    """Count in a ``shard`` of the files of Samples, a jobs.shard.ShardRun, which keeps what is seen."""
    with shard.opened(b"") as sink:
        inputs = ShardInputs(samples, shard, counter, options.n_threads)
        with progress.wall.spending("counting"):
            found = count_samples(counter, inputs, len(samples), options.n_threads, progress)
        seen = _seen(counter, samples, found, options)
        sink.write(pack(seen, inputs.n_reads()))
        summary = Counted(sum(tally.reads for tally in found), sum(tally.assigned for tally in found))
        shard.note(summary)
    if summary.reads == 0:
        progress.say(f"warning: {shard.why_empty('reads')}")
    progress.say(f"{shard}: {n_of(summary.reads, 'read')}, {summary.assigned:,} assigned")
    return summary


def why_whole(samples) -> InputError | None:
    """Why the files of Samples cannot be cut into shards; None if they can."""
    if any(sample.second for sample in samples):
        return InputError(samples[0].second[0], "", "mates cannot be cut into shards: count them in one run")
    paths = [path for sample in samples for path in sample.paths]
    if len(set(paths)) < len(paths):
        return InputError(max(paths, key=paths.count), "", "is given twice, which shards cannot tell apart")
    return None


def make_counter(libraries, samples, options, progress) -> Counter:
    """What counts the guides of a Library, or of two for mates, in Samples; tells what is odd about them."""
    functions.on_first_compile(progress.say)
    libraries = [without_doubles(library, progress) for library in libraries]
    targets = make_targets(libraries, bool(samples[0].second))
    tell_neighbours(targets, options, progress)
    return Counter(targets, options)


def _seen(counter, samples, found, options) -> Seen:
    library, counts = rows_of(counter.targets, found)
    left_length = int(counter.targets.guides[0].table.lengths[0])
    return Seen(library, samples, found, counts, str(options), left_length)


def rows_of(targets, found) -> tuple:
    """(Library of the rows, their counts int64[n_samples, n_rows]) of the Tally of each sample."""
    if targets.library:
        return targets.library, np.array([tally.counts for tally in found])
    seen = np.unique(np.concatenate([tally.pairs[0] for tally in found]))
    counts = np.zeros((len(found), seen.size), np.int64)
    for row, (keys, n) in zip(counts, (tally.pairs for tally in found), strict=True):
        row[np.searchsorted(seen, keys)] = n
    return targets.rows_of(seen), counts


def without_doubles(library, progress) -> Library:
    """A library without the guides whose sequence an earlier one has; says which."""
    library, left = library.unique()
    if left:
        one, other = left[0]
        have = n_of(len(left), "guide has", "guides have")
        progress.say(
            f"{library.path}: {have} the sequence of an earlier one, which counts for both (as "
            f"{one}, which is {other}); left out"
        )
    return library


def tell_neighbours(targets, options, progress) -> None:
    """Say how many guides are one letter apart from another one."""
    for guides in dict.fromkeys(targets.guides):
        n_close, example = guides.neighbours()
        if n_close:
            named = f" (as {example[0]} and {example[1]})" if example else ""
            what = "; reads between them are ambiguous" if options.mismatches else ""
            are = n_of(n_close, "guide is", "guides are")
            progress.say(f"{guides.path}: {are} one letter apart from others{named}{what}")
