"""fmx bench pairwise: scores, kernels and the filter job, each against its peers and ceilings, in one run."""

import click

from .. import options
from .kit.options import only, output, runs

ON_GPU = ("peak", "slices", "kernels", "batches", "copies")
PARTS = ("scores", "filter", *ON_GPU, "table5", "gpus")


@click.command(cls=options.Command)
@click.argument("genes", required=False, type=click.Path(exists=True))
@click.option("--gpu", is_flag=True, help="Also the kernels, on a GPU.")
@options.gpus
@only("--part", "parts", PARTS, "part")
@output("pairwise")
@runs
@options.threads
def command(genes, gpu, **given):
    """Time aligning pairs of sequences.

    With GENES (a FASTA file) also all pairs of its first 200 sequences at 97 % identity. parasail and vsearch
    are timed in the same run if they are installed. Times are the fastest of the runs. With --gpu also all
    pairs of GENES on 1, 2, 4 ... GPUs, up to --gpus.
    """
    from ..measure import timing
    from .kit import figures, files, pairs

    n_runs, threads, first = given["n_runs"], given["threads"], given["device"] or 0
    parts, rows, machine = given["parts"] or PARTS, [], timing.machine()
    if gpu:
        from ..measure.gpu_timing import open_gpu

        machine = f"{open_gpu(first)}; {machine}"
    if "scores" in parts:
        rows += pairs.scores(threads, n_runs)
    if genes and "filter" in parts:
        rows += pairs.filter_job(genes, threads, n_runs)
    if gpu:
        from .kit import pairwise_gpu

        for part in ON_GPU:
            if part in parts:
                rows += getattr(pairwise_gpu, part)()
        if genes and "table5" in parts:
            with files.work_folder() as folder:
                rows += pairwise_gpu.table_5(pairs.first_genes(genes, folder / "genes.fa"), first)
        if genes and "gpus" in parts:
            rows += pairwise_gpu.gpus(genes, first, given["gpus"], threads, n_runs)
    figures.keep(given["output"], "pairwise", machine, rows)
