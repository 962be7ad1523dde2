"""fmx merge: one result from the shards of a run."""

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from ... import options
from ...output import kinds_of
from ...report.facts import KINDS, SUFFIXES
from ...report.facts import kind_of as kind_of_report
from ..outputs import endings, report_of, report_places, reporting
from .count import TABLES

if TYPE_CHECKING:
    from ...output.search_output import SearchOutput

_OF = {  # options, and the commands whose shards they work with
    "--counts": ["search"], "--screen": ["search"], "--al": ["search"], "--un": ["search"],
    "--report": list(KINDS),
}  # fmt: skip
CONVERTED = ["sam", "bam"]  # formats that merging converts into each other


@options.command
@click.argument("folder", type=click.Path())
@options.group(
    "Output",
    options.output_option(help="Output file."),
)
@options.group(
    "Tables and reports",
    click.option(
        "--counts",
        type=click.Path(),
        metavar="FILE",
        help="Also write a table of reads and hits per contig.",
    ),
    click.option(
        "--screen",
        type=click.Path(),
        metavar="FILE",
        help="Also write the table of reads per combination of groups or indexes.",
    ),
    click.option("--al", type=click.Path(), metavar="FILE", help="Also write the mapped reads, unchanged."),
    click.option("--un", type=click.Path(), metavar="FILE", help="Also write the unmapped reads, unchanged."),
    reporting(tuple(dict.fromkeys(SUFFIXES.values()))),
)
@options.quiet
def command(given: SimpleNamespace) -> None:
    """Merge the shards of a run.

    FOLDER is what was given as -o to fmx search, locate, mem, pairwise or count with --shard. It must contain
    all shards of the run. The output equals that of a run without --shard, in the same format. By the suffix
    of -o, SAM and BAM are converted into each other, and the shards of fmx count into any of its formats.

    Examples:
    fmx merge hits.d -o hits.bam
    fmx merge hits.d -o hits.bam --counts counts.tsv
    """
    from ...guides.outputs import CountOutput
    from ...jobs.count import add_up
    from ...jobs.merge import check_beside, manifests, merge
    from ...jobs.messages import say_shards
    from ...machines.progress import Progress
    from ...output.container import PLAIN
    from ...output.formats.bam import Samtools
    from ...output.run import as_fields
    from ..dispatch import check_places, format_of, kind_of
    from ..outputs import kinds_of_reads, outputs_of

    found = manifests(given.folder)
    run = found[0].run
    asked, command = run["options"]["output"], run["command"]
    kind = asked.get("records", asked)["kind"]
    if kind in CONVERTED and found[0].container == as_fields(PLAIN):
        other = kind_of(given.output, CONVERTED)
        if other and other != kind:
            kind, found[0] = other, replace(found[0], container=as_fields(Samtools(other, None, None)))
    if kind == "nothing" and run["--screen"] and not given.screen:
        given.screen, given.output = given.output, os.devnull
    beside = {
        "--counts": given.counts,
        "--screen": given.screen,
        "--report": given.reports,
        "--al": given.al,
        "--un": given.un,
    }
    for option, path in beside.items():
        if path and command not in _OF[option]:
            raise click.UsageError(f"{option} is for shards of fmx {' and '.join(_OF[option])} only: omit it")
    for path in given.reports:
        if kind_of_report(path) not in KINDS[command]:
            raise click.UsageError(
                f"--report {path}: the name of a report of fmx {command} must end with "
                f"{endings(KINDS[command])}"
            )
    places = _places_of(given, run)
    if command == "count":
        kind, formats = format_of(None, given.output, [kind, *TABLES], kind)
        outputs = {"-o": (given.output, formats), **report_places(given.reports)}
    else:
        formats = format_of(kind, given.output, [], kind)[1]
        is_collapsed = bool(run["options"].get("mapping", {}).get("collapse"))
        outputs = outputs_of(formats, kinds_of_reads(is_collapsed), places)
    _check_suffix(given, command, formats)
    check_places([], outputs)
    folder = os.path.realpath(given.folder)
    for option, (path, _) in outputs.items():
        if path and path != "-" and os.path.realpath(path).startswith(f"{folder}{os.sep}"):
            raise click.UsageError(
                f"{option} {path} is inside {given.folder}, among the shards; choose a path outside it"
            )
    progress = Progress(given.quiet, warns=True)
    check_beside(given.folder, run, beside)
    if command == "count":
        add_up(CountOutput(given.output, kind, report_of(given.reports)), progress, given.folder, found)
    else:
        merge(given.folder, found, places)
    say_shards(progress, found, f"{sum(shard.seconds for shard in found):,.1f} s of computing time")


def _check_suffix(given: SimpleNamespace, command: str, formats: list) -> None:
    """Raise UsageError if the shards cannot be merged into the format that the suffix of -o names."""
    from ..dispatch import SUFFIXES, kind_of, suffix_of

    suffix = suffix_of(given.output)
    if not suffix or suffix in [end for each in formats for end in SUFFIXES.get(each, ())]:
        return
    other = kind_of(given.output, kinds_of(command))
    instead = f", or delete {given.folder} and run the shards again with --format {other}" if other else ""
    held, mend = " or ".join(formats), "choose another name"
    if formats == ["NOTHING"]:
        held, mend = "no records", "leave out -o"
    raise click.UsageError(f"-o {given.output}: the shards in {given.folder} contain {held}: {mend}{instead}")


def _places_of(given: SimpleNamespace, run: dict) -> "SearchOutput":
    """Return a SearchOutput with all paths; ``run``: the identity of the shards' run.  Raises UsageError."""
    from ...output.search_output import CountsOutput, ReadsOutput, RecordOutput, SearchOutput, is_gzip

    for option in ("--al", "--un"):
        path, held = vars(given)[option[2:]], run.get(option)
        if path and held and is_gzip(path) != (held == "gzip"):
            how = "add .gz to the name" if held == "gzip" else "remove .gz from the name"
            raise click.UsageError(f"{option} {path}: the shards hold these reads as {held}: {how}")
    has_mates = run["options"]["output"].get("reads", {}).get("has_mates", False)
    return SearchOutput(
        RecordOutput(given.output),
        CountsOutput(given.counts) if given.counts else None,
        given.screen,
        ReadsOutput(given.al, given.un, has_mates),
        report_of(given.reports),
    )
