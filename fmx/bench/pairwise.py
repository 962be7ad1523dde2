"""fmx bench pairwise: scores, kernels and the filter job, each compared with peers and ceilings, in one run.

This file has the parts on the CPU, with parasail and vsearch; pairwise_gpu.py has the parts on a GPU.
"""

import importlib.util
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import options
from ..align.jobs import AlignmentJob, cut
from ..align.pipeline import compute
from ..align.sequences import Scoring, Sequences
from ..measure import tables, timing
from . import files
from .files import LENGTH, random_sequences, work_folder, write_plain
from .options import only, output, pair_row, runs

N_SEQUENCES, N_OF_PARASAIL, N_GENES = 120, 20, 200


def scores(threads: int, n_runs: int) -> list:
    """Time scores of all pairs of random sequences of 1,536 bases: fmx with bytes or int32, parasail."""
    sequences, n_pairs, rows = random_sequences(N_SEQUENCES, LENGTH), N_SEQUENCES * (N_SEQUENCES - 1) // 2, []
    for n_threads in sorted({1, threads}):
        for name, scoring in (("bytes", Scoring()), ("int32", Scoring(400, -500, -1001))):
            job = AlignmentJob(sequences, sequences, half=True, scoring=scoring, paths=False)
            seconds = _seconds(lambda: list(compute(job, cut(job), n_threads)), n_runs)  # noqa: B023
            rows.append(pair_row("scores", f"fmx {name}", seconds, n_pairs, LENGTH, threads=n_threads))
        if importlib.util.find_spec("parasail"):
            rows.append(_parasail(sequences, n_threads, n_runs))
    return rows


def _seconds(work: Callable[[], Any], n_runs: int) -> float:
    """Return the seconds of the fastest run, after one that compiles."""
    work()
    return timing.best(work, n_runs)


def _parasail(sequences: Sequences, threads: int, n_runs: int) -> dict:
    """Return a row of nw_scan_16 with all pairs of the first sequences."""
    parasail = importlib.import_module("parasail")
    letters = np.frombuffer(b"ACGT", np.uint8)[sequences.codes].tobytes().decode()
    strings = [letters[i * LENGTH : (i + 1) * LENGTH] for i in range(N_OF_PARASAIL)]
    matrix = parasail.matrix_create("ACGT", 4, -5)
    pairs = [(a, b) for i, a in enumerate(strings) for b in strings[:i]]

    def run() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda pair: parasail.nw_scan_16(*pair, 10, 10, matrix).score, pairs))

    seconds = _seconds(run, n_runs)
    return pair_row("scores", "parasail nw_scan_16", seconds, len(pairs), LENGTH, threads=threads)


def first_genes(genes: str | Path, path: Path) -> Path:
    """Write the first records of a FASTA file (plain or compressed); return the path."""
    write_plain([genes], path)
    path.write_bytes(b"\n>".join(path.read_bytes().split(b"\n>")[:N_GENES]) + b"\n")
    return path


def filter_job(genes: str | Path, threads: int, n_runs: int) -> list:
    """Time whole commands: pairs of the first genes at 97 % with paths; fmx in three ways, and vsearch."""
    with work_folder() as folder:
        fasta = first_genes(genes, folder / "genes.fa")
        base = ["pairwise", fasta, "-t", threads, "-o", folder / "out.tsv", "-q", "--cigar"]
        commands = {
            "fmx --id 0.97": timing.fmx_command(*base, "--id", 0.97),
            "fmx --id 0.97 --no-prefilter": timing.fmx_command(*base, "--id", 0.97, "--no-prefilter"),
            "fmx, all paths": timing.fmx_command(*base),
        }
        if shutil.which("vsearch"):
            commands["vsearch --id 0.97"] = [
                "vsearch", "--allpairs_global", fasta, "--id", "0.97", "--threads", threads, "--quiet",
                "--userout", folder / "v.tsv", "--userfields", "query+target+id+caln",
            ]  # fmt: skip
        found = timing.in_turn({name: partial(timing.run, words) for name, words in commands.items()}, n_runs)
    n_pairs = N_GENES * (N_GENES - 1) // 2
    return [
        pair_row("filter", name, min(run.wall for run in runs), n_pairs, threads=threads)
        for name, runs in found.items()
    ]


# The command.

ON_GPU = ("peak", "slices", "kernels", "batches", "copies")
PARTS = ("scores", "filter", *ON_GPU, "table5", "gpus")


@click.command(cls=options.Command)
@click.argument("genes", required=False, type=click.Path(exists=True))
@click.option("--gpu", is_flag=True, help="Also time the kernels on a GPU.")
@options.gpus
@only("--part", "parts", PARTS, "part")
@output("pairwise")
@runs
@options.threads
def pairwise_command(genes: str | None, gpu: bool, **given: Any) -> None:
    """Time aligning pairs of sequences.

    With GENES, a FASTA file, also times finding the pairs of 97 % identity among its first 200 sequences.
    parasail and vsearch are timed if they are installed. Prints the time of the fastest run. With --gpu, also
    aligns all pairs of GENES on 1, 2, 4 ... GPUs, up to --gpus.
    """
    n_runs, threads, first = given["n_runs"], given["threads"], given["device"] or 0
    parts, rows, machine = given["parts"] or PARTS, [], timing.machine()
    if gpu:
        from ..measure.gpu_timing import open_gpu

        machine = f"{open_gpu(first)}; {machine}"
    if "scores" in parts:
        rows += scores(threads, n_runs)
    if genes and "filter" in parts:
        rows += filter_job(genes, threads, n_runs)
    if gpu:
        from . import pairwise_gpu

        for part, measure in pairwise_gpu.PARTS.items():
            if part in parts:
                rows += measure()
        if genes and "table5" in parts:
            with files.work_folder() as folder:
                rows += pairwise_gpu.table_5(first_genes(genes, folder / "genes.fa"), first)
        if genes and "gpus" in parts:
            rows += pairwise_gpu.gpus(genes, first, given["gpus"], threads, n_runs)
    tables.keep(given["output"], "pairwise", machine, rows)
