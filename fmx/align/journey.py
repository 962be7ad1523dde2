"""From the command's options to its output: one page."""

import hashlib
import time
from contextlib import ExitStack

import numpy as np

from ..compiler.functions import on_first_compile
from ..input.streams import whole_output
from ..machines.progress import Progress
from ..machines.threads import available_cores
from .checkpoint import Checkpoint
from .dispatch import Board, cpu_loop, run
from .jobs import Job, Shared, Worker, cut
from .output import Matrix, Rows, header
from .scoring import Scoring
from .sequences import read_sequences


def pairwise(form, options):
    """Run ``fmx pairwise``; ``form`` is tsv, paf, npz or phylip."""
    progress = Progress(options["quiet"])
    on_first_compile(progress.say)
    names, queries = read_sequences(options["seqs"])
    other_names, targets = read_sequences(options["other"]) if options["other"] else (names, queries)
    matrix_of = options["matrix"]
    job = Job(
        queries,
        targets,
        half=not options["other"],
        scoring=Scoring(options["match"], options["mismatch"], options["gap"]),
        definition=int(options["iddef"]),
        identity=options["identity"],
        diagonal=matrix_of is not None,
        paths=matrix_of != "score",
        prefilter=not options["no_prefilter"],
    )
    with ExitStack() as stack:
        chunks = cut(job)
        kept = _checkpoint(job, chunks, form, options, (names, other_names), stack)
        file = stack.enter_context(whole_output(options["output"]))
        results = _resumed(job, chunks, form, options, (names, other_names), kept, stack)
        rate = _Rate(job, chunks, progress)
        if matrix_of:
            matrix = Matrix(job, matrix_of == "score")
            for number, data in results:
                matrix.put(chunks[number], np.frombuffer(data, matrix.dtype))
                rate.step(number)
            matrix.write(file, form, names, other_names)
        else:
            if form == "tsv":
                file.write(header(options["cigar"]))
            for number, data in results:
                file.write(data)
                rate.step(number)
        rate.end()


def _checkpoint(job, chunks, form, options, names, stack):
    """The job's checkpoint, or None; removed once the output is whole, kept after any error."""
    if not options["checkpoint"]:
        return None
    shape = f"{job.digest()} {form} {options['matrix']} {options['cigar']} {_digest(chunks)} {_digest(names)}"
    kept = Checkpoint(options["checkpoint"], shape)
    stack.push(lambda kind, *_: kept.close(finished=kind is None))
    return kept


def _resumed(job, chunks, form, options, names, kept, stack):
    """(number, bytes) of every chunk in order: from the checkpoint if it is there, else computed."""
    if form in ("npz", "phylip"):
        pack = _pack_values
    else:
        pack = Rows(job, *names, form, options["cigar"])
    done = kept.done if kept else {}
    todo = [(number, chunk) for number, chunk in enumerate(chunks) if number not in done]
    computed = compute(job, todo, options["device"], options["threads"], pack)
    stack.callback(computed.close)
    for number in range(len(chunks)):
        if number in done:
            yield number, kept.load(number)
            continue
        _, data = next(computed)
        if kept:
            kept.add(number, data)
        yield number, data


def _digest(what) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _pack_values(result) -> bytes:
    return (result if isinstance(result, np.ndarray) else result.identity).tobytes()


def compute(job, todo, device="cpu", threads=None, pack=lambda result: result):
    """(number, packed result) of the chunks ``todo`` [(number, (first, last))], in order."""
    if not todo:
        return
    shared, board = Shared(job), Board(todo)
    threads = threads or available_cores()
    loops = []
    if device != "cpu":
        from .cuda.worker import cuda_loops

        loops = cuda_loops(board, job, shared, pack)
    chunks = device != "cuda"
    for _ in range(threads if chunks or job.paths else 0):
        loops.append(lambda: cpu_loop(board, Worker(job, shared), pack, chunks))
    yield from run(board, loops)


class _Rate:
    """Pairs per second and time left."""

    def __init__(self, job, chunks, progress):
        self._sizes, self._progress = [job.n_pairs(*chunk) for chunk in chunks], progress
        self._total, self._done, self._start = sum(self._sizes), 0, time.monotonic()

    def step(self, number):
        self._done += self._sizes[number]
        rate = self._done / max(time.monotonic() - self._start, 1e-9)
        left = int((self._total - self._done) / rate) if rate else 0
        self._progress.show(
            f"{self._done:,} of {self._total:,} pairs, {rate:,.0f} pairs/s, {left // 60}:{left % 60:02d} left"
        )

    def end(self):
        seconds = time.monotonic() - self._start
        self._progress.say(f"{self._total:,} pairs in {seconds:.1f} s")
