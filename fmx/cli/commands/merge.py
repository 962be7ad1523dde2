"""fmx merge: one result from the shards of a run."""

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from ...errors import OutputError
from ...output import kinds_of
from ...report import KINDS, SUFFIXES, JobOutput, Report
from .. import options
from .count import TABLES

if TYPE_CHECKING:
    from ...output.files import ReadsOutput

_OF = {  # options, and the commands whose shards they work with
    "--counts": ["search"], "--screen": ["search"], "--al": ["search", "count"], "--un": ["search", "count"],
    "--summary": ["offtargets"],
    "--report": list(KINDS),
}  # fmt: skip
CONVERTED = ["sam", "bam"]  # formats that merging converts into each other


@options.command
@click.argument("folder", type=click.Path())
@options.group("Output", options.output_option(help="Output file."))
@options.group(
    "Tables and reports",
    click.option("--counts", type=options.TABLE, help="Also write a table of reads and hits per contig."),
    click.option("--screen", type=options.TABLE,
                 help="Also write the table of reads per combination of groups or indexes."),
    click.option("--summary", type=options.TABLE, help="Also write the table of guides and their sites."),
    click.option("--al", type=options.READS,
                 help="Also write the mapped reads, unchanged; with {target} in the name if shards have it."),
    click.option("--un", type=options.READS, help="Also write the unmapped reads, unchanged."),
    options.reporting(tuple(dict.fromkeys(SUFFIXES.values()))),
)  # fmt: skip
@options.quiet
def command(args: SimpleNamespace) -> None:
    """Merge the shards of a run.

    FOLDER is what was given as -o to fmx search, locate, mem, pairwise, count or offtargets with --shard. It
    must contain all shards of the run. The output equals that of a run without --shard, in the same format.
    By the suffix of -o, SAM and BAM are converted into each other, and the shards of fmx count into any of
    its formats.

    Examples:
    fmx merge hits.d -o hits.bam
    fmx merge hits.d -o hits.bam --counts counts.tsv
    """
    from ...jobs.merge import manifests, merge, say_shards
    from ...machines.progress import Progress
    from ...output import PLAIN, as_fields
    from ...output.formats.bam import Samtools
    from ..dispatch import check_clashes

    shards = manifests(args.folder)
    run = shards[0].run
    output, command = run["options"]["output"], run["command"]
    kind = output["kind"]
    if kind in CONVERTED and shards[0].container == as_fields(PLAIN):
        other = options.by_suffix_of(args.output, CONVERTED)
        if other and other != kind:
            kind, shards[0] = other, replace(shards[0], container=as_fields(Samtools(other, None, None)))
    if kind == "nothing" and run.get("--screen") and not args.screen:
        args.screen, args.output = args.output, os.devnull
    additional = {
        "--counts": args.counts, "--screen": args.screen, "--report": args.reports, "--al": args.al,
        "--un": args.un,
    }  # fmt: skip
    for option, path in (additional | {"--summary": args.summary}).items():
        if path and command not in _OF[option]:
            raise click.UsageError(f"{option} is for shards of fmx {' and '.join(_OF[option])} only: omit it")
    for path in args.reports:
        if message := options.wrong_kind(path, KINDS[command], command):
            raise click.UsageError(f"--report {path}: {message}")
    kinds = [kind, *TABLES] if command == "count" else [kind]
    if options.suffix_of(args.output) and not options.by_suffix_of(args.output, kinds):
        other = options.by_suffix_of(args.output, kinds_of(command))
        instead = f", or delete {args.folder} and run the shards again with --format {other}" if other else ""
        contents, mend = " or ".join(dict.fromkeys(map(options.format_name, kinds))), "choose another name"
        if kinds == ["nothing"]:
            contents, mend = "no records", "leave out -o"
        raise click.UsageError(
            f"-o {args.output}: the shards in {args.folder} contain {contents}: {mend}{instead}"
        )
    options.refuse_terminal(args.output, kinds[0])
    report = Report(args.reports, {}) if args.reports else None
    reads = _reads_output(args, run)
    if command == "count":
        kind = options.format_of(None, args.output, kinds, kind)
    tables = {"--counts": args.counts, "--screen": args.screen, "--summary": args.summary}
    tables = {option: path for option, path in tables.items() if path}
    whole = JobOutput(args.output, kind, tables, reads, report)
    check_clashes([], whole.places.items(), [args.folder])
    progress = Progress(args.quiet, warns=True)
    for option, path in additional.items():
        if path and not run.get(option):
            raise OutputError(
                f"{args.folder}: the shards were run without {option}: delete the folder and run them again "
                f"with {option}"
            )
    merge(args.folder, shards, whole, progress)
    say_shards(progress, shards, f"{sum(shard.seconds for shard in shards):,.1f} s of computing time")


def _reads_output(args: SimpleNamespace, run: dict) -> "ReadsOutput":
    """Return the files of reads; ``run``: the identity of the shards' run.  Raises UsageError."""
    from ...output.files import TARGET, ReadsOutput, is_gzip

    reads = ReadsOutput(args.al, args.un, **(run["options"]["output"]["reads"] or {}))
    if args.al and reads.is_by_target != bool(reads.targets):
        how = "add it to" if reads.targets else "remove it from"
        there = "are" if reads.targets else "are not"
        raise click.UsageError(f"--al {args.al}: the shards {there} divided by {TARGET}: {how} the name")
    for option, path in (("--al", args.al), ("--un", args.un)):
        if path and (form := run.get(option)) and is_gzip(path) != (form == "gzip"):
            how = "add .gz to the name" if form == "gzip" else "remove .gz from the name"
            raise click.UsageError(f"{option} {path}: the shards hold these reads as {form}: {how}")
    options.check_reads(args.al, args.un, bool(run["options"].get("mapping", {}).get("collapse")))
    return reads
