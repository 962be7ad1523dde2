"""fmx locate: every occurrence of patterns, or the products of pairs of primers."""

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from ... import limits
from ...errors import escaped
from ...output import kinds_of
from .. import options

if TYPE_CHECKING:
    from ...jobs.products import ProductsJob
    from ...jobs.search import SearchJob


@options.command
@click.argument("patterns", nargs=-1)
@options.indexes
@options.group(
    "Patterns",
    click.option("-p", "--pattern", "literal", multiple=True, metavar="SEQUENCE",
                 help="Pattern to search for; may be repeated."),
    click.option("--iupac", is_flag=True,
                 help="Let an IUPAC code in a pattern, such as N or R, match each of its bases."),
    options.mismatches,
    options.strands,
)  # fmt: skip
@options.group(
    "PCR products",
    click.option("--pairs", type=click.Path(), metavar="FILE",
                 help="List the products of the primer pairs in FILE instead; each line has a name, a "
                 "forward primer and a reverse primer."),
    click.option("--max-size", type=options.number(*limits.LENGTH), show_default="3000", metavar="N",
                 help="Longest product in bases, primers included."),
)  # fmt: skip
@options.group(
    "Output",
    options.output,
    options.output_format(
        [*kinds_of("locate"), "rtab", "npz", "fasta"], "tsv",
        "sam, tsv, bed or parquet; with --matrix tsv, rtab or npz; with --pairs tsv, bed or fasta",
    ),
    click.option("--matrix", type=click.Choice(["presence", "counts"]),
                 help="Write a matrix instead, with a row per pattern and a column per group of contigs: "
                 "whether the pattern occurs in the group (presence), or how often (counts)."),
    click.option("--absent", is_flag=True,
                 help="Also write a TSV line for each pattern or pair without a hit."),
)  # fmt: skip
@options.sharing
@options.searching
def command(args: SimpleNamespace) -> None:
    """List every occurrence of patterns.

    Give patterns with -p, or as PATTERNS: FASTA, FASTQ, BAM or CRAM files, compressed or not; - is standard
    input. The occurrences of each pattern are sorted by contig and position; in TSV and BED, start is
    0-based and end is exclusive. The name of a pattern given with -p is its sequence. With --pairs, fmx
    locate lists the PCR products of primer pairs.

    Examples:
    fmx locate -x ref.fmx -p GATTACA -p TTTTTTTT
    fmx locate -x ref.fmx --mismatches 1 probes.fa -o probes.bed
    fmx locate -x ref.fmx --pairs primers.tsv --max-size 1000
    """
    job = _products_job(args) if args.pairs else _search_job(args)
    from ...input.chunks import begins_fastq
    from ..dispatch import run_job

    run_job(args, job, check=None if args.pairs else begins_fastq)


def _products_job(args: SimpleNamespace) -> "ProductsJob":
    """Return the job of --pairs.  Raises UsageError for options that do not apply."""
    options.refuse(
        (args.patterns or args.literal, "--pairs takes the primers from FILE: leave out -p and PATTERNS"),
        (args.iupac, "--pairs always accepts IUPAC codes: leave out --iupac"),
        (args.matrix, "--pairs lists PCR products: leave out --matrix"),
        (args.forward_only, "--pairs always searches both strands: leave out --forward-only"),
        (args.reverse_only, "--pairs always searches both strands: leave out --reverse-only"),
        (args.index_paths[1:], "--pairs searches one index: give one -x"),
    )
    kind = _format(args)
    from ...jobs.products import ProductsJob
    from ...search.hits import SelectionPolicy
    from ...search.mapping import MapOptions, Near
    from ...search.products import ProductOutput

    near = Near(args.mismatches, iupac=True, best_first=False)
    return ProductsJob(
        options.index_of(args),
        args.pairs,
        MapOptions(SelectionPolicy(limits.ALL), near=near),
        ProductOutput(args.output, kind, most=args.max_size or ProductOutput.most, absent=args.absent),
    )


def _search_job(args: SimpleNamespace) -> "SearchJob":
    """Return the job that lists the occurrences of patterns.  Raises UsageError."""
    if args.max_size is not None:
        raise click.UsageError("--max-size is for PCR products: give --pairs with it")
    from ...dna import LETTERS
    from ...input.chunks import bytes_of

    for pattern in args.literal:
        if not set(pattern.upper()) <= set("ACGTUN") and os.path.isfile(pattern):
            raise click.UsageError(f"{pattern} is a file: give it without -p")
        if other := bytes_of(pattern).translate(None, LETTERS):
            raise click.UsageError(f"-p {pattern}: {escaped(other[:1])} is not a base")
    if bool(args.patterns) == bool(args.literal):
        raise click.UsageError("give patterns either with -p or as files")
    kind = _format(args)
    if args.iupac and kind == "sam":
        raise click.UsageError("SAM cannot represent IUPAC patterns: write TSV, BED or Parquet with --iupac")
    from ...jobs.search import ReadInput, SearchJob
    from ...output.search_output import SearchOutput
    from ...search.hits import SelectionPolicy
    from ...search.mapping import MapOptions, Near

    is_near = args.mismatches > 0 or args.iupac
    near = Near(args.mismatches, args.iupac, best_first=False) if is_near else None
    strands = options.strands_of(args)
    output = SearchOutput(
        args.output, kind, mismatches=args.mismatches, absent=args.absent, matrix=args.matrix
    )
    return SearchJob(
        options.index_of(args),
        ReadInput(args.patterns, literal=args.literal),
        MapOptions(SelectionPolicy(limits.ALL), strands, near=near, noun="pattern"),
        output,
    )


def _format(args: SimpleNamespace) -> str:
    """Return the format of -o; also check --absent and --matrix.  Raises UsageError."""
    from ...output.formats.matrix import FORMS
    from ...output.lines import KINDS

    kinds = list(KINDS) if args.pairs else list(FORMS) if args.matrix else kinds_of("locate")
    options.refuse(
        (args.absent and args.matrix, "--matrix writes a line for each pattern: leave out --absent")
    )
    kind = options.format_of(args.kind, args.output, kinds, "tsv")
    only_tsv = f"--absent adds lines to TSV, not to {options.format_name(kind)}: leave it out, or write TSV"
    only_0_and_1 = "Rtab holds only 0 and 1: use --matrix presence, or -o with another suffix"
    options.refuse(
        (kind == "rtab" and args.matrix == "counts", only_0_and_1), (args.absent and kind != "tsv", only_tsv)
    )
    return kind
