"""fmx tune: find the fastest index and engine for this machine."""

import os
import re
from types import SimpleNamespace

import click

from ... import options
from ...options import find_index, one_index


@options.command
@click.argument("argument", metavar="[INDEX]", required=False)
@options.index_again
@click.option(
    "--bases",
    type=options.Bytes(10**13, bare=True),
    metavar="N",
    help="Instead of INDEX: size of the reference in bases, e.g. 3G.",
)
@click.option(
    "--length",
    type=options.Number(1, 2**31),
    default=100,
    show_default=True,
    help="Length of the reads, in bases.",
)
@options.max_memory_of(
    "Consider only indexes whose searches fit in SIZE of memory, e.g. 8G.  "
    "[default: half of the free memory; on a GPU all of it]"
)
@options.former("--memory-limit", "--max-memory")
@options.engine_of(
    "Compare settings for the CPU (cpu), for a GPU (cuda), or for both (auto).", default="auto"
)
@click.option(
    "--plan",
    "plan_only",
    is_flag=True,
    help="Only list the search methods that fit into memory; do not time them.",
)
@options.running
def command(given: SimpleNamespace) -> None:
    """Find the fastest index and search method for this machine.

    This command lists the search methods that fit into memory, and times them: with INDEX all methods that it
    supports, with --bases the first four of the list, on a random reference. It prints the commands to use,
    and stores the result for later runs.

    Examples:
    fmx tune ref.fmx
    fmx tune --bases 3G --max-memory 8G
    """
    index_path = one_index(given)
    if (
        index_path
        and re.fullmatch(r"[0-9.]+[KMGT]?B?", index_path.upper())
        and not os.path.lexists(index_path)
    ):
        raise click.UsageError(
            f"no index {index_path}; for a reference of this size, use --bases {index_path}"
        )
    if bool(index_path) == bool(given.bases):
        raise click.UsageError("give either INDEX or --bases, the size of a reference")
    if given.bases and given.bases < given.length:
        units = f"; did you mean {given.bases}M or {given.bases}G?" if given.bases < 1000 else ""
        raise click.UsageError(
            f"--bases {given.bases} is shorter than the reads (--length {given.length}){units}"
        )
    from ...compiler import object_cache
    from ...machines.progress import Progress
    from ...tuning import trials

    progress = Progress(given.quiet)
    object_cache.on_first_compile(progress)
    question = trials.Question(
        find_index(index_path) if index_path else None,
        given.bases or 0, given.length, given.max_memory, given.engine, given.threads,
    )  # fmt: skip
    click.echo(trials.text(trials.tune(question, progress, given.plan_only)))
