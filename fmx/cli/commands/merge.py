"""fmx merge: shards into one result."""

import os

import click

from ... import options
from ...report.kinds import kind_of
from ..reports import refuse_logs, report_of, reporting
from .count import add_up, counted_places, told


@options.command
@click.argument("folder", type=click.Path())
@options.output
@click.option(
    "--counts", type=click.Path(), metavar="FILE", help="Also write the table of reads and hits per contig."
)
@click.option(
    "--al", type=click.Path(), metavar="FILE", help="Also write the reads with a reported hit, as they came."
)
@click.option("--un", type=click.Path(), metavar="FILE", help="Also write the reads without one.")
@told
@reporting
@options.quiet
def command(given):
    """Join the shards in a folder.

    FOLDER is what fmx search, locate, mem, pairwise or count with --shard were given as -o. All shards of one
    run must be there. The output is that of a run without --shard.
    """
    from ...cluster.merge import check_kept, manifests, merge
    from ...count.outputs import CountOutput
    from ...machines.progress import Progress
    from ..places import READS, check_places
    from ..told import tell_shards
    from ..writing import outputs_of

    found = manifests(given.folder)
    kind = found[0].run["options"]["output"]["kind"]
    is_count = found[0].run["command"] == "count"
    reads = _reads_of(given, found[0].run["options"]["output"])
    if is_count:
        given.report = _page_of(given.reports)
        outputs = counted_places(given, kind)
    else:
        if found[0].run["command"] != "search":
            refuse_logs(given.reports)
        outputs = outputs_of([kind.upper()], READS, reads)
    for option in ("counts", "al", "un") if is_count else ("stats", "json_path"):
        if getattr(given, option):
            raise click.UsageError(
                f"--{option.removesuffix('_path')} is for shards of fmx {'search' if is_count else 'count'}"
            )
    check_places([], outputs)
    folder = os.path.realpath(given.folder)
    for option, (path, _) in outputs.items():
        if path and path != "-" and os.path.realpath(path).startswith(f"{folder}{os.sep}"):
            raise click.UsageError(
                f"{option} {path} lies in {given.folder}, among the shards; name a place outside"
            )
    progress = Progress(given.quiet)
    if is_count:
        output = CountOutput(given.output, kind, given.stats, given.json_path, given.report)
        add_up(output, progress, given.folder, found)
    else:
        check_kept(given.folder, found, bool(given.counts), bool(given.reports))
        merge(given.folder, found, given.output, given.counts, reads.report, reads.takers())
    tell_shards(progress, found, f"which took {sum(shard.seconds for shard in found):,.1f} s together")


def _page_of(reports):
    """The page that --report names for shards of fmx count, or None.  Raises UsageError."""
    for path in reports:
        if kind_of(path) != "HTML":
            raise click.UsageError(f"--report {path}: of fmx count a report is HTML; see also --json")
    return reports[0] if reports else None


def _reads_of(given, run):
    """The workflow.Output with the places of reads; ``run``: that of the shards.  Raises UsageError."""
    from ...output.wanted import Output

    for option, field in (("--al", "mapped_to"), ("--un", "unmapped_to")):
        path, name = getattr(given, option[2:]), run.get(field)
        if path and not name:
            raise click.UsageError(
                f"{given.folder}: its shards hold no reads for {option}: search with {option}"
            )
        if path and path.lower().endswith(".gz") != name.lower().endswith(".gz"):
            how = "are compressed" if name.lower().endswith(".gz") else "are not compressed"
            raise click.UsageError(f"{option} {path}: these reads {how}: end its name as that of {name}")
    return Output(
        given.output, counts=given.counts, mapped_to=given.al, unmapped_to=given.un,
        has_mates=run.get("has_mates", False), report=report_of(given.reports),
    )  # fmt: skip
