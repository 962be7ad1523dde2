"""fmx locate: every occurrence of patterns."""

import click

from ... import options
from ...output import FORMATS


@click.command()
@click.argument("patterns", nargs=-1)
@click.option("-p", "--pattern", "given", multiple=True, metavar="SEQUENCE", help="A pattern; repeatable.")
@click.option(
    "--format", "kind", type=click.Choice([kind for kind in FORMATS if kind != "bam"]),
    default="tsv", show_default=True, help="What to write: TSV with a header line, BED6, or SAM.",
)  # fmt: skip
@options.forward_only
@options.reverse_only
@options.index
@options.output
@options.layout
@options.method
@options.max_memory
@options.engine
@options.device
@options.gpu_memory
@options.threads
@options.quiet
def command(patterns, given, kind, forward_only, reverse_only, index_path, output, layout, method, max_memory,
            engine, device, gpu_memory, threads, quiet):  # fmt: skip
    """List every occurrence of patterns.

    Give patterns with -p, or as PATTERNS: FASTA or FASTQ files, plain or gzip; - is standard input. The
    occurrences of each pattern are sorted by contig and position. A pattern of -p is its own name.
    """
    if bool(patterns) == bool(given):
        raise click.UsageError("give patterns either with -p or as files")
    strands = options.strands_of(forward_only, reverse_only)
    from ... import workflow
    from ...input.chunks import literal_fasta
    from ...machines.progress import Progress
    from ...search.hits import ALL, SelectionPolicy
    from ...search.mapper import MapOptions
    from ..places import check_places

    sources = [literal_fasta(given, given)] if given else patterns
    index_path = options.find_index(index_path)
    check_places(patterns, {"-o": (output, [kind.upper()])}, index_path)
    fm_index = options.open_index(index_path, layout, method, threads, max_memory)
    processor = workflow.Device(engine, device, gpu_memory)
    wanted, where = MapOptions(SelectionPolicy(ALL), strands, threads), workflow.Output(output, kind)
    workflow.search(fm_index, sources, wanted, where, Progress(quiet), processor)
