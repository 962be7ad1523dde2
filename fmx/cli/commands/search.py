"""fmx search: map reads to an index.  Its options for files of reads, trimming and pairs."""

import os
import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from ... import limits, options
from ...errors import n_of
from ...machines.places import is_large, wake
from ...system.process import keep_freed
from ..outputs import output_of, with_report, writing

if TYPE_CHECKING:
    from ...jobs.search import ReadInput
    from ...search.pairs.proper import Pairing

READS, PAIRS = "Reads", "Pairs"  # headings of --help
_BASES = options.Number(0, 2**31)


def reading_of(args: SimpleNamespace) -> dict:
    """Return the fields of MapOptions from the options for reads.  Raises UsageError."""
    if args.start and args.trim5:
        raise click.UsageError("give only one of --start and --trim5")
    from ...input.reads import WHOLE, Trim

    begin = args.start - 1 if args.start else args.trim5 or 0
    trim, least = Trim(begin, args.trim3 or 0, args.length or WHOLE.most), args.min_length or 0
    fields = {"skip": args.skip or 0, "first": args.first}
    if args.collapse:
        return {**fields, "collapse": trim, "trim": Trim(least=least)}
    return {**fields, "trim": trim._replace(least=least)}


class HitCount(options.Number):
    """The number of hits to report per read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "all":
            self.fail("use -a to report all hits", param, ctx)
        return super().convert(value, param, ctx)


# Options for pairs.

_INSERT = options.Number(*limits.INSERT)
MOST = 500  # bases
_ORIENTATIONS = {"fr": "towards each other", "rf": "away from each other", "ff": "in the same direction"}


def _split(context: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files from comma-separated lists, in order."""
    files = tuple(name for value in values for name in value.split(","))
    if "" in files:
        raise click.BadParameter("empty file name in a comma-separated list", param=param)
    return files


def _need_reads(context: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Check that READS are given, unless -1 and -2 or --samples are."""
    mates = context.params["mates1"], context.params["mates2"]
    if values and mates[0] and not mates[1]:
        raise click.UsageError(f"-1 is given without -2: did you mean -2 {values[0]}?")
    if values and any(mates):
        raise click.UsageError(
            f"{values[0]} cannot be combined with -1 and -2: map single reads in a separate run, "
            "or give several files of mates as -1 A,B -2 C,D"
        )
    if context.params["samples"] and (values or any(mates)):
        raise click.UsageError("give only one of READS, -1 with -2, and --samples")
    if not values and not any(mates) and not context.params["samples"]:
        raise click.MissingParameter(param=param, ctx=context)
    return values


def _files(name: str, number: int) -> Callable[..., Any]:
    text = f"Files with {'second' if number > 1 else 'first'} mates, comma-separated."
    return click.option(
        name, f"mates{number}", metavar="FILES", multiple=True, callback=_split, is_eager=True, help=text
    )


reads = click.argument("reads", nargs=-1, callback=_need_reads)
files = options.group(
    READS,
    _files("-1", 1),
    _files("-2", 2),
    click.option("--interleaved", is_flag=True, help="READS alternate between mate 1 and mate 2."),
    click.option(
        "--samples", type=click.Path(), metavar="FILE", is_eager=True,
        help="Sample sheet instead of READS: a table with columns sample and reads, and if needed reads2 "
        "(for pairs) and read_group. With -o {sample}.bam each sample has its own output.",
    ),
)  # fmt: skip
pairing = options.group(
    PAIRS,
    click.option(
        "--min-insert", "least", type=_INSERT, metavar="N",
        help="Smallest insert size of a proper pair, in bases.  [default: 0]",
    ),
    click.option(
        "--max-insert", "most", type=_INSERT, metavar="N",
        help=f"Largest insert size of a proper pair, in bases.  [default: {MOST}]",
    ),
    *(
        click.option(
            f"--{name}", is_flag=True,
            help=f"Mates of a proper pair point {how}{' (default)' if name == 'fr' else ''}.",
        )
        for name, how in _ORIENTATIONS.items()
    ),
)  # fmt: skip
reading = options.group(
    READS,
    click.option("--trim5", type=_BASES, metavar="N", help="Remove N bases from the start of each read."),
    click.option("--trim3", type=_BASES, metavar="N", help="Remove N bases from the end of each read."),
    click.option(
        "--start", type=options.Number(1, 2**31), metavar="N",
        help="Start at base N of each read, counted from 1 (the same as --trim5 N-1).",
    ),
    click.option(
        "--length", type=options.Number(1, 2**31), metavar="N", help="Keep at most N bases of each read."
    ),
    click.option(
        "--min-length", type=_BASES, metavar="N",
        help="Treat reads shorter than N bases after trimming as unmapped.",
    ),
    click.option("--skip", type=options.COUNT, metavar="N", help="Skip the first N reads or pairs."),
    click.option(
        "--first", type=options.COUNT, metavar="N", help="Map only the first N reads or pairs, after --skip."
    ),
    click.option(
        "--collapse", is_flag=True, help="Map identical reads once, as NAME_xN for N copies."
    ),
)  # fmt: skip


def pairing_of(args: SimpleNamespace, has_mates: bool = False) -> "Pairing | None":
    """The Pairing if reads are pairs, else None; ``has_mates``: a sample sheet names files with mates 2.

    Raises UsageError.
    """
    chosen = [name for name in _ORIENTATIONS if vars(args)[name]]
    if not (args.mates1 or args.mates2 or args.interleaved or has_mates):
        for_pairs = [
            *chosen,
            *(["max-insert"] * (args.most is not None)),
            *(["min-insert"] * (args.least is not None)),
        ]
        if for_pairs:
            raise click.UsageError(
                f"--{for_pairs[0]} needs pairs: give them as -1 and -2, or with --interleaved"
            )
        return None
    if len(chosen) > 1:
        raise click.UsageError(f"give only one of --{chosen[0]} and --{chosen[1]}")
    least, most = args.least or 0, MOST if args.most is None else args.most
    if least > most:
        raise click.UsageError(f"--min-insert {least} is more than --max-insert {most}")
    _check_files(args, has_mates)
    if args.collapse:
        raise click.UsageError("--collapse works on single reads only, not on pairs")
    from ...search.pairs.proper import Pairing

    return Pairing((*chosen, "fr")[0], least, most, args.interleaved)


def _check_files(args: SimpleNamespace, has_mates: bool) -> None:
    """Raise UsageError unless each file with mates 1 has one with mates 2."""
    if args.interleaved:
        if args.mates1 or args.mates2 or has_mates:
            other = "the mates columns" if has_mates else "-1 and -2"
            raise click.UsageError(f"--interleaved means that READS hold both mates: leave out {other}")
        return
    if len(args.mates1) != len(args.mates2):
        if not args.mates1:
            raise click.UsageError("-2 is given without -1: name the files of first mates with -1")
        if not args.mates2:
            raise click.UsageError("-1 is given without -2: name the files of second mates with -2")
        one, two = n_of(len(args.mates1), "file"), len(args.mates2)
        raise click.UsageError(
            f"-1 has {one} but -2 has {two}: give one file with second mates for each file with first mates"
        )
    advice = "; if it holds both mates, use --interleaved"
    options.refuse_same_mates(args.mates1, args.mates2, advice)


def warn_of_mates(inputs: "Iterable[ReadInput]", quiet: bool) -> None:
    """Warn of single reads that look like mates, and of swapped mates."""
    from ...input.chunks import advice, swapped
    from ...machines.progress import Progress

    for reads in inputs:
        if advice_of_mates := swapped(reads.first, reads.second) if reads.second else advice(reads.first):
            Progress(quiet, warns=True).warn(advice_of_mates)


@options.command
@reads
@options.indexes
@files
@reading
@options.group(
    "Hits",
    click.option(
        "-k", "limit", type=HitCount(*limits.COUNT), default=1, show_default=True,
        help="Report up to N hits per read.",
    ),
    click.option("-a", "--all", "report_all", is_flag=True, help="Report all hits."),
    click.option(
        "-m", "at_most", type=options.COUNT, metavar="N",
        help="Treat reads with more than N occurrences as unmapped.",
    ),
    options.mismatches,
    click.option(
        "--strata", is_flag=True,
        help="Report only the hits, or proper pairs, with the fewest mismatches.",
    ),
    options.rare(
        click.option(
            "--seed", type=options.Number(*limits.SEED),
            help="Choose the reported hits at random, not the first; the same N gives the same hits.",
        ),
    ),
    options.strands,
)  # fmt: skip
@pairing
@writing
@options.sharing
@options.searching
def command(args: SimpleNamespace) -> None:
    """Map reads to an index.

    READS are FASTA, FASTQ, BAM or CRAM files, compressed or not; - is standard input. Records are
    written in the order of the reads, as SAM unless the suffix of -o or --format names another format. The
    tag NH is the number of occurrences of the read. With several -x and without -o, the output is a table of
    how many reads occur in which indexes.

    Examples:
    fmx search -x ref.fmx reads.fq.gz -o hits.bam
    fmx search -x ref.fmx -1 mates_1.fq.gz -2 mates_2.fq.gz --sort -o pairs.bam
    fmx search -x ref.fmx -a --mismatches 1 --strata reads.fq.gz > hits.sam
    """
    for name in args.reads:
        if set(name.upper()) <= set("ACGTUN") and not os.path.lexists(name):
            raise click.UsageError(f"no file {name}; to search for a sequence, use 'fmx locate -p {name}'")
    named = (args.output, args.counts, args.screen, args.al, args.un, *args.reports)
    for path in filter(None, named):
        if field := re.search(r"\{\w*\}", path):
            if not args.samples:
                raise click.UsageError(f"{path}: {field[0]} in the name of an output needs --samples")
            if field[0] != "{sample}":
                raise click.UsageError(f"{path}: the place for the name of the sample is {{sample}}")
    files = (*args.reads, *args.mates1, *args.mates2)
    is_plain = not (args.mismatches or args.collapse or args.shard or args.comments) and args.first is None
    if args.engine == "auto" and is_plain and is_large(files):
        wake(args.device or 0)
    if args.mismatches:
        keep_freed()  # each thread needs large arrays for words again and again
    if args.report_all and args.limit != 1:
        raise click.UsageError("give only one of -a and -k")
    samples = []
    if args.samples:
        from ...guides.samples import read_sheet
        from ..samples import jobs_of

        samples = read_sheet(args.samples)
    has_mates = bool(samples and samples[0].second)
    lie = pairing_of(args, has_mates)
    output, outputs_of = output_of(args, has_mates or bool(args.mates1))
    if args.strata and not args.mismatches:
        raise click.UsageError("--strata needs --mismatches 1 or 2")
    from ...jobs.search import ReadInput, SearchJob
    from ...search.hits import ALL, Near, SelectionPolicy
    from ...search.mapping import MapOptions
    from ..dispatch import do, index_of

    limit, seed = ALL if args.report_all else args.limit, -1 if args.seed is None else args.seed
    policy = SelectionPolicy(0 if output.kind == "nothing" else limit, args.at_most or ALL, seed)
    counts_all = bool(args.report_all or args.at_most or output.counts or output.screen or output.report)
    counts_all |= bool(lie) or args.nh == "total" or output.kind not in ("sam", "bam", "cram")
    near = Near(args.mismatches, strata=args.strata, counts_all=counts_all) if args.mismatches else None
    tags = "*" if args.comments else "RG"
    reads = ReadInput(args.mates1 or args.reads, args.mates2, args.reference, tags=tags)
    mapping = MapOptions(policy, options.strands_of(args), near=near, pairing=lie, **reading_of(args))
    job = SearchJob(index_of(args), reads, mapping, output)
    jobs, outputs = jobs_of(args, samples, job, outputs_of) if samples else ([job], outputs_of(output))
    tables = [args.samples] if samples else []
    do(args, outputs, *map(with_report, jobs), tables=tables)
    if not args.interleaved:
        warn_of_mates((each.reads for each in jobs), args.quiet)
