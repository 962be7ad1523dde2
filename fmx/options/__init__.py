"""Options that several commands share, and what they ask for."""

import functools
from collections.abc import Sequence
from types import SimpleNamespace

import click

from .. import limits
from ..machines.places import ALL_GPUS, Device
from ..machines.threads import available_cores
from ..search.engines import CUDA
from .command import Command, Decorator, command, former, group, rare, together  # noqa: F401
from .values import Bytes, GpuCount, GpuNumber, Number, ShardOf


def by_name(usual: str) -> str:
    """The default of --format in help texts."""
    return f"by the suffix of -o, else {usual}"


def no_empty_name(_: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty name in a list with commas."""
    if value is not None and not all(value.split(",")):
        raise click.BadParameter("a name between commas is empty", param=param)
    return value


COUNT = Number(*limits.COUNT)
INDEX, CLUSTER, GPU = "Index and memory", "Cluster", "GPU"  # headings of --help
_WHERE = "Run on the CPU (cpu), on a GPU (cuda), or on whichever is faster (auto)."
_USUAL_INDEX = "[default: $FMX_INDEX, else the only .fmx folder here]"

threads = click.option(
    "-t", "--threads", type=Number(*limits.THREADS), default=available_cores, show_default="all cores",
    help="Number of threads.",
)  # fmt: skip
quiet = click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
index = click.option(
    "-x", "--index", "index_path", type=click.Path(), help=f"Index to search.  {_USUAL_INDEX}"
)
indexes = group(
    INDEX,
    click.option(
        "-x", "--index", "index_paths", type=click.Path(), multiple=True,
        help=f"Index to search; repeat to search several together.  {_USUAL_INDEX}",
    ),
)  # fmt: skip
index_again = click.option("-x", "--index", "index_path", type=click.Path(), help="Same as INDEX.")
layout = click.option(
    "--layout", metavar="NAME", callback=no_empty_name,
    help="Search the index by this layout only; auto chooses the fastest.",
)  # fmt: skip
max_memory = click.option(
    "--max-memory", type=Bytes(), metavar="SIZE",
    help="Choose the fastest method that fits in SIZE of memory, e.g. 8G.",
)  # fmt: skip
method = click.option(
    "--method", type=click.Choice(limits.METHODS), metavar="NAME", default="auto", show_default=True,
    help="Search method: verify (seed and verify), backward (backward search), sparse (sparse index), or "
    "auto, the fastest that the index supports.",
)  # fmt: skip


def engine_of(help_text: str, names: Sequence[str] = limits.PROCESSORS, default: str = "cpu") -> Decorator:
    """--engine: one of ``names``."""
    return click.option(
        "--engine",
        type=click.Choice(names),
        metavar="NAME",
        default=default,
        show_default=True,
        help=help_text,
    )


engine = engine_of(f"{_WHERE} GPU engines can also be named (docs/engines.md).", (*limits.PROCESSORS, *CUDA))
processor = engine_of(_WHERE)
processors = engine_of(
    "Compute scores on the CPU (cpu), on GPUs (cuda), on both, or on GPUs if there are any (auto).",
    limits.PAIRWISE_PROCESSORS,
)
_number = functools.partial(click.option, "--device", type=GpuNumber(0, 999))
device = _number(default=0, show_default=True, help="GPU to use, counted from 0.")
_first = _number(show_default="0", help="First GPU to use, counted from 0.")
_gpus = functools.partial(
    click.option, "--gpus", type=GpuCount(1, 999), metavar="N|all", help="Number of GPUs to use."
)
gpus = together(rare(_first), _gpus(show_default="1"))
all_gpus = together(rare(_first), _gpus(show_default="all; with --device, 1"))
gpu_memory = rare(
    click.option(
        "--gpu-memory", type=Bytes(), metavar="SIZE", show_default="all that is free",
        help="Use at most SIZE of a GPU's memory, e.g. 8G.",
    )
)  # fmt: skip
output = click.option(
    "-o", "--output", type=click.Path(), default="-", show_default="standard output",
    help="Output file; its suffix sets the format.",
)  # fmt: skip
strands = together(
    click.option("--forward-only", is_flag=True, help="Do not search for reverse complements."),
    click.option("--reverse-only", is_flag=True, help="Search only for reverse complements."),
)
mismatches = click.option(
    "--mismatches", type=Number(*limits.MISMATCHES), default=0, show_default=True,
    help="Allow up to N mismatches in a hit.",
)  # fmt: skip
verify = rare(
    click.option(
        "--verify", is_flag=True,
        help="Check the index files even if they are unchanged since the last check.",
    )
)  # fmt: skip
shard = click.option(
    "--shard", type=ShardOf(), metavar="I/N",
    help="Run only shard I of N, into the folder -o; join all with 'fmx merge'. With auto, I and N come from "
    "the array job.",
)  # fmt: skip
sharing = group(
    CLUSTER,
    shard,
    click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler."),
    rare(
        click.option(
            "--scheduler-file", type=click.Path(), metavar="FILE",
            help="Run on the Dask cluster of this scheduler file.",
        )
    ),
)  # fmt: skip
running = together(threads, quiet)
searching = together(
    group(INDEX, rare(layout, method), max_memory, verify), group(GPU, engine, gpus, gpu_memory), running
)


def device_of(given: SimpleNamespace, n_gpus: int | None = 1) -> Device:
    """Where to compute, by --engine, --device, --gpus and --gpu-memory.

    ``n_gpus``: how many (None: all) where neither --device nor --gpus is given.  Raises UsageError for --gpus
    with the CPU alone.
    """
    asked, first = given.gpus, given.device
    if asked and given.engine == "cpu":
        raise click.UsageError("--gpus shares the work of GPUs: give --engine cuda or auto with it")
    n_gpus = None if asked == ALL_GPUS else asked or (n_gpus if first is None else 1)
    return Device(given.engine, first or 0, given.gpu_memory, n_gpus)


def strands_of(given: SimpleNamespace) -> int:
    """Which strands are searched.  Raises UsageError if none is left."""
    if given.forward_only and given.reverse_only:
        raise click.UsageError("give only one of --forward-only and --reverse-only")
    from ..input.reads import FORWARD, REVERSE

    return FORWARD if given.forward_only else REVERSE if given.reverse_only else FORWARD | REVERSE
