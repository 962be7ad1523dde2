"""fmx tune: which index and engine are fastest on this machine."""

from types import SimpleNamespace

import click

from ... import options
from ...options.values import find_index, one_index


@options.command
@click.argument("argument", metavar="[INDEX]", required=False)
@options.index_again
@click.option(
    "--bases", type=options.Bytes(10**13, bare=True), metavar="N",
    help="Instead of INDEX: for a reference of N bases, as in 3G.",
)  # fmt: skip
@click.option(
    "--length", type=options.Number(1, 2**31), default=100, show_default=True, help="Bases of a read."
)
@click.option(
    "--max-memory", type=options.Bytes(), metavar="SIZE",
    help="Use at most SIZE of memory, as in 500M or 8G.  [default: half of what is free; of a GPU, all]",
)  # fmt: skip
@options.former("--memory-limit", "--max-memory")
@options.engine_of("Where to search: cpu, cuda (a GPU), or auto (wherever it is fastest).", default="auto")
@click.option("--plan", "plan_only", is_flag=True, help="Only predict; try nothing.")
@options.running
def command(given: SimpleNamespace) -> None:
    """Find the fastest index and search for this machine.

    Measures this machine, predicts the speed of every layout, and tries the best three on INDEX or on a
    made-up reference. Prints the commands to use, and keeps the answer.
    """
    index_path = one_index(given)
    if bool(index_path) == bool(given.bases):
        raise click.UsageError("give either an index or the size of a reference, --bases")
    from ... import workflow
    from ...machines.progress import Progress
    from ...tuning import journey

    progress = Progress(given.quiet)
    workflow.tell_compiling(progress)
    question = journey.Question(
        find_index(index_path) if index_path else None,
        given.bases or 0, given.length, given.max_memory, given.engine, given.threads,
    )  # fmt: skip
    click.echo(journey.text(journey.tune(question, progress, given.plan_only)))
