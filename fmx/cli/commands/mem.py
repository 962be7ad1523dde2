"""fmx mem: maximal exact matches of queries."""

from dataclasses import replace
from functools import partial

import click

from ... import limits, options
from ...options.finding import find_indexes
from ...output import kinds_of
from ..reports import refuse_multiqc, report_of, report_places, reporting


@options.command
@click.argument("queries", nargs=-1, required=True)
@click.option(
    "-l", "least", type=options.Number(*limits.LENGTH), default=20, show_default=True, metavar="N",
    help="Leave out matches shorter than N.",
)  # fmt: skip
@click.option("-b", "both", is_flag=True, help="Match queries and their reverse complements.")
@click.option("-r", "reverse", is_flag=True, help="Match only the reverse complements.")
@click.option("--maxmatch", is_flag=True, help="Report all maximal matches; this is the default.")
@click.option("--mumreference", is_flag=True, help="Report matches that occur once in the reference.")
@click.option("--mum", is_flag=True, help="Report matches that occur once in reference and query.")
@click.option("-c", "original", is_flag=True, help="Give reverse matches by positions in the query as given.")
@click.option("-L", "lengths", is_flag=True, help="Write the length of each query on its header line.")
@click.option("-F", "four_columns", is_flag=True, help="Always write four columns, also for a single contig.")
@click.option(
    "--format", "kind", type=click.Choice(kinds_of("mem")), show_default=options.by_name("mummer"),
    help="What to write: MUMmer's format, PAF, BED6, TSV with a header line, or SAM.",
)  # fmt: skip
@click.option(
    "--algorithm", type=click.Choice(["seeds", "mummergpu"]), default="seeds", show_default=True,
    help="seeds is fastest; mummergpu is that of MUMmerGPU++, finds the same and needs an index --with-lcp.",
)  # fmt: skip
@options.indexes
@options.output
@reporting
@options.verify
@options.sharing
@options.processor
@options.gpus
@options.gpu_memory
@options.running
def command(given):
    """Find maximal exact matches of sequences.

    QUERIES are reads, contigs or whole genomes, in FASTA or FASTQ files, plain or compressed; - is standard
    input. The matches are those of mummer with its option -n.

    \b
    fmx mem -x ref.fmx -b -l 25 reads.fa > matches.txt
    fmx mem -x ref.fmx --mum -b genome.fa.gz -o matches.paf
    """
    if given.both and given.reverse:
        raise click.UsageError("give only one of -b and -r")
    if given.maxmatch + given.mumreference + given.mum > 1:
        raise click.UsageError("give only one of --maxmatch, --mumreference and --mum")
    from ..places import check_places, format_of

    kind, formats = format_of(given.kind, given.output, kinds_of("mem"), "mummer")
    layout = given.original, given.lengths, given.four_columns
    if kind != "mummer" and any(layout):
        raise click.UsageError("-c, -L and -F go with --format mummer only")
    from ... import workflow
    from ...input.reads import FORWARD, REVERSE
    from ...jobs.kept import MadeAnew
    from ...jobs.told import tell_run
    from ...machines.progress import Progress
    from ...mem.journey import MemOutput
    from ...mem.matching import ALL, IN_BOTH, IN_REFERENCE, MemOptions
    from ..mapping import open_all
    from ..shards import places_of, refuse_shards, undone_shard

    strands = FORWARD | REVERSE if given.both else REVERSE if given.reverse else FORWARD
    unique = IN_BOTH if given.mum else IN_REFERENCE if given.mumreference else ALL
    refuse_multiqc(given.reports)
    paths = find_indexes(given.index_paths)
    refuse_shards(given, {"several -x": paths[1:]})
    outputs = {"-o": (given.output, formats), **report_places(given.reports)}
    check_places(given.queries, places_of(given, outputs), paths[0])
    for other in paths[1:]:
        check_places([], outputs, other)
    kept = getattr(given, "kept", MadeAnew)
    progress, device = Progress(given.quiet), options.device_of(given)
    make = partial(open_all, paths, (None, "verify", given.threads, None, given.verify))
    with progress.wall.spending("opening"):
        opened, fm_index = kept.shared("index", make)
    wanted = MemOptions(given.least, strands, unique, given.threads, given.algorithm)
    report = report_of(given.reports, "mem", given, given.queries, [(own.path, own.meta) for own in opened])
    output = MemOutput(given.output, kind, *layout, report=report)
    is_wanted, shard = undone_shard(
        given, progress, "mem", given.queries, fm_index.meta, matching=wanted, output=output
    )
    if is_wanted:
        output = replace(output, shard=shard)
        make = partial(workflow.prepare_matches, fm_index, wanted, output, progress, device)
        with kept.lent(device, make) as prepared:
            summary = workflow.find_matches(
                fm_index, given.queries, wanted, output, progress, device, prepared
            )
        tell_run(progress, "mem", summary, None, given.queries, shard)
