"""fmx bench pairwise: scores, kernels and the filter job, each against its peers and ceilings, in one run."""

import importlib.util
import json
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from .. import options

PARTS = ("scores", "filter", "peak", "slices", "kernels", "batches", "copies", "table5")
LENGTH = 1536  # mean length of the paper's 16S genes


@click.command()
@click.argument("genes", required=False, type=click.Path(exists=True))
@click.option("--gpu", is_flag=True, help="Also the kernels, on the first CUDA device.")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part; repeatable.")
@click.option("--json", "json_path", type=click.Path(), help="Keep all numbers in this file.")
@click.option(
    "--runs", type=click.IntRange(1), default=3, show_default=True, help="Runs of each; the fastest counts."
)
@options.threads
def command(genes, gpu, parts, json_path, runs, threads):
    """Time aligning pairs of sequences.

    With GENES (a FASTA file) also all pairs of its first 200 sequences at 97 % identity. parasail and vsearch
    are timed in the same run if they are installed. Times are the fastest of
    the runs.
    """
    parts = parts or PARTS
    rows = []
    if "scores" in parts:
        rows += scores(threads, runs)
    if genes and "filter" in parts:
        rows += filter_job(genes, threads, runs)
    if gpu:
        from ..machines.gpu import open_device
        from .kit import pairwise_gpu as device

        open_device()
        for part in ("peak", "slices", "kernels", "batches", "copies"):
            if part in parts:
                rows += getattr(device, part)()
        if genes and "table5" in parts:
            rows += _gpu_filter(genes)
    for item in rows:
        click.echo(_line(item))
    if json_path:
        Path(json_path).write_text(json.dumps(rows, indent=1))


def _line(item) -> str:
    return "  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in item.items())


def _seconds(function, runs):
    function()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)  # other work on the machine only adds


def scores(threads, runs, n=120):
    """Score-only, all pairs of n random sequences of 1,536 bases: fmx by bytes and by int32, parasail."""
    import numpy as np

    from ..align.jobs import Job, cut
    from ..align.journey import compute
    from ..align.scoring import Scoring
    from ..align.sequences import Sequences

    codes = np.random.default_rng(1).integers(0, 4, n * LENGTH).astype(np.uint8)
    sequences = Sequences(codes, np.arange(n + 1, dtype=np.int64) * LENGTH)
    n_pairs = n * (n - 1) // 2
    cells = n_pairs * LENGTH * LENGTH
    rows = []
    for n_threads in sorted({1, threads}):
        for name, scoring in (("bytes", Scoring()), ("int32", Scoring(400, -500, -1001))):
            job = Job(sequences, sequences, half=True, scoring=scoring, paths=False)
            todo = list(enumerate(cut(job)))
            seconds = _seconds(
                lambda job=job, todo=todo, t=n_threads: list(compute(job, todo, n_threads=t)), runs
            )
            rows.append(_row("scores", f"fmx {name}", n_threads, seconds, n_pairs, cells))
        seconds = _parasail(codes, n, n_threads, runs)
        if seconds:
            share = 20 * 19 / 2 / n_pairs
            rows.append(_row("scores", "parasail nw_scan_16", n_threads, seconds, 190, cells * share))
    return rows


def _row(part, name, threads, seconds, pairs, cells=None):
    found = {
        "part": part,
        "name": name,
        "threads": threads,
        "seconds": seconds,
        "pairs_per_s": pairs / seconds,
    }
    return {**found, "gcells_per_s": cells / seconds / 1e9} if cells else found


def _parasail(codes, n, threads, runs):
    """Seconds of nw_scan_16 on all pairs of the first 20 sequences, or None."""
    if importlib.util.find_spec("parasail") is None:
        return None
    parasail = importlib.import_module("parasail")

    letters = "ACGT"
    strings = ["".join(letters[c] for c in codes[i * LENGTH : (i + 1) * LENGTH]) for i in range(20)]
    matrix = parasail.matrix_create(letters, 4, -5)
    pairs = [(a, b) for i, a in enumerate(strings) for b in strings[:i]]

    def run():
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda pair: parasail.nw_scan_16(*pair, 10, 10, matrix).score, pairs))

    return _seconds(run, runs)


def first_genes(genes, n, path):
    """Write the first n records of a FASTA file (plain or gzip)."""
    import numpy as np

    from ..input.streams import Source

    buffer, data = np.empty(1 << 20, np.uint8), b""
    with Source(genes) as source:
        while data.count(b"\n>") < n and (size := source.readinto(buffer)):
            data += buffer[:size].tobytes()
    path.write_bytes(b"\n>".join(data.split(b"\n>")[:n]) + b"\n")


def filter_job(genes, threads, runs, n=200):
    """Whole commands: pairs of the first 200 genes at 97 % with paths; fmx's three ways, and vsearch."""
    from ..measure import timing

    with tempfile.TemporaryDirectory() as folder:
        fasta = Path(folder) / "genes.fa"
        first_genes(genes, n, fasta)
        base = ["pairwise", fasta, "-t", threads, "-o", Path(folder) / "out.tsv", "-q"]
        kept = ["--id", 0.97, "--cigar"]
        commands = {
            "fmx --id 0.97": timing.fmx_command(*base, *kept),
            "fmx --id 0.97 --no-prefilter": timing.fmx_command(
                *base, "--id", 0.97, "--cigar", "--no-prefilter"
            ),
            "fmx, all paths": timing.fmx_command(*base, "--cigar"),
        }
        if shutil.which("vsearch"):
            commands["vsearch --id 0.97"] = [
                "vsearch", "--allpairs_global", str(fasta), "--id", "0.97", "--threads", str(threads),
                "--quiet", "--userout", str(Path(folder) / "v.tsv"), "--userfields", "query+target+id+caln",
            ]  # fmt: skip
        runs_of = timing.in_turn(commands, runs)
    pairs = n * (n - 1) // 2
    return [
        _row("filter", name, threads, min(item.wall for item in found), pairs)
        for name, found in runs_of.items()
    ]


def _gpu_filter(genes, n=200):
    """Table 5: the filter job with scores from one kernel or another, paths on one CPU thread."""
    from .kit.pairwise_filter import table_5

    with tempfile.TemporaryDirectory() as folder:
        fasta = Path(folder) / "genes.fa"
        first_genes(genes, n, fasta)
        return table_5(fasta)


if __name__ == "__main__":
    sys.exit(command())
