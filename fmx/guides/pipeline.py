"""``fmx count``, from libraries and reads to the output, in one run or in shards."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import n_of
from ..input import PairedFiles, ReadFiles
from ..input.chunks import CHUNK_SIZE
from ..input.read_range import InputRange, InputShare
from ..input.reads import FORWARD, REVERSE
from ..machines.progress import Clock, Measurement, Progress, RunCounts
from ..report import Report
from .counting import (
    FIRST,
    Counter,
    CountOptions,
    Reads,
    SampleFile,
    count_samples,
    files_of,
    named,
    reads_of,
    spans_of,
)
from .library import Library
from .outputs import CountOutput, CountResult
from .samples import Sample, lanes_of
from .targets import GuideTally, TallySum, Targets, counts_of_pairs, make_targets, pair_keys

if TYPE_CHECKING:
    from ..input import SpanLike


class _CountTotals(RunCounts):
    """Base of summaries of a run; their numbers can be added up."""

    assigned: int

    def sentence(self, _: object = None) -> str:
        """Return the summary in one line."""
        n, things = self.seen()
        share = f"{100 * self.assigned / max(n, 1):.2f} %"
        return f"{n_of(n, things[:-1])}: {self.assigned:,} assigned ({share})"


@dataclass(frozen=True)
class CountSummary(_CountTotals):
    """Summary of a run over reads."""

    reads: int
    assigned: int

    things = "reads"


@dataclass(frozen=True)
class PairCountSummary(_CountTotals):
    """Summary of a run over pairs."""

    pairs: int
    assigned: int

    things = "pairs"


def counted(seen: CountResult) -> CountSummary | PairCountSummary:
    """Return the summary of a result."""
    n, assigned = (sum(getattr(each, name) for each in seen.found) for name in ("reads", "assigned"))
    return (PairCountSummary if seen.samples[0].second else CountSummary)(n, assigned)


class ShardInputs:
    """Spans of a ``shard`` (jobs.shard.ShardRun) of samples, as input of a Counter.

    Reads are numbered from 1 in each file of the shard, as the number of reads before the shard is unknown.
    Each file is opened once more to find where guides are in its first reads.
    """

    def __init__(self, samples: Sequence[Sample], shard: Any, counter: Counter) -> None:
        self._files = files_of(samples)
        self._n_files, self._seen = [len(sample.first) for sample in samples], []  # type: tuple[list, list]
        self._counter = counter
        self._opened: dict[int, SampleFile] = {}
        first, *second = zip(*(paths for _, _, paths in self._files), strict=True)
        paths: ReadFiles = PairedFiles(first, *second) if second else first
        self._plan = shard.cut(InputRange(paths, CHUNK_SIZE, counter.options.n_threads))

    def __iter__(self) -> "Iterator[ShardSpan]":
        for number, span in self._plan.numbered():
            if number not in self._opened:
                self._opened[number] = self._open(number)
            yield ShardSpan(self._opened[number], span, self._plan.first_number(number), self._seen)

    def n_reads(self) -> list:
        """Return the number of reads of each file of each sample in the shard; complete once all are read."""
        found = [[0] * n for n in self._n_files]
        for sample, file, n in self._seen:
            found[sample][file] += n
        return found

    def _open(self, number: int) -> SampleFile:
        """Open a file, or two of mates, and find where guides are in its first reads."""
        with closing(SampleFile(*self._files[number], 1)) as file:
            while file.where is None and not file.is_over:
                file.read(self._counter.find)
        return file


@dataclass(frozen=True)
class ShardSpan:
    """A span of a file; ``first``: number of the shard's first read in it; ``seen``: collects read counts."""

    file: SampleFile
    span: "SpanLike"
    first: int
    seen: list

    def read(self, _: object) -> tuple[SampleFile, list[Reads]]:
        """Return (its file, its Reads).  Raises InputError."""
        found = reads_of(self.span)
        n = sum(reads.batches[0].length.size for reads in found)
        self.seen.append((self.file.sample, self.file.file, n))
        return self.file, [reads._replace(number=reads.number - self.first + 1) for reads in found]


def pack(seen: CountResult, n_reads: list) -> bytes:
    """Return the counts of a shard as bytes; ``n_reads`` from ShardInputs."""
    about = {
        "library": asdict(seen.library), "samples": [asdict(sample) for sample in seen.samples],
        "left_length": seen.left_length, "n_reads": n_reads,
    }  # fmt: skip
    arrays: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    for i, tally in enumerate(seen.found):
        arrays |= {f"{name}{i}": array for name, array in tally._asdict().items()}
    into = io.BytesIO()
    np.savez_compressed(into, **arrays)
    return into.getvalue()


def unpack(pieces: Iterator) -> CountResult:
    """Add up the counts of shards, given as bytes in order.

    Of unassigned reads, it keeps what a run without shards keeps: windows of the first reads of each file.
    """
    about, sums, before = {}, [], []  # type: tuple[dict, list, list]
    names: dict = {}  # of rows by key, if the rows are the pairs of guides seen
    for piece in pieces:
        with np.load(io.BytesIO(piece), allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            found = [
                GuideTally(*(arrays[f"{name}{i}"] for name in GuideTally._fields))
                for i in range(len(about["samples"]))
            ]
        names |= zip(pair_keys(found).tolist(), about["library"]["ids"], strict=False)
        for i, tally in enumerate(found):
            if i == len(sums):
                sums.append(TallySum(tally.counts.size))
                before.append([0] * len(about["n_reads"][i]))
            sums[i].add(tally.after(before[i], FIRST))
            before[i] = [sum(pair) for pair in zip(before[i], about["n_reads"][i], strict=True)]
    samples = [Sample(each["name"], tuple(each["first"]), tuple(each["second"])) for each in about["samples"]]
    tallies, library = [each.tally() for each in sums], Library(**about["library"])
    counts = np.array([tally.counts for tally in tallies])
    if not library.sequences:
        ids = [names[key] for key in pair_keys(tallies).tolist()]
        library, counts = replace(library, ids=ids, genes=ids), counts_of_pairs(tallies)
    return CountResult(library, samples, tallies, counts, about["left_length"])


# A whole run, and a shard.

PLACES = ["the CPU"]
FEW = 0.2  # fraction of the reads of a sample
ENOUGH = 100  # reads per guide, on average


def count(
    counter: Counter, samples: Sequence[Sample], output: CountOutput, run: Any, progress: Progress
) -> CountSummary | PairCountSummary:
    """Count guides in samples and write the ``output``; ``counter``: made for these samples; ``run``: where
    it is written."""
    wall, measurement = progress.wall, _measurement(output, progress)
    with run.opened(output) as outputs:
        with wall.spending("counting"):
            seen = count_all(counter, samples, progress, measurement.clock)
        wall.turn_to("writing")
        outputs.write(seen.table(output.kind))
        outputs.finish(
            None, facts=(lambda: measurement.facts(PLACES, seen, seen.details())) if output.report else None
        )
    tell_samples(seen, progress, counter.options)
    return counted(seen)


def _measurement(output: CountOutput, progress: Progress) -> Measurement:
    """Return a Measurement that starts now."""
    measurement = Measurement(output.report or Report((), {}))
    measurement.begin(progress.wall)
    return measurement


def count_all(
    counter: Counter, samples: Sequence[Sample], progress: Progress, clock: Clock | None = None
) -> CountResult:
    """Count the guides of a Counter in samples; ``clock`` measures the time."""
    share = InputShare([path for sample in samples for path in sample.paths])
    progress.follow(share)
    spans = spans_of(samples, counter.options.n_threads, share)
    return _seen(counter, samples, count_samples(counter, spans, len(samples), progress, clock or Clock()))


def tell_samples(seen: CountResult, progress: Progress, options: CountOptions) -> None:
    """Print a line for each sample, and warnings and hints."""
    stats = seen.stats
    for each in stats:
        if not each.reads:
            progress.warn(f"no reads in {', '.join(map(named, each.files))}")
        progress.say(each.sentence())
        if each.assigned < FEW * each.reads <= each.with_guide:
            have = "has" if each.low_quality == 1 else "have"
            progress.say(
                f"hint: sample {each.sample}: of {n_of(each.with_guide, each.unit)} with a guide, "
                f"{each.low_quality:,} {have} a base below --min-quality {options.quality} in the guide"
            )
    is_planned = bool(seen.library.sequences)  # rows are not the pairs of guides that were seen
    if thin := [each for each in stats if 0 < each.mean_reads < ENOUGH and is_planned]:
        means = ", ".join(f"{each.mean_reads:.3g}" for each in thin[:5])
        progress.say(
            f"warning: {_named_samples(thin)}: {means} {thin[0].unit}s per guide on average; below {ENOUGH}, "
            "counts vary much by chance"
        )
    few = [each for each in stats if each.with_guide < FEW * each.reads]
    many = [each for each in few if 2 * each.ambiguous > each.reads]
    if many:
        why = (
            "their mates contain different guides, or one mate contains several: check that -1 and -2 belong "
            "together"
            if many[0].unit == "pair"
            else "they contain several guides: say which one to count with --offset, --after or --before"
        )
        progress.say(f"hint: most {many[0].unit}s of {_named_samples(many)} are ambiguous; {why}")
    if few := [each for each in few if each not in many]:
        progress.say(
            f"hint: few {few[0].unit}s of {_named_samples(few)} contain a guide{_what_to_try(options)} "
            "--report lists the most frequent unassigned sequences"
        )


def _named_samples(stats: list) -> str:
    return f"sample{'s' * (len(stats) > 1)} {', '.join(each.sample for each in stats[:5])}"


def _what_to_try(options: CountOptions) -> str:
    given = {"--offset": "offsets", "--after": "after", "--before": "before"}
    if places := [
        option for option, name in given.items() if any(getattr(each, name) for each in options.looked)
    ]:
        it = "them" if places[1:] else "it"
        return f" there: check {' and '.join(places)}, or leave {it} out to find offsets in the reads;"
    more = {"--anywhere": options.looked[0].anywhere, "--mismatches 1": options.mismatches}
    left = " and ".join(option for option, given in more.items() if not given)
    return ": is it the right library?" + (f" Try {left};" if left else "")


def count_shard(
    counter: Counter, samples: Sequence[Sample], output: CountOutput, shard: Any, progress: Progress
) -> CountSummary | PairCountSummary:
    """Count in a ``shard`` of the files of samples, and store the counts in it."""
    measurement = _measurement(output, progress)
    with shard.opened(output) as outputs:
        inputs = ShardInputs(samples, shard, counter)
        with progress.wall.spending("counting"):
            found = count_samples(counter, inputs, len(samples), progress, measurement.clock)
        seen = _seen(counter, samples, found)
        outputs.write(pack(seen, inputs.n_reads()))
        summary = counted(seen)
        outputs.finish(summary, facts=partial(measurement.facts, PLACES, seen) if output.report else None)
    n, things = summary.seen()
    if not n:
        progress.warn(shard.why_empty(things))
    progress.say(f"{shard}: {n_of(n, samples[0].unit)}, {summary.assigned:,} assigned")
    return summary


def make_counter(
    libraries: Sequence[Library], samples: Sequence[Sample], options: CountOptions, progress: Progress
) -> Counter:
    """Return the Counter for one library, or two for mates; reports what is odd about library and samples."""
    if lanes := lanes_of(samples):
        progress.warn(
            f"samples {_some(lanes)} look like lanes of the same sample: give them as one argument, "
            "separated by commas"
        )
    libraries = [_without_doubles(library, progress) for library in libraries]
    targets = make_targets(libraries, bool(samples[0].second))
    _tell_neighbours(targets, options, progress)
    _tell_strands(targets, options, progress)
    return Counter(targets, options, samples, progress.warn)


def _seen(counter: Counter, samples: Sequence[Sample], found: list[GuideTally]) -> CountResult:
    library, counts = _rows_of(counter.targets, found)
    left_length = int(counter.targets.guides[0].table.lengths[0])
    return CountResult(library, list(samples), found, counts, left_length)


def _rows_of(targets: Targets, found: list[GuideTally]) -> tuple:
    """Return (Library of the rows, counts int64[n_samples, n_rows]) from the tally of each sample."""
    if targets.library:
        return targets.library, np.array([tally.counts for tally in found])
    return targets.rows_of(pair_keys(found)), counts_of_pairs(found)


def _without_doubles(library: Library, progress: Progress) -> Library:
    """Return the library without duplicate sequences, which are reported, and genes that vanish with them."""
    genes, (library, left) = _genes(library), library.unique()
    if left:
        have = n_of(len(left), "guide has", "guides have")
        named = _some(f"{one}, same as {other}" for one, other in left)
        progress.say(f"{library.path}: {have} the same sequence as an earlier guide: left out ({named})")
    if lost := sorted(genes - _genes(library)):
        what = n_of(len(lost), "gene has", "genes have")
        progress.warn(f"{library.path}: {what} no guide left: {_some(lost)}")
    return library


def _genes(library: Library) -> set:
    """Return the genes, without those that are ids of guides."""
    return {gene for gene, name in zip(library.genes, library.ids, strict=True) if gene != name}


def _some(words: Iterable[str]) -> str:
    """Return the first words, comma-separated, and how many more there are."""
    first, n = list(words), 10
    return ", ".join(first[:n]) + (f" and {len(first) - n:,} more" if first[n:] else "")


def _tell_neighbours(targets: Targets, options: CountOptions, progress: Progress) -> None:
    """Report how many guides have one mismatch to another guide."""
    for guides in dict.fromkeys(targets.guides):
        n_close, example = guides.neighbours()
        if n_close:
            named = f" (such as {example[0]} and {example[1]})" if example else ""
            what = "; reads that match both are ambiguous" if options.mismatches else ""
            are = n_of(n_close, "guide differs", "guides differ")
            progress.say(f"{guides.path}: {are} from another guide in only one base{named}{what}")


def _tell_strands(targets: Targets, options: CountOptions, progress: Progress) -> None:
    """Warn of guides that are reverse complements of each other if both strands are searched."""
    looked = zip(targets.guides, options.looked, strict=True)
    both = [guides for guides, each in looked if each.strands == FORWARD | REVERSE and not each.is_flanked]
    for guides in dict.fromkeys(both):
        n, example = guides.reverse_complements()
        if example:
            progress.warn(
                f"{guides.path}: {n:,} guides are reverse complements of other guides (such as "
                f"{example[0]} and {example[1]}): reads with them are ambiguous if both strands are searched"
                "; give --forward-only or --reverse-only"
            )
