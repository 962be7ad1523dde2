"""fmx offtargets: every site of guides in a genome, with mismatches."""

import os
from types import SimpleNamespace

import click

from ... import limits
from ...report import KINDS, JobOutput
from .. import options
from .count import library_columns

_FORMATS = ["tsv", "bed", "parquet"]


def _pams(context: click.Context, param: click.Parameter, pams: tuple[str, ...]) -> tuple[str, ...]:
    """Return PAMs in upper case.  Raises BadParameter for letters that are no IUPAC codes, or long PAMs."""
    for pam in pams:
        if len(options.iupac_codes(pam)) > limits.PAM[1]:
            raise click.BadParameter(f"{pam!r} has more than {limits.PAM[1]} bases")
    return tuple(map(str.upper, pams))


@options.command
@click.argument("genome", metavar="REF", type=click.Path())
@options.group(
    "Guides",
    click.option("-l", "--library", type=click.Path(), required=True, metavar="FILE",
                 help="Guides of 16 to 28 bases, without the PAM: CSV or TSV with id and sequence, or "
                 "FASTA."),
    library_columns,
)  # fmt: skip
@options.group(
    "Sites",
    click.option("--pam", "pams", multiple=True, callback=_pams, default=("NGG",), metavar="BASES",
                 help="PAM, in IUPAC codes; repeat to allow several."),
    click.option("--pam-5prime", is_flag=True, help="The PAM precedes the guide, as that of Cas12a."),
    click.option("--mismatches", type=options.number(*limits.SITE_MISMATCHES), default=4,
                 help="Allow N mismatches in a guide, 0 to 4."),
    click.option("-m", "most", type=options.COUNT, metavar="N",
                 help="List at most N sites of each guide, those with the fewest mismatches; all are "
                 "counted."),
)  # fmt: skip
@options.group(
    "Output",
    options.output,
    options.output_format(_FORMATS, "tsv"),
    click.option("--summary", type=options.TABLE,
                 help="Also write a table of guides: number of sites by mismatches, and whether exactly "
                 "one site has no mismatch."),
    options.reporting(KINDS["offtargets"]),
)  # fmt: skip
@options.sharing
@options.group(
    options.INDEX,
    options.max_memory_of(default="1G", help="Search as many guides at a time as fit in SIZE of memory, "
                          "beside the reference."),
)  # fmt: skip
@options.running
def command(args: SimpleNamespace) -> None:
    """List the sites of guides in a genome.

    REF is FASTA, compressed or not, or an index. A site is a sequence with a PAM beside it that differs from
    a guide in at most N bases, on either strand; it contains only A, C, G and T. The sites of a guide are
    sorted by mismatches, contig and position. The columns start (0-based) and end (exclusive) include the
    PAM, and so does the column site; positions are those of the mismatches in the guide, from 1.

    Examples:
    fmx offtargets -l guides.csv genome.fa.gz -o sites.tsv
    fmx offtargets -l guides.csv --pam TTTV --pam-5prime genome.fa -o sites.bed
    fmx offtargets -l guides.csv -m 100 genome.fmx --summary guides.tsv -o sites.parquet
    """
    kind = options.format_of(args.kind, args.output, _FORMATS, "tsv")
    from ...jobs.offtargets import SitesJob
    from ...sites.search import SiteOptions
    from ..dispatch import run_job

    indexes = [args.genome] if os.path.isdir(args.genome) else []
    report = options.report_of(args.reports, [args.library, args.genome], indexes)
    search = SiteOptions(args.pams, args.pam_5prime, args.mismatches, args.most, args.max_memory)
    tables = {"--summary": args.summary} if args.summary else {}
    output = JobOutput(args.output, kind, tables, None, report)
    run_job(args, SitesJob(args.library, args.genome, args.columns or (), search, output), check=None)
