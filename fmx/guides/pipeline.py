"""``fmx count``, from libraries and reads to the output, in one run or in shards."""

import io
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import n_of, shown
from ..input import InputRange, InputShare, PairedFiles, ReadFiles
from ..input.chunks import CHUNK_SIZE
from ..input.reads import FORWARD, REVERSE
from ..input.streams import input_name
from ..machines.pipeline import run_ordered
from ..machines.progress import Clock, Measurement, Progress, RunCounts
from ..output.files import ReadsOutput
from ..report import JobOutput, Report
from .counting import (
    FIRST,
    Counter,
    CountOptions,
    FileSpan,
    SampleFile,
    files_of,
    opened_first,
    spans_in_order,
    spans_of,
)
from .library import Library
from .results import CountResult
from .samples import Sample
from .table import NONE
from .targets import GuideTally, TallySum, counts_of_pairs, make_targets, pair_keys


@dataclass(frozen=True)
class CountSummary(RunCounts):
    """Summary of a run over reads."""

    reads: int
    assigned: int

    things = "reads"

    def sentence(self) -> str:
        """Return the summary in one line."""
        n, things = self.seen()
        return f"{n_of(n, things[:-1])}: {self.assigned:,} assigned ({100 * self.assigned / max(n, 1):.2f} %)"


class PairCountSummary(CountSummary):
    """Summary of a run over pairs, which are counted as its ``reads``."""

    things = "pairs"

    @property
    def pairs(self) -> int:
        return self.reads


def spans_of_shard(samples: Sequence[Sample], shard: Any, counter: Counter) -> Iterator[FileSpan]:
    """Yield the spans of a ``shard`` (jobs.shard.ShardRun) of samples.

    Each file is opened once more to find where guides are in its first reads.
    """
    files = files_of(samples)
    opened: dict[int, SampleFile] = {}
    first, *second = zip(*(paths for _, _, paths in files), strict=True)
    paths: ReadFiles = PairedFiles(first, *second) if second else first
    plan = shard.cut(InputRange(paths, CHUNK_SIZE, counter.options.n_threads))
    for number, before, span in plan.numbered():
        if number not in opened:
            opened[number] = opened_first(files[number], counter.find)
        yield FileSpan(opened[number], span, None, before)


def pack(result: CountResult) -> bytes:
    """Return the counts of a shard as bytes."""
    about = {
        "library": asdict(result.library), "samples": [asdict(sample) for sample in result.samples],
        "left_length": result.left_length, "n_reads": result.n_reads,
    }  # fmt: skip
    arrays: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    for i, tally in enumerate(result.tallies):
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
            tallies = [
                GuideTally(*(arrays[f"{name}{i}"] for name in GuideTally._fields))
                for i in range(len(about["samples"]))
            ]
        names |= zip(pair_keys(tallies).tolist(), about["library"]["ids"], strict=False)
        for i, tally in enumerate(tallies):
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
    return CountResult(library, samples, tallies, counts, about["left_length"], before)


NO_READS = ReadsOutput()
FEW = 0.2  # fraction of the reads of a sample
ENOUGH = 100  # reads per guide, on average


def count(
    counter: Counter, samples: Sequence[Sample], output: JobOutput, run: Any, progress: Progress
) -> CountSummary:
    """Count guides in samples, and write the ``output``, or store the counts of a shard.

    ``counter``: made for these samples; ``run``: the part of the samples to read, and where to write.
    """
    measurement = Measurement(output.report or Report((), {}))
    measurement.begin(progress.wall)
    with run.opened(output) as outputs:
        inputs = None if run.is_whole else spans_of_shard(samples, run, counter)
        with progress.wall.spending("counting"):
            result = count_all(
                counter, samples, progress, measurement.clock, inputs, output.reads, outputs.write
            )
        progress.wall.turn_to("writing")
        outputs.write(pack(result) if inputs else result.table(output.kind))
        n, assigned = (sum(getattr(each, name) for each in result.tallies) for name in ("reads", "assigned"))
        summary = (PairCountSummary if samples[0].second else CountSummary)(n, assigned)

        def facts() -> dict:
            return measurement.facts(["the CPU"], result, {} if inputs else result.details())

        outputs.finish(summary if inputs else None, facts=facts if output.report else None)
    if inputs:
        if not n:
            progress.warn(run.why_empty(summary.things))
        progress.say(f"{run}: {n_of(n, samples[0].unit)}, {assigned:,} assigned")
    else:
        say_samples(result, progress, counter.options)
    return summary


def count_all(
    counter: Counter, samples: Sequence[Sample], progress: Progress, clock: Clock | None = None,
    inputs: Iterator[FileSpan] | None = None, output: ReadsOutput = NO_READS,
    write: Callable[[Any], object] | None = None,
) -> CountResult:  # fmt: skip
    """Count the guides of a Counter in samples, or in ``inputs`` of a shard; ``clock`` measures the time.

    ``write`` receives what is to be written to the files of ``output``.
    """
    items: Iterable[Any] | None = inputs
    if items is None:
        share = InputShare([path for sample in samples for path in sample.paths])
        progress.follow(share)
        if output.files:
            items = spans_in_order(samples, counter.options.n_threads, share, counter.find)
        else:
            items = spans_of(samples, counter.options.n_threads, share)
    targets, n_threads = counter.targets, counter.options.n_threads
    unit, n, start = "pair" if targets.pairs else "read", 0, time.monotonic()
    sums = [TallySum(targets.n_rows) for _ in samples]
    n_reads = [[0] * len(sample.first) for sample in samples]
    workers = [partial(Counter.work, counter, clock=clock or Clock(), output=output)] * n_threads
    with closing(run_ordered(items, workers, write)) as parts:
        for part in parts:
            if part is not None:
                file, tally = part
                sums[file.sample].add(tally)
                n_reads[file.sample][file.file] += tally.reads
                n += tally.reads
            rate = n / max(time.monotonic() - start, 1e-9)
            progress.show(f"{n_of(n, unit)}, {rate:,.0f} {unit}s/s")
    tallies = [each.tally() for each in sums]
    if targets.library:
        library, counts = targets.library, np.array([tally.counts for tally in tallies])
    else:
        (one, two), counts = targets.guides, counts_of_pairs(tallies)
        ids = [f"{one.ids[key >> 32]}|{two.ids[key & 0xFFFFFFFF]}" for key in pair_keys(tallies).tolist()]
        library = Library(f"{one.path}, {two.path}", ids, ids, [], [])
    left_length = int(targets.guides[0].table.lengths[0])
    return CountResult(library, list(samples), tallies, counts, left_length, n_reads)


def say_samples(result: CountResult, progress: Progress, options: CountOptions) -> None:
    """Print a line for each sample, and warnings and hints."""
    stats = result.stats
    for each in stats:
        if not each.reads:
            progress.warn(f"no reads in {', '.join(shown(input_name(file)) for file in each.files)}")
        progress.say(each.sentence())
        if each.assigned < FEW * each.reads <= each.with_guide:
            have = "has" if each.low_quality == 1 else "have"
            progress.say(
                f"hint: sample {each.sample}: of {n_of(each.with_guide, each.unit)} with a guide, "
                f"{each.low_quality:,} {have} a base below --min-quality {options.quality} in the guide"
            )
    is_planned = bool(result.library.sequences)  # rows are not the pairs of guides that occur
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
        fields = {"--offset": "offsets", "--after": "after", "--before": "before"}
        windows = options.looked
        if places := [option for option, name in fields.items() if any(getattr(x, name) for x in windows)]:
            it = "them" if places[1:] else "it"
            what = f" there: check {' and '.join(places)}, or leave {it} out to find offsets in the reads;"
        else:
            more = {"--anywhere": windows[0].anywhere, "--mismatches 1": options.mismatches}
            left = " and ".join(option for option, value in more.items() if not value)
            what = ": is it the right library?" + (f" Try {left};" if left else "")
        progress.say(
            f"hint: few {few[0].unit}s of {_named_samples(few)} contain a guide{what} "
            "--report lists the most frequent unassigned sequences"
        )


def _named_samples(stats: list) -> str:
    return f"sample{'s' * (len(stats) > 1)} {', '.join(each.sample for each in stats[:5])}"


def make_counter(
    libraries: Sequence[Library], samples: Sequence[Sample], options: CountOptions, progress: Progress
) -> Counter:
    """Return the Counter for one library, or two for mates; reports what is odd about library and samples.

    Duplicate sequences of a library are left out.
    """
    without = [re.sub(r"_L\d{1,3}(?![^_])", "", each.name) for each in samples]
    if lanes := [x.name for x, name in zip(samples, without, strict=True) if without.count(name) > 1]:
        progress.warn(
            f"samples {_some(lanes)} look like lanes of the same sample: give them as one argument, "
            "separated by commas"
        )
    unique = []
    for library in libraries:
        fewer, left = library.unique()
        unique.append(fewer)
        if left:
            have = n_of(len(left), "guide has", "guides have")
            pairs = _some(f"{one}, same as {other}" for one, other in left)
            progress.say(f"{library.path}: {have} the same sequence as an earlier guide: left out ({pairs})")
        if lost := sorted(library.gene_names() - fewer.gene_names()):
            what = n_of(len(lost), "gene has", "genes have")
            progress.warn(f"{library.path}: {what} no guide left: {_some(lost)}")
    targets = make_targets(unique, bool(samples[0].second))
    windows = list(zip(targets.guides, options.looked, strict=True))
    for guides in dict.fromkeys(targets.guides):
        ids, numbers, (close, opposite) = guides.ids, np.arange(len(guides.ids)), guides.others()
        if n := int(np.count_nonzero(close != NONE)):
            examples = (f" (such as {ids[i]} and {ids[close[i]]})" for i in np.flatnonzero(close >= 0))
            what = "; reads that match both are ambiguous" if options.mismatches else ""
            are = n_of(n, "guide differs", "guides differ")
            progress.say(
                f"{guides.path}: {are} from another guide in only one base{next(examples, '')}{what}"
            )
        both = (each for of, each in windows if of is guides and each.strands == FORWARD | REVERSE)
        pairs = np.stack([numbers, opposite], axis=1)[(opposite >= 0) & (opposite != numbers)]
        if pairs.size and not all(each.is_flanked for each in both):
            one, other = pairs[0]
            progress.warn(
                f"{guides.path}: {np.unique(pairs).size:,} guides are reverse complements of other guides "
                f"(such as {ids[one]} and {ids[other]}): reads with them are ambiguous if both strands are "
                "searched; give --forward-only or --reverse-only"
            )
    return Counter(targets, options, samples, progress.warn)


def _some(words: Iterable[str]) -> str:
    """Return the first words, comma-separated, and how many more there are."""
    first, n = list(words), 10
    return ", ".join(first[:n]) + (f" and {len(first) - n:,} more" if first[n:] else "")
