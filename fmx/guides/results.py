"""Results of ``fmx count``: tables of counts, statistics of samples, facts for reports; those of shards."""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import n_of, shown
from ..input.streams import input_name
from ..machines.progress import Progress
from ..report.page import LOW, SAMPLE_FATES, starts_in_words
from .assign import UNSURE, CountOptions
from .library import Library
from .samples import Sample
from .table import MANY, NONE
from .targets import FIRST, INEXACT, RECOMBINED, GuideTally, TallySum, counts_of_pairs, pair_keys

_TOP = 20  # unassigned sequences to report
_LETTERS = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True)
class _GuidePlace:
    """Where guides begin in reads, or in mates 1 or 2: ``reads`` were counted there."""

    mate: int
    offset: int
    strand: str
    reads: int


@dataclass(frozen=True)
class SampleStats:
    """Reads (or pairs) of a sample by outcome; ``one_letter_off``: assigned reads with one mismatch.

    ``low_guides`` have fewer than LOW reads; ``mean_reads`` and ``median_reads`` are per guide; ``skew``:
    reads of the guide at the 90th percentile divided by those at the 10th, None if these are 0; ``gini``: of
    log(count + 1), as in MAGeCK; ``top_unassigned``: (sequence at the place of a guide, reads) among the
    first reads of each file, the most frequent first; ``lost_guides``: ids of those without reads, if the
    library lists them.
    """

    sample: str
    files: tuple
    reads: int
    assigned: int
    one_letter_off: int
    ambiguous: int
    low_quality: int
    recombined: int
    unassigned: int
    guides: int
    zero_guides: int
    low_guides: int
    mean_reads: float
    median_reads: float
    skew: float | None
    gini: float
    offsets: tuple
    top_unassigned: tuple
    lost_guides: tuple = ()
    unit: str = "read"  # or pair: what is counted

    @property
    def assigned_share(self) -> float:
        return self.assigned / max(self.reads, 1)

    @property
    def with_guide(self) -> int:
        """Reads with a guide, counted or of low quality."""
        return self.assigned + self.low_quality

    def sentence(self) -> str:
        """Return the statistics in one line."""
        words = f"{self.sample}: {n_of(self.reads, self.unit)}: {self.assigned:,} assigned"
        words += f" ({100 * self.assigned_share:.2f} %)"
        for n, what in (
            (self.ambiguous, "ambiguous"), (self.low_quality, "of low quality"),
            (self.recombined, "recombined"), (self.unassigned, "unassigned"),
        ):  # fmt: skip
            words += f", {n:,} {what}" if n else ""
        words += f"; {self.zero_guides:,} of {n_of(self.guides, 'guide')} without reads, Gini {self.gini:.3f}"
        starts = starts_in_words(self.facts())
        return f"{words}; guides start {starts}" if starts else words

    def facts(self) -> dict[str, Any]:
        """Return the statistics as JSON types."""
        top = [{"sequence": letters, "reads": n} for letters, n in self.top_unassigned]
        rounded = {
            "assigned_share": round(self.assigned_share, 6), "mean_reads": round(self.mean_reads, 4),
            "skew": self.skew and round(self.skew, 4), "gini": round(self.gini, 6),
        }  # fmt: skip
        lists = {"files": list(self.files), "top_unassigned": top, "lost_guides": list(self.lost_guides)}
        return {**asdict(self), **rounded, **lists}


def _stats_of(
    sample: Sample, tally: GuideTally, counts: np.ndarray, left_length: int, ids: Sequence[str]
) -> SampleStats:
    """Return the statistics of a sample, from its tally, and ``counts`` int64[n]: reads per row.

    ``left_length``: bases of the windows of unassigned reads; ``ids`` of the rows, if the library lists them,
    else none.
    """
    hits = tally.hits
    order = np.argsort(-hits, axis=None, kind="stable")[: np.count_nonzero(hits)]
    places = [divmod(i, hits.shape[1]) for i in order.tolist()]
    keys, n = np.unique(tally.left[0], return_counts=True)
    top = np.lexsort((keys, -n))[:_TOP]
    shifts = np.arange(2 * left_length - 2, -1, -2, dtype=np.uint64)
    rows = _LETTERS[((keys[top, None] >> shifts) & np.uint64(3)).astype(np.int64)]
    sequences = [row.tobytes().decode() for row in rows]
    return SampleStats(
        sample=sample.name, files=tuple(map(str, sample.paths)), reads=tally.reads, assigned=tally.assigned,
        one_letter_off=int(tally.totals[INEXACT]), ambiguous=tally.without(MANY), unit=sample.unit,
        low_quality=tally.without(UNSURE), recombined=tally.without(RECOMBINED),
        unassigned=tally.without(NONE), guides=counts.size,
        zero_guides=int(np.count_nonzero(counts == 0)), low_guides=int(np.count_nonzero(counts < LOW)),
        mean_reads=float(counts.mean()) if counts.size else 0.0,
        median_reads=float(np.median(counts)) if counts.size else 0.0, skew=skew(counts), gini=gini(counts),
        offsets=tuple(_GuidePlace(1 + row // 2, at, "+-"[row % 2], int(hits[row, at])) for row, at in places),
        top_unassigned=tuple(zip(sequences, n[top].tolist(), strict=True)),
        lost_guides=tuple(ids[i] for i in np.flatnonzero(counts == 0).tolist()) if ids else (),
    )  # fmt: skip


def gini(counts: np.ndarray) -> float:
    """Return the Gini index of log(count + 1), from 0 to 1, as in MAGeCK."""
    x = np.sort(np.log(counts + 1.0))
    if x.size < 2 or x[-1] == 0:
        return 0.0
    rank = np.arange(1, x.size + 1)
    return max(float(1 - 2 * (x.size - (rank * x).sum() / x.sum()) / (x.size - 1)), 0.0)


def skew(counts: np.ndarray) -> float | None:
    """Return the 90th percentile of reads per guide divided by the 10th; None if that is 0."""
    ordered, last = np.sort(counts).tolist() or [0], max(counts.size - 1, 0)
    low, high = (  # np.quantile would import numpy.ma: 16 ms
        ordered[at // 10] * (10 - at % 10) + ordered[min(at // 10 + 1, last)] * (at % 10)
        for at in (last, 9 * last)
    )
    return high / low if low else None


@dataclass(frozen=True, eq=False)
class CountResult:
    """``samples``, and the GuideTally of each (``tallies``); ``counts`` int64[n_samples, n_rows] for the rows
    of ``library``; ``left_length``: bases of the windows of unassigned reads; ``n_reads`` of the files of
    each sample."""

    library: Library
    samples: list[Sample]
    tallies: list[GuideTally]
    counts: np.ndarray
    left_length: int
    n_reads: list[list[int]]

    @cached_property
    def stats(self) -> list[SampleStats]:
        """The SampleStats of each sample."""
        ids = self.library.ids if self.library.sequences else []  # rows may be the pairs that occur
        each = zip(self.samples, self.tallies, self.counts, strict=True)
        return [_stats_of(*sample, self.left_length, ids) for sample in each]

    def table(self, kind: str) -> bytes:
        """Return the table of counts in the format ``kind``: a line per guide, or per sample and guide."""
        names, library = [sample.name for sample in self.samples], self.library
        rows = self.counts.tolist()
        if kind == "mageck":
            lines = ["\t".join(["sgRNA", "Gene", *names])]
            numbers = (map(str, row) for row in rows)
            lines += map("\t".join, zip(library.ids, library.genes, *numbers, strict=True))
        else:
            lines = ["sample\tsgRNA\tGene\tcount"]
            for name, row in zip(names, rows, strict=True):
                cells = zip(library.ids, library.genes, row, strict=True)
                lines += [f"{name}\t{guide}\t{gene}\t{n}" for guide, gene, n in cells]
        return ("\n".join(lines) + "\n").encode()

    def facts(self) -> dict[str, int]:
        """Return the numbers for a report (docs/formats.md)."""
        assigned, *others = SAMPLE_FATES
        names = ("reads", assigned, "one_letter_off", *others)
        counts = {name: sum(getattr(each, name) for each in self.stats) for name in names}
        return {f"{self.stats[0].unit}s": counts.pop("reads"), **counts}

    def details(self) -> dict[str, Any]:
        """Return the other facts of samples for a report.

        ``correlation``: Pearson's, of log2(count + 1) between samples; 0 for a constant sample.
        """
        logs = np.log2(self.counts + 1.0)
        logs -= logs.mean(axis=1, keepdims=True) if self.counts.size else 0
        norms = np.sqrt((logs**2).sum(axis=1))
        logs /= np.where(norms > 0, norms, 1)[:, None]
        return {
            "library": {"path": shown(self.library.path), "guides": len(self.library)},
            "samples": [each.facts() for each in self.stats],
            "correlation": (logs @ logs.T).round(6).tolist(),
        }


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


_FEW = 0.2  # fraction of the reads of a sample
_ENOUGH = 100  # reads per guide, on average


def say_samples(result: CountResult, progress: Progress, options: CountOptions) -> None:
    """Print a line for each sample, and warnings and hints."""
    stats = result.stats
    for each in stats:
        if not each.reads:
            progress.warn(f"no reads in {', '.join(shown(input_name(file)) for file in each.files)}")
        progress.say(each.sentence())
        if each.assigned < _FEW * each.reads <= each.with_guide:
            have = "has" if each.low_quality == 1 else "have"
            progress.say(
                f"hint: sample {each.sample}: of {n_of(each.with_guide, each.unit)} with a guide, "
                f"{each.low_quality:,} {have} a base below --min-quality {options.quality} in the guide"
            )
    is_planned = bool(result.library.sequences)  # rows are not the pairs of guides that occur
    if thin := [each for each in stats if 0 < each.mean_reads < _ENOUGH and is_planned]:
        means = ", ".join(f"{each.mean_reads:.3g}" for each in thin[:5])
        units = thin[0].unit + "s" * (means != "1")
        progress.say(
            f"warning: {_named_samples(thin)}: {means} {units} per guide on average; "
            f"below {_ENOUGH}, counts vary much by chance"
        )
    few = [each for each in stats if each.with_guide < _FEW * each.reads]
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
