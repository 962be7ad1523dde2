"""fmx count: how often each guide of a library stands in the reads of samples."""

import click

from ... import options

_KINDS = click.Choice(["mageck", "long", "parquet"])


class Letters(click.ParamType):
    """Letters of DNA, IUPAC's among them."""

    name = "letters"

    def convert(self, value, param, ctx):
        if other := value.upper().strip("ACGTUNRYSWKMBDHV"):
            self.fail(f"{value!r} holds {other[0]!r}, no letter of DNA", param, ctx)
        return value.upper()


@options.command
@click.argument("reads", nargs=-1)
@click.option(
    "-l", "--library", type=click.Path(), required=True, metavar="FILE",
    help="The guides: id, sequence and gene as CSV or TSV, or FASTA.",
)  # fmt: skip
@click.option("--names", metavar="A,B,...", callback=options.no_empty_name,
              help="Names of the samples.  [default: those of their files]")  # fmt: skip
@click.option("--samples", type=click.Path(), metavar="FILE",
              help="Instead of READS: a table with columns sample and reads, a line a file.")  # fmt: skip
@click.option("--offset", metavar="N,M,...",
              help="Where guides begin in a read, from 0.  [default: found by the first reads]")  # fmt: skip
@click.option("--after", type=Letters(), metavar="LETTERS", help="Guides stand right after these letters.")
@click.option("--before", type=Letters(), metavar="LETTERS", help="Guides stand right before these letters.")
@click.option("--anywhere", is_flag=True, help="Guides stand anywhere in a read.")
@options.strands
@click.option(
    "--mismatches", type=options.Number(0, 1), default=0, show_default=True,
    help="With 1, a read without a guide counts for the only one that is one letter apart.",
)  # fmt: skip
@click.option(
    "--min-quality", "quality", type=options.Number(0, 93), default=0, metavar="Q",
    help="Leave out reads with a letter of lower quality in their guide.",
)  # fmt: skip
@click.option(
    "--format", "kind", type=_KINDS, show_default="by the name of the output",
    help="What to write: MAGeCK's table, a line a guide and sample, or Parquet.",
)  # fmt: skip
@options.output
@click.option("--stats", type=click.Path(), metavar="FILE", help="Also write a table of samples: reads, ...")
@click.option("--json", type=click.Path(), metavar="FILE", help="The same and more as JSON.")
@click.option("--report", type=click.Path(), metavar="FILE", help="Also write a page with figures, as HTML.")
@options.running
def command(given):
    """Count the guides of a library in samples.

    READS are FASTQ or FASTA files, plain or compressed, a sample each; files of one sample, as those of
    several lanes, stand with commas between. Writes the table that MAGeCK reads: sgRNA, Gene, a column a
    sample. A read counts for a guide that it spells; one that spells several counts for none.

    \b
    fmx count -l library.csv day0_L1.fq.gz,day0_L2.fq.gz day14.fq.gz -o counts.tsv
    fmx count -l library.csv --after CACCG --mismatches 1 *.fq.gz -o counts.tsv
    """
    offsets = _offsets(given.offset)
    if (given.offset is not None) + bool(given.after or given.before) + given.anywhere > 1:
        raise click.UsageError("give only one of --offset, --after with --before, and --anywhere")
    if bool(given.reads) == bool(given.samples):
        raise click.UsageError("give READS or --samples")
    if given.samples and given.names:
        raise click.UsageError("--names goes with READS: a sample sheet has names of its own")
    from ...count.counting import CountOptions
    from ...count.journey import CountOutput, count
    from ...count.library import read_library
    from ...count.samples import read_sheet, samples_of
    from ...count.tables import kind_of
    from ...machines.progress import Progress
    from ..places import check_places

    kind = given.kind or kind_of(given.output)
    try:
        named = given.names and given.names.split(",")
        samples = read_sheet(given.samples) if given.samples else samples_of(given.reads, named)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    paths = [path for sample in samples for path in sample.paths]
    outputs = {
        "-o": (given.output, ["PARQUET" if kind == "parquet" else "TSV"]), "--stats": (given.stats, ["TSV"]),
        "--json": (given.json, ["JSON"]), "--report": (given.report, ["HTML"]),
    }  # fmt: skip
    check_places(paths, outputs)
    check_places([path for path in (given.library, given.samples) if path], outputs, check=_anything)
    wanted = CountOptions(
        offsets, given.after or "", given.before or "", given.anywhere, options.strands_of(given),
        given.mismatches, given.quality, given.threads,
    )  # fmt: skip
    output = CountOutput(given.output, kind, given.stats, given.json, given.report)
    count(read_library(given.library), samples, wanted, output, Progress(given.quiet))


def _anything(path, byte) -> None:
    """Whatever a table begins with, who reads it judges."""


def _offsets(text) -> tuple:
    """The numbers of --offset."""
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.isdecimal() and int(word) < 1 << 31 for word in words):
        raise click.BadParameter(f"{text!r} is not a number of letters, nor several", param_hint="--offset")
    return tuple(dict.fromkeys(map(int, words)))
