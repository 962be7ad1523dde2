"""``fmx pairwise`` from sequences to output: read sequences, align pairs, write records."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..compiler import object_cache
from ..errors import n_of
from ..input.chunks import NEWLINE
from ..machines.gpu import GpuSession
from ..machines.pipeline import OrderedQueue, run
from ..machines.places import Device, choose_place
from ..machines.progress import Progress, RunCounts, TimedFile
from ..output import PLAIN, Container, module_of
from ..output.formats.matrix import PairMatrix
from ..output.run import Run
from ..report import JobOutput
from .jobs import AlignmentJob, Records, Worker, cut
from .sequences import Scoring, read_sequences


@dataclass(frozen=True)
class PairOptions:
    """How pairs are scored and which are kept.

    ``identity``: smallest identity (0 to 1) of a pair that is kept, by one of vsearch's ``definition``.
    ``prefilter`` False: score every pair.
    """

    scoring: Scoring = field(default_factory=Scoring)
    definition: int = 1
    identity: float = 0.0
    prefilter: bool = True
    n_threads: int = 1


@dataclass(frozen=True)
class PairOutput(JobOutput):
    """Output of pairs.

    ``kind``: tsv or paf, with paths if ``cigar``; or npz or phylip, a matrix of ``values`` score or identity.
    """

    cigar: bool = False
    values: str | None = None


@dataclass(frozen=True)
class AlignmentSummary(RunCounts):
    """Counts of a run; ``reported``: pairs that reach --id, or all of a matrix.

    ``selves``: how many of the pairs of a matrix are a sequence and itself.
    """

    pairs: int
    reported: int
    selves: int = 0

    things = "pairs"

    def sentence(self) -> str:
        """Return one line that describes the run."""
        reported = f" compared, {self.reported:,} of them reach --id" if self.reported < self.pairs else ""
        selves = f", {self.selves:,} of them a sequence with itself" if self.selves else ""
        return f"{n_of(self.pairs, 'pair')}{reported}{selves}"


def prepare(
    paths: Sequence[Any], options: PairOptions, output: PairOutput, progress: Progress
) -> tuple[tuple, AlignmentJob]:
    """Read the sequences: all pairs of a FASTA file ('-' for stdin), or all pairs between two files.

    Return ((names of queries, of targets), AlignmentJob).
    """
    object_cache.on_first_compile(progress)
    names, job = _read_job(paths, options, output.values, progress.warn)
    _ = job.task  # counts q-grams
    return names, job


def align(
    names: tuple, job: AlignmentJob, options: PairOptions, output: PairOutput, progress: Progress,
    gpus: tuple[list, bool], run: Run,
) -> AlignmentSummary:  # fmt: skip
    """Align the pairs, or those of a shard, write them, and return their AlignmentSummary.

    ``gpus``: from open_gpus.
    """
    wall, values = progress.wall, output.values
    chunks = cut(job)
    chunks = chunks[slice(*run.share_of(len(chunks)))]
    container: Container = PLAIN  # how the bytes of chunks become a file
    if values:
        head, ends = b"", (chunks[0][0], chunks[-1][1]) if chunks else (0, 0)
        container = PairMatrix(output.kind, values, list(names[0]), list(names[1]), job.half, *ends)
    else:
        lengths = job.queries.lengths(), job.targets.lengths()
        writer, head = module_of(output.kind).open_pairs(names, lengths, output.cigar)

    def pack(result: Any) -> bytes:
        if values:
            return (result if isinstance(result, np.ndarray) else result.identity).tobytes()
        return writer.format(result._replace(h=job.totals(result, result.h)))

    with run.opened(output, head, container=container) as outputs:
        sink = TimedFile(outputs, wall)
        wall.turn_to("aligning")
        n_done, n_lines, start = 0, 0, time.monotonic()
        total = sum(job.n_pairs(*chunk) for chunk in chunks)
        with closing(compute(job, chunks, options.n_threads, pack, *gpus)) as computed:
            for chunk, data in zip(chunks, computed, strict=True):
                sink.write(data)
                if not values:
                    n_lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == NEWLINE))
                n_done += job.n_pairs(*chunk)
                rate = n_done / max(time.monotonic() - start, 1e-9)
                left = int((total - n_done) / rate) if rate else 0
                shown = f"{n_done:,} of {n_of(total, 'pair')}, {rate:,.0f} pairs/s"
                progress.show(f"{shown}, {left // 60}:{left % 60:02d} left")
        selves = sum(last - first for first, last in chunks) if job.half and job.diagonal else 0
        summary = AlignmentSummary(total, total if values else n_lines, selves)
        outputs.finish(summary)
        wall.turn_to("writing")
    return summary


def records(
    paths: Sequence[Any], options: PairOptions, progress: Progress, device: Device
) -> tuple[tuple, AlignmentJob, Generator[Records, None, None]]:
    """Return (names of (queries, targets), AlignmentJob, its Records in order, in pieces) of FASTA files."""
    sessions, cpu_scores_too = open_gpus(device, progress)
    names, job = _read_job(paths, options)
    return names, job, compute(job, cut(job), options.n_threads, gpus=sessions, cpu_scores_too=cpu_scores_too)


def _read_job(
    paths: Sequence[Any],
    options: PairOptions,
    values: str | None = None,
    warn: Callable[[str], object] = lambda words: None,
) -> tuple[tuple, AlignmentJob]:
    """Return ((names of queries, of targets), AlignmentJob) of one FASTA file or of two."""
    inputs = [read_sequences(path, warn) for path in paths]
    (names, queries), (others, targets) = inputs[0], inputs[-1]
    job = AlignmentJob(
        queries, targets, len(inputs) == 1, options.scoring, options.definition, options.identity,
        diagonal=values is not None, paths=values != "score", prefilter=options.prefilter,
    )  # fmt: skip
    return (names, others), job


def open_gpus(device: Device, progress: Progress) -> tuple[list, bool]:
    """Return (GpuSessions of the GPUs that score pairs, whether the CPU's cores score as well)."""
    sessions = choose_place(device, list, list, lambda where: progress.say(f"aligning on {where}"))
    return sessions, device.engine == "both"


def compute(
    job: AlignmentJob,
    todo: Sequence[tuple[int, int]],
    n_threads: int = 1,
    pack: Callable[[Any], Any] = lambda result: result,
    gpus: Sequence[GpuSession] = (),
    cpu_scores_too: bool = False,
) -> Generator[Any, None, None]:
    """Yield what ``pack`` makes of the result of each chunk in ``todo`` (jobs.cut), in order.

    The GPUs ``gpus`` score pairs, and threads of the CPU trace their paths. Without a GPU, or with
    ``cpu_scores_too``, these threads score pairs too.
    """
    if not todo:
        return
    queue, cpu_scores = OrderedQueue(todo), cpu_scores_too or not gpus
    n_workers = n_threads if cpu_scores or job.paths else 0
    loops = [partial(_work, Worker(job), queue, pack, cpu_scores) for _ in range(n_workers)]
    if gpus:
        from .gpu import score_chunks

        loops += [partial(session.run, score_chunks, job, session, queue, pack) for session in gpus]
    with closing(run(queue, loops, None)) as results:
        yield from results


def _work(worker: Worker, queue: OrderedQueue, pack: Callable[[Any], Any], cpu_scores: bool) -> None:
    """Do the chunks of a queue; without ``cpu_scores``, only trace the paths of pairs that a GPU scored."""

    def do(work: Any) -> Any:
        return pack(work(worker) if callable(work) else worker.chunk(work))  # callable: what a GPU scored

    while (taken := queue.get(items=cpu_scores)) is not None:
        slot, work = taken
        queue.do(slot, do, work)
