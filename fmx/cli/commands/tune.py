"""fmx tune: which index and engine are fastest on this machine."""

from pathlib import Path

import click

from ... import options


@click.command()
@click.argument("index_path", metavar="[INDEX]", required=False)
@click.option(
    "--bases",
    type=options.Bytes(10**13),
    metavar="N",
    help="Instead of INDEX: for a reference of N bases, as in 3G.",
)
@click.option(
    "--length", type=click.IntRange(1, 2**31), default=100, show_default=True, help="Bases of a read."
)
@click.option(
    "--memory-limit", type=options.Bytes(), metavar="SIZE",
    help="Bytes of an index that a search may read.  [default: half of what is free; of a GPU, all]",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True,
    help="Where to search; auto: wherever it is fastest.",
)  # fmt: skip
@click.option(
    "--plan", "plan_only", is_flag=True, help="Only predict from the rates of this machine: try nothing."
)
@options.threads
@options.quiet
def command(index_path, bases, length, memory_limit, engine, plan_only, threads, quiet):
    """Measure this machine, and say how to index and search a reference fastest on it.

    Predicts the speed of every layout, tries the first three, on INDEX or on a made-up sample of the
    reference, and keeps the answer.
    """
    if bool(index_path) == bool(bases):
        raise click.UsageError("give either an INDEX or the size of a reference, --bases")
    from ... import workflow
    from ...machines.progress import Progress
    from ...tuning import journey, report

    progress = Progress(quiet)
    workflow.tell_compiling(progress)
    question = journey.Question(
        Path(index_path) if index_path else None, bases or 0, length, memory_limit, engine, threads
    )
    click.echo(report.text(journey.tune(question, plan_only, progress)))
