"""fmx search: map reads to an index.  Its options for reads, pairs, samples and outputs."""

import os
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ... import limits
from ...errors import InputError, n_of
from ...machines.places import is_large, wake
from ...output import kinds_of
from ...report import KINDS
from ...system import keep_freed
from .. import options

if TYPE_CHECKING:
    from ...jobs.search import SearchJob
    from ...output.search_output import ReadGroups
    from ...search.mapping import Pairing

_BASES = options.number(0, 2**31)
_INSERT = options.number(*limits.INSERT)
_MOST = 500  # bases in the insert of a proper pair
_ORIENTATIONS = {"fr": "towards each other", "rf": "away from each other", "ff": "in the same direction"}
# Parameters under these headings concern hits, which --min-match does not write, but for _OF_READS.
_OF_HITS, _OF_READS = ("Hits", "Pairs", "Output"), ("stretch", "forward_only", "reverse_only", "reference")


def _check_reference(path: str) -> None:
    """Raise InputError for a file that samtools cannot use as the FASTA of --reference."""
    from ...align.sequences import check_begin
    from ...codecs import kind_of
    from ...codecs.bgzf import LONGEST, block_length
    from ...input.chunks import look_at

    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise InputError(path, "", "samtools cannot read a FASTA from a pipe: give a file")
    look_at(path, check_begin)
    with open(path, "rb") as file:
        head = file.read(LONGEST)
    if (kind := kind_of(head)) and not block_length(head):
        what = f"samtools cannot use a FASTA compressed with {kind.name}"
        raise InputError(path, "", f"{what}: decompress it, or compress it with bgzip")


@options.command
@click.argument("reads", nargs=-1)
@options.indexes
@options.group(
    "Reads",
    click.option("-1", "mates1", metavar="FILES", multiple=True,
                 help="Files with first mates, comma-separated."),
    click.option("-2", "mates2", metavar="FILES", multiple=True,
                 help="Files with second mates, comma-separated."),
    click.option("--interleaved", is_flag=True, help="READS alternate between mate 1 and mate 2."),
    click.option("--trim5", type=_BASES, help="Remove N bases from the start of each read."),
    click.option("--trim3", type=_BASES, help="Remove N bases from the end of each read."),
    click.option("--start", type=options.number(1, 2**31),
                 help="Start at base N of each read, counted from 1 (--trim5 N-1)."),
    click.option("--length", type=options.number(1, 2**31), help="Keep at most N bases of each read."),
    click.option("--min-length", type=_BASES,
                 help="Treat reads shorter than N bases after trimming as unmapped."),
    click.option("--skip", type=options.COUNT, help="Skip the first N reads or pairs."),
    click.option("--first", type=options.COUNT, help="Map only the first N reads or pairs, after --skip."),
    click.option("--collapse", is_flag=True, help="Map identical reads once, as NAME_xN for N copies."),
)  # fmt: skip
@options.group(
    "Hits",
    click.option("-k", "limit", type=options.COUNT, default=1, help="Report up to N hits per read."),
    click.option("-a", "--all", "report_all", is_flag=True, help="Report all hits."),
    click.option("-m", "at_most", type=options.COUNT,
                 help="Treat reads with more than N occurrences, or pairs with more than N proper pairs, as "
                 "unmapped."),
    options.mismatches,
    click.option("--strata", is_flag=True,
                 help="Report and count only the hits, or proper pairs, with the fewest mismatches."),
    click.option("--min-match", "stretch", is_flag=False, flag_value=limits.USUAL_STRETCH, metavar="[N]",
                 type=options.number(*limits.STRETCH, before=f"--min-match {limits.USUAL_STRETCH}"),
                 help=f"Count a read as mapped if N consecutive bases of it occur ({limits.USUAL_STRETCH} "
                 "without N), and a pair if one of its mates does; no hits are written."),
    click.option("--seed", type=options.number(*limits.SEED),
                 help="Choose the reported hits at random, not the first; the same N gives the same "
                 "hits."),
    options.strands,
)  # fmt: skip
@options.group(
    "Pairs",
    click.option("--min-insert", "least", type=_INSERT,
                 help="Smallest insert size of a proper pair, in bases.  [default: 0]"),
    click.option("--max-insert", "most", type=_INSERT,
                 help=f"Largest insert size of a proper pair, in bases.  [default: {_MOST}]"),
    *(
        click.option(f"--{name}", is_flag=True,
                     help=f"Mates of a proper pair point {how}{' (default)' if name == 'fr' else ''}.")
        for name, how in _ORIENTATIONS.items()
    ),
)  # fmt: skip
@options.group(
    "Output",
    options.output,
    options.output_format(kinds_of("search"), "sam"),
    click.option("--sort", is_flag=True, help="Sort BAM or CRAM by position and index it."),
    click.option("--reference", type=click.Path(), metavar="FASTA",
                 help="Reference for writing or reading CRAM."),
    click.option("--no-unmapped", is_flag=True,
                 help="Leave out unmapped reads, or pairs with both mates unmapped."),
    click.option("--tags", metavar="NAME,...",
                 show_default="NH,HI,NM,MD, MC of mates",
                 help="SAM tags to write, comma-separated, or none; RG is always written."),
    click.option("--nh", type=click.Choice(["total", "reported"]), default="total",
                 help="Set the tag NH to the number of all occurrences (total), or of the reported "
                 "hits."),
    click.option("-C", "--comments", is_flag=True,
                 help="Copy the SAM tags in the comments of reads, or the tags of BAM and CRAM, to the "
                 "records."),
    click.option("--rg", metavar="LINE", help=r"Read group of all reads, e.g. '@RG\tID:lane1\tSM:sample'."),
)  # fmt: skip
@options.group(
    "Tables and reports",
    click.option("--counts", type=options.TABLE, help="Also write a table of reads and hits per contig."),
    click.option("--counts-by", type=click.Choice(["contig", "group"]), default="contig",
                 help="Let --counts count per contig, or per group of contigs."),
    click.option("--screen", type=options.TABLE,
                 help="Count reads by the combination of groups of contigs (with several -x: of indexes) "
                 "that they occur in, and write the table to FILE as TSV. Hits are then written only with "
                 "-o or --format.  [default with several -x or --min-match and no -o, --format or "
                 "--counts: standard output]"),
    click.option("--al", type=options.READS,
                 help="Also write the mapped reads to FILE, unchanged; compressed if it ends with .gz. With "
                 "{target} in the name, each contig has a file (with several -x: each index; --counts-by "
                 "group: each group)."),
    click.option("--shared", type=click.Choice(["ambiguous", "each"]), default="ambiguous",
                 help="With {target} in --al: write reads of several targets to a file called ambiguous, "
                 "or to the file of each."),
    click.option("--un", type=options.READS,
                 help="Also write the unmapped reads to FILE, unchanged; compressed if it ends with .gz."),
    options.reporting(KINDS["search"]),
)  # fmt: skip
@options.sharing
@options.searching
def command(args: SimpleNamespace) -> None:
    """Map reads to an index.

    READS are FASTA, FASTQ, BAM or CRAM files, compressed or not; - is standard input. The output is SAM
    unless the suffix of -o or --format names another format; records are in the order of the reads unless
    --sort is given. With several -x or --min-match, and without -o, --format or --counts, the output is a
    table of how many reads occur in which indexes or groups.

    Examples:
    fmx search -x ref.fmx reads.fq.gz -o hits.bam
    fmx search -x ref.fmx -1 mates_1.fq.gz -2 mates_2.fq.gz --sort -o pairs.bam
    fmx search -x host.fmx --min-match 31 reads.fq.gz --un clean.fq.gz
    """
    lists = args.mates1, args.mates2  # each of comma-separated names
    mates1, mates2 = (tuple(filter(None, ",".join(names).split(","))) for names in lists)
    first, second = mates1 or args.reads, mates2
    is_plain = not (args.mismatches or args.collapse or args.shard or args.comments) and args.first is None
    if args.engine == "auto" and is_plain and is_large((*first, *second)):
        wake(args.device or 0)
    if args.mismatches:
        keep_freed()  # each thread needs large arrays for words again and again
    options.refuse(
        (not (first or second), "no reads: give READS, or -1 and -2"),
        (args.reads and (mates1 or mates2),
         "READS cannot be combined with -1 and -2: map single reads in a separate run, or give several files "
         "of mates as -1 A,B -2 C,D"),
        (len(mates1) != len(mates2), f"-1 has {n_of(len(mates1), 'file')} but -2 has {len(mates2)}: give one "
         "file with second mates for each file with first mates"),
        (args.report_all and args.limit != 1, "give only one of -a and -k"),
        (args.start and args.trim5, "give only one of --start and --trim5"),
        (args.strata and not args.mismatches, "--strata needs --mismatches 1 or 2"),
    )  # fmt: skip
    from ...input.chunks import repeated
    from ...machines.progress import Progress
    from ..dispatch import run_job

    job = _job_of(args, first, second)
    if args.reference:
        _check_reference(args.reference)
    run_job(args, job, args.reference)
    if warning := repeated(first, "mapped"):
        Progress(args.quiet, warns=True).warn(warning)


def _job_of(args: SimpleNamespace, first: tuple, second: tuple) -> "SearchJob":
    """Return the job for files of reads, or of mates.  Raises UsageError."""
    pairing = _pairing_of(args, first, second)
    from ...input.reads import WHOLE, Trim
    from ...jobs.search import ReadInput, SearchJob
    from ...output.files import TARGET, ReadsOutput
    from ...output.records import COMMENTS, EVERY, REPORTED, TAGS
    from ...output.search_output import SearchOutput
    from ...search.hits import SelectionPolicy
    from ...search.mapping import MapOptions, Near

    groups = _read_groups(args.rg, () if args.collapse else (*first, *second))
    kind = options.format_of(args.kind, args.output, kinds_of("search"), "sam")
    hits, kind, screen = _hits_and_screen(args, kind)
    by_group, is_by_target = args.counts_by == "group", TARGET in (args.al or "")
    options.refuse(
        (args.sort and kind not in ("bam", "cram"),
         "--sort needs BAM or CRAM output: use -o NAME.bam or -o NAME.cram"),
        (args.comments and (args.collapse or kind not in ("sam", "bam", "cram")),
         "-C needs SAM, BAM or CRAM output, without --collapse"),
        (by_group and not (args.counts or is_by_target),
         f"--counts-by group needs --counts FILE, or {TARGET} in the name of --al"),
        (args.shared == "each" and not is_by_target, f"--shared each needs {TARGET} in the name of --al"),
    )  # fmt: skip
    for option, path in (("--al", args.al), ("--un", args.un)):
        if path and args.collapse:
            options.check_suffix(option, path, ["fasta", options.GZIP])
    tags = REPORTED * (args.nh == "reported") | COMMENTS * args.comments | EVERY * (args.tags is None)
    for name in args.tags.split(",") if args.tags not in (None, "none") else ():
        if name not in TAGS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(TAGS)}", param_hint="--tags")
        tags |= TAGS[name]
    limit, seed = limits.ALL if args.report_all else args.limit, -1 if args.seed is None else args.seed
    policy = SelectionPolicy(0 if kind == "nothing" else limit, args.at_most or limits.ALL, seed)
    counts_all = bool(args.report_all or args.at_most or args.counts or screen or args.reports or pairing)
    counts_all |= is_by_target or args.nh == "total" or kind not in ("sam", "bam", "cram")
    near = Near(args.mismatches, strata=args.strata, counts_all=counts_all) if args.mismatches else None
    trim = Trim(args.start - 1 if args.start else args.trim5 or 0, args.trim3 or 0, args.length or WHOLE.most)
    mapping = MapOptions(
        policy,
        options.strands_of(args),
        near=near,
        stretch=args.stretch or 0,
        pairing=pairing,
        cpu_only="-a" if policy.limit == limits.ALL else "",
        skip=args.skip or 0,
        first=args.first,
        collapse=trim if args.collapse else None,
        trim=(Trim() if args.collapse else trim)._replace(least=args.min_length or 0),
    )
    index = options.index_of(args)
    tables = {option: path for option, path in (("--counts", args.counts), ("--screen", screen)) if path}
    several = by_group or len(args.index_paths) > 1
    output = SearchOutput(
        hits,
        kind,
        tables,
        ReadsOutput(args.al, args.un, bool(second), several, args.shared == "each"),
        options.report_of(args.reports, (*first, *second), index.paths),
        not args.no_unmapped,
        tags,
        groups,
        args.sort,
        args.reference,
        args.mismatches,
        by_group=by_group or bool(screen and not args.counts),
    )
    reads = ReadInput(first, second, args.reference, tags="*" if args.comments else "RG")
    return SearchJob(index, reads, mapping, output)


def _pairing_of(args: SimpleNamespace, first: tuple, second: tuple) -> "Pairing | None":
    """Return the Pairing if reads are pairs, else None.  Raises UsageError."""
    orientations = [name for name in _ORIENTATIONS if vars(args)[name]]
    if not (second or args.interleaved):
        insert = {"max-insert": args.most, "min-insert": args.least}
        for name in (*orientations, *(name for name, bases in insert.items() if bases is not None)):
            raise click.UsageError(f"--{name} needs pairs: give them as -1 and -2, or with --interleaved")
        return None
    least, most = args.least or 0, _MOST if args.most is None else args.most
    options.refuse(
        (orientations[1:], f"give only one of --{' and --'.join(orientations[:2])}"),
        (least > most, f"--min-insert {least} is more than --max-insert {most}"),
        (args.interleaved and second,
         "--interleaved means that READS hold both mates: leave out -1 and -2"),
        (args.collapse, "--collapse works on single reads only, not on pairs"),
    )  # fmt: skip
    if second:
        options.refuse_same_mates(first, second, "; if it holds both mates, use --interleaved")
    from ...search.mapping import Pairing

    return Pairing((*orientations, "fr")[0], least, most, args.interleaved)


def _hits_and_screen(args: SimpleNamespace, kind: str) -> tuple[str | None, str, str | None]:
    """Return (path of the hits or None, their kind, path of the screen or None); ``kind``: format of -o."""
    context, has_output = click.get_current_context(), bool(args.counts) or "-" in (args.al, args.un)
    of_hits = [
        param.opts[0] for param in context.command.params
        if getattr(param, "heading", "") in _OF_HITS and param.name not in _OF_READS
        and context.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT
        and not (args.shard and param.name == "output")  # a folder of shards
    ]  # fmt: skip
    if not args.stretch:
        has_hits = "-o" in of_hits or args.kind or args.sort
        if has_hits or not (args.screen or args.index_paths[1:]):
            return args.output, kind, args.screen
    elif of_hits:
        raise click.UsageError(f"--min-match cannot be combined with {of_hits[0]}: no hits are written")
    screen = args.screen or (None if has_output else "-")
    return args.output if args.shard else None, "nothing", screen


def _read_groups(text: str | None, paths: tuple) -> "ReadGroups":
    """Return the read groups of ``paths``, or the one of ``text``, the value of --rg, if it is not None."""
    from ...input.streams import Source
    from ...output.search_output import ReadGroups

    if text is not None:
        line = text.replace("\\t", "\t")
        start, *fields = line.split("\t")
        values = {field[:2]: field[3:] for field in fields}
        is_sam = all(re.fullmatch("[A-Za-z][A-Za-z0-9]:[ -~]+|DS:.+", field) for field in fields)
        is_once = len(values) == len(fields) and text.replace("\t", "").isprintable()
        if start != "@RG" or not (is_sam and is_once) or not re.fullmatch("[^ ]+", values.get("ID", "")):
            what = r"must look like '@RG\tID:name\tSM:sample': each tag once, printable, no space in the ID"
            raise click.BadParameter(what, param_hint="--rg")
        return ReadGroups(line, values["ID"])
    lines: dict = {}
    for path in filter(os.path.isfile, paths):
        with Source(path) as source:
            groups = source.alignments.read_groups() if source.alignments else []
        for line in groups:
            name = dict(field.split(":", 1) for field in line.split("\t")[1:])["ID"]
            if lines.setdefault(name, line) != line:
                raise click.UsageError(
                    f"{path}: read group {name} differs from that of another file: give --rg for all reads"
                )
    return ReadGroups("\n".join(lines.values()), longest=max(map(len, lines), default=0))
