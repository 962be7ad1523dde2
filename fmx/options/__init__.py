"""Options that several commands share, what they ask for, and what other programs call them."""

import functools
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from types import SimpleNamespace
from typing import Any

import click

from .. import limits
from ..machines.places import ALL_GPUS, Device, wake
from ..machines.threads import available_cores
from ..search.engines import CUDA
from .values import Bytes, GpuCount, GpuNumber, Number, ShardOf

ELSEWHERE: dict[str, tuple[str, ...]] = {  # a command names the first whose option it has
    **dict.fromkeys(("-p", "-j", "-@", "--cores", "--cpus", "--jobs", "--nthreads"), ("--threads",)),
    "--num-threads": ("--threads",),
    "-v": ("--mismatches", "--version"),
    "-S": ("--format sam",),
    "--sam": ("--format sam",),
    "-b": ("--format bam",),
    "--bam": ("--format bam",),
    "-I": ("--min-insert",),
    "--minins": ("--min-insert",),
    "-X": ("--max-insert",),
    "--maxins": ("--max-insert",),
    "--norc": ("--forward-only",),
    "--nofw": ("--reverse-only",),
    "--no-unal": ("--no-unmapped",),
    "-5": ("--trim5",),
    "-3": ("--trim3",),
    "-s": ("--skip",),
    "-u": ("--first",),
    "--qupto": ("--first",),
    "-R": ("--rg",),
    "--rg-id": ("--rg",),
    "--sam-RG": ("--rg",),
    "--sample-label": ("--names",),
}

_TOLD_APART = "FASTA and FASTQ are told apart by their first byte"
NEEDLESS: dict[str, dict[str, str]] = {  # of a command: why it does without
    "search": {
        "-S": "SAM is what it writes",
        "--sam": "SAM is what it writes",
        "-f": _TOLD_APART,
        "-U": "reads are named without an option",
        "-y": "every occurrence is found in any case",
        "--best": "hits with the fewest mismatches come first in any case",
        "--reorder": "records are in the order of the reads in any case",
        "--mm": "processes share the memory of an index in any case",
        "--phred33-quals": "qualities are written as they are read",
        "--phred64-quals": "qualities are written as they are read",
    },
    "mem": {"-n": "only A, C, G and T match in any case", "-f": _TOLD_APART},
    "index": {"-f": "a reference is FASTA in any case"},
}


class Command(click.Command):
    """A command that never takes the last of several values in silence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments into the context.  Raises UsageError."""
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise no_such_option(self, ctx, error, given) from error
        if not ctx.resilient_parsing:
            self.refuse_repeats(ctx, given)
        return rest

    def refuse_repeats(self, ctx: click.Context, args: list[str]) -> None:
        """Raise UsageError for an option that is given more than once; a flag may be, which loses nothing."""
        seen: set[str | None] = set()
        for param in self.make_parser(ctx).parse_args(list(args))[2]:
            if not isinstance(param, click.Option) or param.multiple or param.count:
                continue
            if param.is_flag and not param.secondary_opts:
                continue
            if param.name in seen:
                raise click.UsageError(
                    f"{param.get_error_hint(ctx)} is given more than once: give it once", ctx
                )
            seen.add(param.name)


def no_such_option(
    command: click.Command, ctx: click.Context, error: click.NoSuchOption, args: list[str]
) -> click.UsageError:
    """What to raise where a command has not the option that it is given."""
    own = {name: param.type for param in command.params for name in param.opts if name[:1] == "-"}
    spelling = error.option_name
    what = f"no option {spelling} in '{ctx.command_path}'"
    if why := NEEDLESS.get(ctx.command_path.removeprefix("fmx "), {}).get(spelling):
        return click.UsageError(f"{what}: leave it out, {why}", ctx)
    for here in ELSEWHERE.get(spelling, ()):
        name, _, value = here.partition(" ")
        if name in own and (not value or value in getattr(own[name], "choices", ())):
            return click.UsageError(f"{what}: say {here}", ctx)
    with_one_dash = [f"-{word}" for word in args if word[:2] == spelling and f"-{word}" in own]
    if meant := with_one_dash or get_close_matches(spelling, own, 1, 0.7):
        return click.UsageError(f"{what}: did you mean {meant[0]}?", ctx)
    return click.UsageError(f"{what}; see '{ctx.command_path} --help'", ctx)


_WITHOUT = {"engine": "cpu", "device": None, "gpus": None, "gpu_memory": None, "reference": None}


def command(function: Callable[[SimpleNamespace], Any]) -> click.Command:
    """A click command whose function takes all that was given as one object: ``given.threads`` and so on.

    Of what machines do the work, and of a reference, it has what holds where the command has no such option.
    """

    @functools.wraps(function)
    def take(**given: Any) -> Any:
        is_here = not (given.get("scheduler") or given.get("scheduler_file"))
        given = _WITHOUT | given
        if is_here and given["engine"] not in ("cpu", "auto"):  # which may want none
            wake(given["device"] or 0)
        return function(SimpleNamespace(**given))

    return click.command(cls=Command)(take)


def together(*options: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that adds several options, in this order."""
    return lambda function: functools.reduce(lambda made, add: add(made), reversed(options), function)


def former(name: str, now: str) -> Callable[..., Any]:
    """An option of former versions, refused with what to say now."""

    def refuse(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            raise click.UsageError(f"there is no {name} any more; say {now}")

    return click.option(name, is_flag=True, hidden=True, is_eager=True, expose_value=False, callback=refuse)


def by_name(usual: str) -> str:
    """What help says of --format, whose default the suffix of -o is."""
    return f"by the name of the output, else {usual}"


def no_empty_name(_: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty name in a list with commas."""
    if value is not None and not all(value.split(",")):
        raise click.BadParameter("a name between commas is empty", param=param)
    return value


COUNT = Number(*limits.COUNT)
_WHERE = "Where to compute: cpu, cuda (a GPU), or auto (a GPU if one can be used, and is of use)."

threads = click.option(
    "-t", "--threads", type=Number(*limits.THREADS), default=available_cores, show_default="all cores",
    help="Threads to use.",
)  # fmt: skip
quiet = click.option("-q", "--quiet", is_flag=True, help="Print only errors on standard error.")
index = click.option(
    "-x", "--index", "index_path", type=click.Path(),
    help="The index.  [default: $FMX_INDEX, else the only .fmx folder here]",
)  # fmt: skip
indexes = click.option(
    "-x", "--index", "index_paths", type=click.Path(), multiple=True,
    help="The index, or several, each with its -x, as one.  [default: $FMX_INDEX, else the only .fmx folder "
    "here]",
)  # fmt: skip
index_again = click.option(
    "-x", "--index", "index_path", type=click.Path(), help="The index: the same as INDEX."
)
layout = click.option(
    "--layout", metavar="NAME", callback=no_empty_name,
    help="Search backward over this layout of the index, or by its sparse one; auto takes the fastest.",
)  # fmt: skip
max_memory = click.option(
    "--max-memory", type=Bytes(), metavar="SIZE",
    help="Pick the fastest search that fits in SIZE of memory, as in 500M or 8G.",
)  # fmt: skip
method = click.option(
    "--method", type=click.Choice(limits.METHODS), default="auto", show_default=True,
    help="How to search: by the sparse suffix array, seed and verify, or backward search; auto takes the "
    "first of these that the index can.",
)  # fmt: skip


def engine_of(
    help_text: str, names: Sequence[str] = limits.PROCESSORS, default: str = "cpu"
) -> Callable[..., Any]:
    """--engine: one of ``names``."""
    return click.option(
        "--engine",
        type=click.Choice(names),
        metavar="NAME",
        default=default,
        show_default=True,
        help=help_text,
    )


engine = engine_of(f"{_WHERE} Or a GPU engine by name (docs/engines.md).", (*limits.PROCESSORS, *CUDA))
processor = engine_of(_WHERE)
processors = engine_of(
    "Where to compute scores: cpu, cuda (GPUs), both, or auto (GPUs if any can be used).",
    limits.PAIRWISE_PROCESSORS,
)
_number = functools.partial(click.option, "--device", type=GpuNumber(0, 999))
device = _number(default=0, show_default=True, help="Which GPU, counted from 0.")
_first = _number(show_default="0", help="Which GPU, counted from 0: the first of --gpus.")
_gpus = functools.partial(
    click.option, "--gpus", type=GpuCount(1, 999), metavar="N|all", help="How many GPUs share the work."
)
gpus = together(_first, _gpus(show_default="1"))
all_gpus = together(_first, _gpus(show_default="all; with --device, 1"))
gpu_memory = click.option(
    "--gpu-memory", type=Bytes(), metavar="SIZE", show_default="all that is free",
    help="Use at most SIZE of a GPU's memory, as in 500M or 8G.",
)  # fmt: skip
output = click.option(
    "-o", "--output", type=click.Path(), default="-", show_default="standard output", help="File to write."
)
strands = together(
    click.option("--forward-only", is_flag=True, help="Look only for sequences as given."),
    click.option("--reverse-only", is_flag=True, help="Look only for their reverse complements."),
)
mismatches = click.option(
    "--mismatches", type=Number(*limits.MISMATCHES), default=0, show_default=True,
    help="Allow up to N letters of a sequence to differ from the reference.",
)  # fmt: skip
verify = click.option(
    "--verify", is_flag=True,
    help="Check the index's files also if they have not changed since they were checked.",
)  # fmt: skip
shard = click.option(
    "--shard", type=ShardOf(), metavar="I/N",
    help="Do only the I-th of N shards, into the folder -o, for 'fmx merge'; auto: by the array job.",
)  # fmt: skip
sharing = together(
    shard,
    click.option(
        "--scheduler", metavar="ADDRESS", help="Share the work on a Dask cluster, by its scheduler."
    ),
    click.option(
        "--scheduler-file", type=click.Path(), metavar="FILE", help="The same, by Dask's scheduler file."
    ),
)
running = together(threads, quiet)
searching = together(layout, method, max_memory, verify, engine, gpus, gpu_memory, running)


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
