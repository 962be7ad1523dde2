"""The commands of fmx bench that measure GPUs: gpu, gpus, index, verify and roofline."""

from types import SimpleNamespace
from typing import Any

import click

from .. import options
from ..machines import gpu
from ..machines.places import choose_place, in_words
from ..measure import gpu_timing, roofline, tables
from . import designs, gpu_index
from .options import count, counts, length, only, output, queries, runs

# designs      every layout and engine: bases, LF mappings and entries per second, fraction of the ceiling,
# energy
# blocks       every layout and engine by threads of a block
# threads      throughput by active threads (Chacon et al. 2015, figure 6; 2014, figures 4 and 7)
# sizes        throughput by length of the reference (figures 8 and 9)

EXPERIMENTS = ("designs", "blocks", "threads", "sizes")


@click.command(cls=options.Command)
@output("gpu")
@options.device
@count("--bases", default="1G", help="Length of the reference, in bases.")
@queries
@length
@only("--experiment", "experiment", EXPERIMENTS, "experiment")
@click.option(
    "--layout", "names", multiple=True, metavar="NAME",
    help="Limit the experiments designs, blocks and threads to this layout. May be repeated.",
)  # fmt: skip
@click.option(
    "--engine", "engines", multiple=True, metavar="NAME",
    help="Limit the experiments designs and blocks to this GPU engine. May be repeated.",
)  # fmt: skip
@click.option("--energy/--no-energy", default=True, show_default=True, help="Measure energy, with NVML.")
def gpu_command(**given: Any) -> None:
    """Repeat GPU experiments from papers.

    Writes the results to a folder, as tables.
    """
    designs.run(given | {"experiment": given["experiment"] or EXPERIMENTS})


# Each GPU has the same text, index and patterns in its memory; n of them share the patterns.


@options.command
@output("gpus")
@options.all_gpus
@count("--bases", default="1G", help="Length of the reference, in bases.")
@queries
@length
@click.option(
    "--layout", "names", multiple=True, default=["verify", "bvsfm-k2-d96"], show_default=True,
    metavar="NAME",
    help="Layout to search; the name verify stands for seed and verify. May be repeated.",
)  # fmt: skip
def gpus_command(given: SimpleNamespace) -> None:
    """Time the search on one GPU and on several.

    Writes a table of the bases per second on 1, 2, 4 ... GPUs, up to --gpus.
    """
    given.engine = "cuda"
    where = options.device_of(given, n_gpus=None)
    gpu_timing.open_gpu(where.first)
    choose_place(
        where, lambda sessions: gpu_index.run_several(given, sessions, in_words(sessions)), list, click.echo
    )


# The text is made on the GPU, with the repeats of a genome (measure/texts.py), and neither read nor written:
#
# build      seconds of the suffix array, the tables and each layout, after a small run that compiles
# search     patterns drawn from the text, by each layout and by seed and verify: all intervals are checked


@click.command(cls=options.Command)
@output("index")
@options.device
@counts("--symbols", default=("100M", "3G"), help="Length of the text, in bases. May be repeated.")
@click.option(
    "--layout", "layout_names", multiple=True, metavar="NAME",
    help="Layout to build. May be repeated.  [default: bvsfm-k2-d96, cofi]",
)  # fmt: skip
@count("--queries", default="10M", help="Number of patterns.")
@length
@options.gpu_memory
@runs
def index_command(**given: Any) -> None:
    """Time building an index on a GPU.

    Also searches each index for patterns of the text, and checks the results.
    """
    gpu_index.run_builds(given)


# The forms are those of fmx search (search/gpu/gpu_search.py): the index's own arrays, or wide rows and text
# in sectors, each with seeds of several lengths.


@click.command(cls=options.Command)
@output("verify")
@options.device
@count("--symbols", default="1G", help="Length of the text, in bases.")
@only("--text", "kinds", gpu_index.TEXTS, "text")
@queries
@length
@click.option(
    "--seed", "seeds", multiple=True, type=click.IntRange(4, 16), default=(15, 16), show_default=True,
    metavar="N",
    help="Seed length to time, in bases, in addition to the index's default, if longer. May be repeated.",
)  # fmt: skip
@click.option(
    "--block", "blocks", multiple=True, type=click.IntRange(32, 256), default=(32, 128), show_default=True,
    metavar="N", help="Threads per block. May be repeated.",
)  # fmt: skip
def verify_command(**given: Any) -> None:
    """Time seed and verify on a GPU."""
    gpu_index.run_seeds(given)


# The address of each fetch is computed from the result of the one before, as in backward search: the papers'
# figures 3 and 10 (Chacon et al. 2015).


@click.command(cls=options.Command)
@output("roofline")
@options.device
@count("--largest", default="64G", help="Size of the largest memory region, in bytes.")
def roofline_command(output: str, device: int, largest: int) -> None:
    """Measure random access to the memory of a GPU.

    Varies the size of an entry, the number of threads that fetch it together, and the size of the memory
    region.
    """
    name = gpu_timing.open_gpu(device)
    with gpu.errors():
        rows = roofline.table([n for e in range(-2, 7) if (n := int(roofline.GB * 2.0**e)) <= largest])
    tables.keep(output, "roofline", name, rows)
