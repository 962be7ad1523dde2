"""fmx count: how often each guide of a library occurs in the reads of samples."""

from types import SimpleNamespace

import click

from ...report import KINDS, JobOutput
from .. import options

_TABLES = ["mageck", "long"]


def _bases(text: str) -> tuple[str, ...]:
    """Return IUPAC codes in upper case: of all reads, or of mates 1 and 2 if a slash separates them."""
    return tuple(options.iupac_codes(text, "/").split("/"))


def _columns(text: str) -> tuple:
    """Return the columns of a library, ((key, name or number), ...), from NAME=COLUMN, comma-separated."""
    from ...guides.library import COLUMN_KEYS

    pairs = tuple(tuple(each.split("=", 1)) for each in text.split(","))
    keys = {COLUMN_KEYS.get(pair[0]) for pair in pairs if pair[1:] and pair[1]}
    if None in keys or len(keys) < len(pairs):
        what = f"{text!r} does not look like id=A,sequence=B,gene=C, with names or numbers of columns"
        raise click.BadParameter(f"{what}, and each of the keys {', '.join(COLUMN_KEYS)} at most once")
    return pairs


def _offsets(text: str) -> tuple[tuple[int, ...], ...]:
    """Return comma-separated whole numbers; those of mates 1 and mates 2 are separated by a slash."""
    words = [each.split(",") for each in text.split("/")]
    if not all(word.isdecimal() and int(word) < 1 << 31 for each in words for word in each):
        raise click.BadParameter(f"{text!r} is not a number of bases, nor a comma-separated list of them")
    return tuple(tuple(dict.fromkeys(map(int, each))) for each in words)


library_columns = click.option(
    "--columns", type=_columns, metavar="id=A,sequence=B,gene=C",
    help="Columns of the library, by name or number from 1.  [default: by usual names, or by content]",
)  # fmt: skip


@options.command
@click.argument("reads", nargs=-1)
@options.group(
    "Library",
    click.option("-l", "--library", "libraries", type=click.Path(), required=True, multiple=True,
                 metavar="FILE",
                 help="Guides: CSV or TSV with id, sequence and gene, or FASTA. With -1 and -2, pairs of "
                 "guides (sequence1, sequence2), or two libraries."),
    library_columns,
)  # fmt: skip
@options.group(
    "Samples",
    click.option("-1", "mates1", multiple=True, metavar="FILES",
                 help="Files with first mates of a sample, instead of READS; repeat for each sample."),
    click.option("-2", "mates2", multiple=True, metavar="FILES",
                 help="Files with second mates of the same sample, in the same order."),
    click.option("--names", metavar="A,B,...",
                 help="Names of the samples.  [default: the names of their files]"),
    click.option("--samples", type=click.Path(), metavar="FILE",
                 help="Sample sheet instead of READS: a table with columns sample, reads and, for pairs, "
                 "reads2."),
)  # fmt: skip
@options.group(
    "Guides in reads",
    click.option("--offset", "offsets", type=_offsets, metavar="N,M,...",
                 help="Number of bases before the guide, or several such numbers; for pairs, 22/3 means 22 "
                 "in first and 3 in second mates.  [default: found from the reads]"),
    click.option("--after", type=_bases, metavar="BASES", help="The guide immediately follows these bases."),
    click.option("--before", type=_bases, metavar="BASES", help="These bases immediately follow the guide."),
    click.option("--anywhere", is_flag=True, help="Find guides anywhere in a read."),
    options.strands,
    click.option("--mismatches", type=options.number(0, 1), default=0,
                 help="Allow N mismatches in a guide, 0 or 1. With 1, a read without an exact guide counts "
                 "towards the longest guide that it matches with one mismatch, if there is only one."),
    click.option("--min-quality", "quality", type=options.number(0, 93), default=0, show_default=False,
                 metavar="Q",
                 help="Skip reads with a base quality below Q within the guide."),
)  # fmt: skip
@options.group(
    "Output",
    options.output,
    options.output_format(
        _TABLES, "mageck", "mageck (MAGeCK's table), long (one line per guide and sample)"
    ),
    click.option("--al", type=options.READS,
                 help="Also write the assigned reads to FILE, unchanged; compressed if it ends with .gz. "
                 "With {target} in the name, each guide has a file, and reads with several guides have one "
                 "called ambiguous."),
    click.option("--un", type=options.READS, help="Also write the other reads to FILE, unchanged."),
    options.reporting(KINDS["count"]),
)  # fmt: skip
@options.sharing
@options.running
def command(args: SimpleNamespace) -> None:
    """Count the guides of a library in samples.

    READS are FASTA, FASTQ, BAM or CRAM files, compressed or not, one sample per argument; files of the same
    sample, such as lanes, are comma-separated. The output is the table that MAGeCK reads: sgRNA, Gene, and
    one column per sample. A read counts towards the longest guide that it contains; if there are several, it
    is not counted.

    Examples:
    fmx count -l library.csv day0_L1.fq.gz,day0_L2.fq.gz day14.fq.gz -o counts.tsv
    fmx count -l library.csv --after CACCG --mismatches 1 *.fq.gz -o counts.tsv
    """
    windows = _windows_of(args)
    from ...guides.assign import CountOptions, GuideWindow
    from ...guides.library import begins_library, begins_reads
    from ...guides.samples import read_sheet, samples_of
    from ...input.chunks import repeated
    from ...jobs.count import CountJob
    from ...machines.progress import Progress
    from ...output.files import ReadsOutput
    from ..dispatch import run_job

    kind = options.format_of(args.kind, args.output, _TABLES, "mageck")
    try:
        names = args.names and args.names.split(",")
        first, sheet = args.mates1 or args.reads, args.samples
        samples = read_sheet(sheet) if sheet else samples_of(first, names, args.mates2)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    for sample in samples if args.mates1 else ():
        options.refuse_same_mates(sample.first, sample.second)
    if len(windows) > 1 and not samples[0].second:
        raise click.UsageError(
            "a slash separates the values of first and second mates: give the files with -1 and -2"
        )
    paths = [path for sample in samples for path in sample.paths]
    strands = options.strands_of(args)
    places = [GuideWindow(**each, anywhere=args.anywhere, strands=strands) for each in windows]
    places *= 2 if samples[0].second and len(places) == 1 else 1
    inputs = [*paths, *args.libraries]
    reads = ReadsOutput(args.al, args.un, bool(samples[0].second))
    job = CountJob(
        tuple(samples),
        args.libraries,
        args.columns or (),
        CountOptions(tuple(places), args.mismatches, args.quality),
        JobOutput(args.output, kind, {}, reads, options.report_of(args.reports, inputs)),
    )

    def check(path: str, begin: int) -> object:
        return (begins_reads if path in paths else begins_library)(path, begin)

    run_job(args, job, args.samples, check=check)
    for sample in samples:
        if repeats := repeated(sample.first, "counted"):
            Progress(args.quiet, warns=True).warn(repeats)


def _windows_of(args: SimpleNamespace) -> list:
    """Check options; return where guides are: a dict for all reads, or one per mate.  Raises UsageError."""
    n_kinds = bool(args.reads) + bool(args.mates1 or args.mates2) + bool(args.samples)
    n_places = (args.offsets is not None) + bool(args.after or args.before) + args.anywhere
    options.refuse(
        (n_places > 1, "give only --offset, or only --anywhere, or --after and --before"),
        (n_kinds == 0, "no reads: give READS, or -1 and -2, or --samples"),
        (n_kinds > 1, "READS, -1 with -2, and --samples cannot be combined: give only one of them"),
        (len(args.mates1) != len(args.mates2), "give -1 and -2 the same number of times: once per sample"),
        (args.samples and args.names, "--names cannot be combined with --samples: the sheet has the names"),
        (args.libraries[2:], "give one library, or one for first mates and one for second mates"),
    )
    flanks = {"offsets": args.offsets, "after": args.after, "before": args.before}
    flanks = {name: each for name, each in flanks.items() if each}
    n_mates = max(map(len, flanks.values()), default=1)
    if n_mates > 2 or any(len(each) != n_mates for each in flanks.values()):
        raise click.UsageError(
            "give values for mates with one slash each, as in --after CACCG/AAAC --before GTTT/GTTT"
        )
    return [{name: each[i] for name, each in flanks.items()} for i in range(n_mates)]
