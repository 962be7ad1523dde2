"""fmx mem: maximal exact matches of queries."""

import click

from ... import options


@click.command()
@click.argument("queries", nargs=-1, required=True)
@click.option(
    "-l", "least", type=click.IntRange(1, 2**31), default=20, show_default=True, metavar="N",
    help="Least length of a match.",
)  # fmt: skip
@click.option("-b", "both", is_flag=True, help="Forward and reverse complement matches.")
@click.option("-r", "reverse", is_flag=True, help="Only reverse complement matches.")
@click.option("--maxmatch", is_flag=True, help="All maximal matches, unique or not. This is the default.")
@click.option("--mumreference", is_flag=True, help="Matches that are unique in the reference.")
@click.option("--mum", is_flag=True, help="Matches that are unique in the reference and in the query.")
@click.option("-c", "original", is_flag=True, help="Positions of reverse matches as in the given query.")
@click.option("-L", "lengths", is_flag=True, help="Lengths of the queries on their header lines.")
@click.option("-F", "four_columns", is_flag=True, help="Four columns, for one reference sequence too.")
@click.option(
    "--format", "kind", type=click.Choice(["mummer", "paf", "bed", "tsv", "sam"]), default="mummer",
    show_default=True, help="MUMmer's format, PAF, BED6, TSV with a header line, or SAM.",
)  # fmt: skip
@click.option(
    "--algorithm", type=click.Choice(["seeds", "mummergpu"]), default="seeds", show_default=True,
    help="mummergpu: that of MUMmerGPU++, on an index built --with-lcp; the matches are the same.",
)  # fmt: skip
@options.index
@options.output
@click.option(
    "--engine", type=click.Choice(["cpu", "cuda", "auto"]), default="cpu", show_default=True,
    help="auto: a GPU if there is one.",
)  # fmt: skip
@options.device
@options.gpu_memory
@options.threads
@options.quiet
def command(queries, least, both, reverse, maxmatch, mumreference, mum, original, lengths, four_columns,
            kind, algorithm, index_path, output, engine, device, gpu_memory, threads, quiet):  # fmt: skip
    """Find the maximal exact matches of QUERIES, FASTA or FASTQ files (plain, gzip, bgzf; - for standard
    input), as mummer does with its option -n: reads, contigs or whole genomes.

    \b
    fmx mem -x ref.fmx -b -l 25 reads.fa > matches.txt
    fmx mem -x ref.fmx --mum -b --format paf genome.fa.gz -o matches.paf
    """
    if both and reverse:
        raise click.UsageError("-b and -r exclude each other")
    if maxmatch + mumreference + mum > 1:
        raise click.UsageError("--maxmatch, --mumreference and --mum exclude each other")
    if kind != "mummer" and (original or lengths or four_columns):
        raise click.UsageError("-c, -L and -F belong to --format mummer")
    from ... import workflow
    from ...input.reads import FORWARD, REVERSE
    from ...machines.progress import Progress
    from ...mem.journey import MemOutput
    from ...mem.matching import ALL, IN_BOTH, IN_REFERENCE, MemOptions
    from ..places import check_places

    strands = FORWARD | REVERSE if both else REVERSE if reverse else FORWARD
    unique = IN_BOTH if mum else IN_REFERENCE if mumreference else ALL
    index_path = options.find_index(index_path)
    check_places(
        queries, {"-o": (output, ["MUMmer's format" if kind == "mummer" else kind.upper()])}, index_path
    )
    fm_index = options.open_index(index_path, None, "verify", threads)
    gpu = workflow.Device(engine, device, int(gpu_memory * 10**9) if gpu_memory else None)
    where = MemOutput(output, kind, original, lengths, four_columns)
    wanted = MemOptions(least, strands, unique, threads, algorithm)
    workflow.find_matches(fm_index, queries, wanted, where, Progress(quiet), gpu)
