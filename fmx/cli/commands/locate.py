"""fmx locate: every occurrence of patterns."""

import click

from ... import options


@click.command()
@click.argument("patterns", nargs=-1)
@click.option(
    "-p", "--pattern", "given", multiple=True, metavar="SEQUENCE", help="A pattern; may be repeated."
)
@click.option(
    "--format", "kind", type=click.Choice(["tsv", "bed", "sam"]), default="tsv", show_default=True,
    help="TSV with a header line, BED6, or SAM.",
)  # fmt: skip
@click.option("--forward-only", is_flag=True, help="Only the strand as given.")
@click.option("--reverse-only", is_flag=True, help="Only the reverse complement.")
@options.index
@options.output
@options.layout
@options.method
@options.max_memory
@options.threads
@options.quiet
def command(
    patterns,
    given,
    kind,
    forward_only,
    reverse_only,
    index_path,
    output,
    layout,
    method,
    max_memory,
    threads,
    quiet,
):
    """List every occurrence of each pattern, sorted by coordinate.

    Patterns come from -p, or from PATTERNS: FASTA or FASTQ files, - for standard input. With -p the pattern
    is its own name.
    """
    if bool(patterns) == bool(given):
        raise click.UsageError("give patterns either with -p or as files")
    if forward_only and reverse_only:
        raise click.UsageError("--forward-only and --reverse-only exclude each other")
    from ... import workflow
    from ...input.chunks import literal_fasta
    from ...machines.progress import Progress
    from ...search.hits import ALL, SelectionPolicy
    from ...search.mapping import BOTH, FORWARD, REVERSE, MapOptions
    from ..places import check_places

    strands = FORWARD if forward_only else REVERSE if reverse_only else BOTH
    sources = [literal_fasta(given, given)] if given else patterns
    index_path = options.find_index(index_path)
    check_places(patterns, {"-o": (output, [kind.upper()])}, index_path)
    fm_index = options.open_index(index_path, layout, method, threads, max_memory)
    map_options = MapOptions(SelectionPolicy(ALL), strands, threads)
    workflow.search(fm_index, sources, map_options, workflow.Output(output, kind), Progress(quiet))
