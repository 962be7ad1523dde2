"""fmx offtargets: every site of guides in a genome, with mismatches."""

from types import SimpleNamespace
from typing import Any

import click

from ... import limits
from ...report import KINDS
from .. import options
from ..outputs import report_of, reporting
from .count import library_columns

FORMATS = ["tsv", "bed", "parquet"]


class Pam(click.ParamType):
    """A PAM as IUPAC codes, in upper case with T for U."""

    name = "pam"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ...input.dna import SETS

        pam = value.upper().replace("U", "T")
        if other := [letter for letter in pam if letter not in SETS]:
            self.fail(f"{value!r} contains {other[0]!r}, which is not an IUPAC base", param, ctx)
        if len(pam) > limits.PAM[1]:
            self.fail(f"{value!r} has {len(pam)} bases; a PAM has at most {limits.PAM[1]}", param, ctx)
        return pam


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
    click.option("--pam", "pams", type=Pam(), multiple=True, default=("NGG",), metavar="BASES",
                 help="PAM, in IUPAC codes; repeat to allow several."),
    click.option("--pam-5prime", is_flag=True, help="The PAM precedes the guide, as that of Cas12a."),
    click.option("--mismatches", type=options.Number(*limits.SITE_MISMATCHES), default=4,
                 help="Allow N mismatches in a guide, 0 to 4."),
    click.option("-m", "most", type=options.COUNT, metavar="N",
                 help="List at most N sites of each guide, those with the fewest mismatches; all are "
                 "counted."),
)  # fmt: skip
@options.group(
    "Output",
    options.output,
    options.output_format(FORMATS, "tsv"),
    click.option("--summary", type=options.TABLE,
                 help="Also write a table of guides: number of sites by mismatches, and whether one site "
                 "matches exactly."),
    reporting(KINDS["offtargets"]),
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
    kind = options.format_of(args.kind, args.output, FORMATS, "tsv")
    from ...errors import InputError
    from ...guides.library import begins_library
    from ...input.chunks import no_fasta
    from ...jobs import Resources
    from ...jobs.offtargets import SitesJob
    from ...sites.search import SiteOptions, SiteOutput
    from ..dispatch import Sharing, run_jobs

    job = SitesJob(
        args.library,
        args.genome,
        args.columns,
        SiteOptions(args.pams, args.pam_5prime, args.mismatches, args.most, args.max_memory),
        SiteOutput(args.output, kind, args.summary, report_of(args.reports, [args.library, args.genome])),
    )

    def check(path: str, begin: int) -> None:
        if path == args.library:
            begins_library(path, begin)
        elif begin != ord(">"):
            raise InputError(path, "line 1", no_fasta(begin))

    sharing = Sharing(args.shard, args.scheduler, args.scheduler_file)
    run_jobs([job], Resources(args.threads), sharing, args.quiet, check=check)
