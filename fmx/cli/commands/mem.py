"""fmx mem: maximal exact matches of queries."""

from types import SimpleNamespace

import click

from ... import limits
from ...output import kinds_of
from ...report import KINDS
from .. import options


@options.command
@click.argument("queries", nargs=-1, required=True)
@options.indexes
@options.group(
    "Matches",
    click.option("-l", "least", type=options.number(*limits.LENGTH), default=20,
                 help="Shortest match to report, in bases."),
    click.option("-b", "both", is_flag=True, help="Match queries and their reverse complements."),
    click.option("-r", "reverse", is_flag=True, help="Match only the reverse complements."),
    click.option("--maxmatch", is_flag=True, help="Report all maximal matches (default)."),
    click.option("--mumreference", is_flag=True, help="Report matches that occur once in the reference."),
    click.option("--mum", is_flag=True,
                 help="Report matches that occur once in the reference and once in the query."),
    click.option("--algorithm", type=click.Choice(["seeds", "mummergpu"]), default="seeds",
                 help="seeds is faster; mummergpu is the algorithm of MUMmerGPU++; it finds the same "
                 "matches and needs an index built --with-lcp."),
)  # fmt: skip
@options.group(
    "Output",
    options.output,
    options.output_format(kinds_of("mem"), "mummer"),
    click.option("-c", "original", is_flag=True,
                 help="Report positions of reverse matches in the query itself, not in its reverse "
                 "complement."),
    click.option("-L", "lengths", is_flag=True, help="Write the length of each query on its header line."),
    click.option("-F", "four_columns", is_flag=True, help="Write four columns even for a single contig."),
    options.reporting(KINDS["mem"]),
)  # fmt: skip
@options.sharing
@options.group(options.INDEX, options.verify)
@options.on_processor
@options.running
def command(args: SimpleNamespace) -> None:
    """Find maximal exact matches of queries.

    QUERIES are FASTA, FASTQ, BAM or CRAM files of reads, contigs or whole genomes, compressed or not; - is
    standard input. fmx mem finds the same matches as 'mummer -maxmatch -n': only A, C, G and T (or U) match.

    Examples:
    fmx mem -x ref.fmx -b -l 25 reads.fa > matches.txt
    fmx mem -x ref.fmx --mum -b genome.fa.gz -o matches.paf
    """
    n_kinds = args.maxmatch + args.mumreference + args.mum
    options.refuse(
        (args.both and args.reverse, "give only one of -b and -r"),
        (n_kinds > 1, "give only one of --maxmatch, --mumreference and --mum"),
    )
    kind = options.format_of(args.kind, args.output, kinds_of("mem"), "mummer")
    layout = args.original, args.lengths, args.four_columns
    options.refuse((kind != "mummer" and any(layout), "-c, -L and -F need --format mummer"))
    from ...dna import FORWARD, REVERSE
    from ...index.fm_index import ANY_MATCH
    from ...jobs.mem import MemJob
    from ...mem.matching import ALL, IN_BOTH, IN_REFERENCE, MemOptions, MemOutput
    from ..dispatch import run_job

    strands = FORWARD | REVERSE if args.both else REVERSE if args.reverse else FORWARD
    unique = IN_BOTH if args.mum else IN_REFERENCE if args.mumreference else ALL
    index = options.index_of(args, ANY_MATCH if args.algorithm == "seeds" else "verify")
    report = options.report_of(args.reports, args.queries, index.paths)
    job = MemJob(
        index,
        args.queries,
        MemOptions(args.least, strands, unique, algorithm=args.algorithm),
        MemOutput(args.output, kind, {}, None, report, *layout),
    )
    run_job(args, job)
