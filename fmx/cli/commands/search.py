"""fmx search: map reads to an index.  Its options for reads, pairs, samples and outputs."""

import os
import re
from itertools import chain
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
MOST = 500  # bases in the insert of a proper pair
_ORIENTATIONS = {"fr": "towards each other", "rf": "away from each other", "ff": "in the same direction"}
# Parameters under these headings concern hits, which --min-match does not write, but for some.
_OF_HITS, _OF_READS = ("Hits", "Pairs", "Output"), ("stretch", "forward_only", "reverse_only", "reference")
PLACE = "{sample}"  # in the name of an output: replaced by the sample's name


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
    for name in values:
        if set(name.upper()) <= set("ACGTUN") and not os.path.lexists(name):
            raise click.UsageError(f"no file {name}; to search for a sequence, use 'fmx locate -p {name}'")
    return values


def _check_reference(context: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Raise InputError for a file that samtools cannot use as the FASTA of --reference."""
    name, begin = f"--reference {path}", bytearray(1 << 12)
    if not path or os.path.isdir(path) or not os.path.exists(path):
        return path  # reported with the other inputs
    if not os.path.isfile(path):
        raise InputError(name, "", "samtools cannot read a FASTA from a pipe: give a file")
    from ...codecs import kind_of
    from ...codecs.bgzf import LONGEST, block_length
    from ...input.chunks import IS_BAM, no_fasta
    from ...input.streams import Source

    with Source(path) as source, open(path, "rb") as file:
        head = file.read(LONGEST)
        kind = kind_of(head)
        if kind and not block_length(head):
            what = f"samtools cannot use a FASTA compressed with {kind.name}"
            raise InputError(name, "", f"{what}: decompress it, or compress it with bgzip")
        if source.alignments:
            raise InputError(name, "", IS_BAM)
        begin = begin[: source.readinto(begin)].lstrip()
    if not begin:
        raise InputError(name, "", "the file is empty; expected FASTA")
    if begin[0] != ord(">"):
        raise InputError(name, "line 1", no_fasta(begin[0]))
    return path


@options.command
@click.argument("reads", nargs=-1, callback=_need_reads)
@options.indexes
@options.group(
    "Reads",
    click.option("-1", "mates1", metavar="FILES", multiple=True, callback=_split, is_eager=True,
                 help="Files with first mates, comma-separated."),
    click.option("-2", "mates2", metavar="FILES", multiple=True, callback=_split, is_eager=True,
                 help="Files with second mates, comma-separated."),
    click.option("--interleaved", is_flag=True, help="READS alternate between mate 1 and mate 2."),
    click.option("--samples", type=options.FILE, is_eager=True,
                 help="Sample sheet instead of READS: a table with columns sample and reads, and if needed "
                 "reads2 (for pairs) and read_group. With -o {sample}.bam each sample has its own output."),
    click.option("--trim5", type=_BASES, help="Remove N bases from the start of each read."),
    click.option("--trim3", type=_BASES, help="Remove N bases from the end of each read."),
    click.option("--start", type=options.number(1, 2**31),
                 help="Start at base N of each read, counted from 1 (the same as --trim5 N-1)."),
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
                 help="Treat reads with more than N occurrences as unmapped."),
    options.mismatches,
    click.option("--strata", is_flag=True,
                 help="Report only the hits, or proper pairs, with the fewest mismatches."),
    click.option("--min-match", "stretch", type=options.number(*limits.STRETCH),
                 help="Find reads of which N consecutive bases, such as 31, occur, not all, and pairs with "
                 "such a mate, for --al, --un, --screen and --counts; no hits are written."),
    options.rare(
        click.option("--seed", type=options.number(*limits.SEED),
                     help="Choose the reported hits at random, not the first; the same N gives the same "
                     "hits."),
    ),
    options.strands,
)  # fmt: skip
@options.group(
    "Pairs",
    click.option("--min-insert", "least", type=_INSERT,
                 help="Smallest insert size of a proper pair, in bases.  [default: 0]"),
    click.option("--max-insert", "most", type=_INSERT,
                 help=f"Largest insert size of a proper pair, in bases.  [default: {MOST}]"),
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
    click.option("--reference", type=click.Path(), metavar="FASTA", callback=_check_reference,
                 help="Reference for writing or reading CRAM."),
    click.option("--no-unmapped", is_flag=True, help="Do not write unmapped reads."),
    options.rare(
        click.option("--tags", metavar="NAME,...",
                     show_default="NH,HI,NM,MD, MC of mates",
                     help="SAM tags to write, comma-separated, or none; RG is always written."),
        click.option("--nh", type=click.Choice(["total", "reported"]), default="total",
                     help="Set the tag NH to the number of all occurrences (total), or of the reported "
                     "hits."),
    ),
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
                 "-o or --format.  [default with several -x and no -o: standard output]"),
    click.option("--al", type=options.READS,
                 help="Also write the mapped reads to FILE, unchanged; compressed if it ends with .gz. With "
                 "{target} in the name, each contig has a file (with several -x: each index; --counts-by "
                 "group: each group)."),
    options.rare(
        click.option("--shared", type=click.Choice(["ambiguous", "each"]), default="ambiguous",
                     help="With {target} in --al: write reads of several targets to a file called ambiguous, "
                     "or to the file of each."),
    ),
    click.option("--un", type=options.READS,
                 help="Also write the unmapped reads to FILE, unchanged; compressed if it ends with .gz."),
    options.reporting(KINDS["search"]),
)  # fmt: skip
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
    fmx search -x host.fmx --min-match 31 reads.fq.gz --un clean.fq.gz
    """
    files = (*args.reads, *args.mates1, *args.mates2)
    is_plain = not (args.mismatches or args.collapse or args.shard or args.comments) and args.first is None
    if args.engine == "auto" and is_plain and is_large(files):
        wake(args.device or 0)
    if args.mismatches:
        keep_freed()  # each thread needs large arrays for words again and again
    options.refuse(
        (args.report_all and args.limit != 1, "give only one of -a and -k"),
        (args.start and args.trim5, "give only one of --start and --trim5"),
        (args.strata and not args.mismatches, "--strata needs --mismatches 1 or 2"),
    )
    from ...input.chunks import repeated
    from ...machines.progress import Progress
    from ..dispatch import run_jobs

    jobs = _jobs_of_sheet(args) if args.samples else [_job_of(args, args.mates1 or args.reads, args.mates2)]
    run_jobs(args, jobs, args.samples, args.reference)
    for job in jobs:
        if warning := repeated(job.reads.first, "mapped"):
            Progress(args.quiet, warns=True).warn(warning)


def _job_of(
    args: SimpleNamespace, first: tuple, second: tuple, groups: "ReadGroups | None" = None, sample: str = ""
) -> "SearchJob":
    """Return the job for files of reads, or of mates; ``groups``: None to take --rg or those of the files."""
    pairing = _pairing_of(args, bool(second))
    from ...input.reads import WHOLE, Trim
    from ...jobs.search import ReadInput, SearchJob
    from ...output.files import TARGET, ReadsOutput
    from ...output.records import COMMENTS, EVERY, REPORTED, TAGS
    from ...output.search_output import SearchOutput
    from ...search.hits import ALL, Near, SelectionPolicy
    from ...search.mapping import MapOptions

    groups = groups or _read_groups(args.rg, () if args.collapse else (*first, *second))
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
    options.check_reads(args.al, args.un, args.collapse)
    tags = REPORTED * (args.nh == "reported") | COMMENTS * args.comments | EVERY * (args.tags is None)
    for name in args.tags.split(",") if args.tags not in (None, "none") else ():
        if name not in TAGS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(TAGS)}", param_hint="--tags")
        tags |= TAGS[name]
    limit, seed = ALL if args.report_all else args.limit, -1 if args.seed is None else args.seed
    policy = SelectionPolicy(0 if kind == "nothing" else limit, args.at_most or ALL, seed)
    counts_all = bool(args.report_all or args.at_most or args.counts or screen or args.reports or pairing)
    counts_all |= args.nh == "total" or kind not in ("sam", "bam", "cram")
    near = Near(args.mismatches, strata=args.strata, counts_all=counts_all) if args.mismatches else None
    begin, length = args.start - 1 if args.start else args.trim5 or 0, args.length or WHOLE.most
    trim = Trim(begin, args.trim3 or 0, length)
    mapping = MapOptions(
        policy,
        options.strands_of(args),
        near=near,
        stretch=args.stretch or 0,
        pairing=pairing,
        cpu_only="-a" if policy.limit == ALL else "",
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
    reads = ReadInput(first, second, args.reference, sample, tags="*" if args.comments else "RG")
    return SearchJob(index, reads, mapping, output)


def _pairing_of(args: SimpleNamespace, has_mates: bool) -> "Pairing | None":
    """Return the Pairing if reads are pairs, else None; ``has_mates``: in two files.  Raises UsageError."""
    orientations = [name for name in _ORIENTATIONS if vars(args)[name]]
    if not (has_mates or args.mates1 or args.mates2 or args.interleaved):
        insert = {"max-insert": args.most, "min-insert": args.least}
        for name in (*orientations, *(name for name, bases in insert.items() if bases is not None)):
            raise click.UsageError(f"--{name} needs pairs: give them as -1 and -2, or with --interleaved")
        return None
    least, most = args.least or 0, MOST if args.most is None else args.most
    n_first, n_second = len(args.mates1), len(args.mates2)
    columns = "the mates columns" if args.samples else "-1 and -2"
    options.refuse(
        (orientations[1:], f"give only one of --{' and --'.join(orientations[:2])}"),
        (least > most, f"--min-insert {least} is more than --max-insert {most}"),
        (args.interleaved and (has_mates or n_first or n_second),
         f"--interleaved means that READS hold both mates: leave out {columns}"),
        (n_second and not n_first, "-2 is given without -1: name the files of first mates with -1"),
        (n_first and not n_second, "-1 is given without -2: name the files of second mates with -2"),
        (n_first != n_second, f"-1 has {n_of(n_first, 'file')} but -2 has {n_second}: give one file with "
         "second mates for each file with first mates"),
        (args.collapse, "--collapse works on single reads only, not on pairs"),
    )  # fmt: skip
    options.refuse_same_mates(args.mates1, args.mates2, "; if it holds both mates, use --interleaved")
    from ...search.mapping import Pairing

    return Pairing((*orientations, "fr")[0], least, most, args.interleaved)


def _hits_and_screen(args: SimpleNamespace, kind: str) -> tuple[str | None, str, str | None]:
    """Return (path of the hits or None, their kind, path of the screen or None); ``kind``: format of -o."""
    context, to_stdout = click.get_current_context(), "-" in (args.counts, args.al, args.un)
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
        if not args.screen and to_stdout:
            raise click.UsageError(
                "without -o, the table of --screen goes to standard output: give --screen FILE"
            )
    elif of_hits:
        raise click.UsageError(f"--min-match cannot be combined with {of_hits[0]}: no hits are written")
    screen = args.screen or (None if to_stdout else "-")
    return args.output if args.shard else None, "nothing", screen


def _read_groups(text: str | None, paths: tuple) -> "ReadGroups":
    """Return the read groups of ``paths``, or the one of ``text``, the value of --rg, if it is not None."""
    from ...input.streams import Source
    from ...output.search_output import ReadGroups

    if text is not None:
        try:
            return ReadGroups(*_named_group(text))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--rg") from error
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


def _named_group(text: str) -> tuple[str, str]:
    """Return (@RG line, its ID) from the value of --rg.  Raises ValueError if SAM does not allow it."""
    line = text.replace("\\t", "\t")
    start, *fields = line.split("\t")
    tags = [field[:2] for field in fields]
    values = {field[:2]: field[3:] for field in fields}
    if start != "@RG" or not values.get("ID"):
        raise ValueError(r"must look like '@RG\tID:name\tSM:sample'")
    for field in fields:
        described = field.startswith("DS:") and field.isprintable()  # DS may contain UTF-8
        if not re.fullmatch("[A-Za-z][A-Za-z0-9]:[ -~]+", field) and not described:
            raise ValueError(f"'{field}' is not a tag of two characters, a colon and printable ASCII")
        if tags.count(field[:2]) > 1:
            raise ValueError(f"{field[:2]} is given twice")
    if " " in values["ID"]:
        raise ValueError("the ID contains a space")
    return line, values["ID"]


def _jobs_of_sheet(args: SimpleNamespace) -> "list[SearchJob]":
    """Return one job per sample of a sheet, or one for all if no name of an output contains {sample}."""
    from ...guides.samples import read_sheet
    from ...output.search_output import ReadGroups

    samples = read_sheet(args.samples)
    if args.rg is not None:
        raise click.UsageError("--rg cannot be combined with --samples: use the sheet's column read_group")
    groups: dict[str, tuple[str, str]] = {}  # of each file: the @RG line, and its ID
    lines: dict[str, str] = {}
    for sample in samples:
        for path, group in zip(sample.paths, sample.groups * (2 if sample.second else 1), strict=True):
            where = f"sample {sample.name}"
            if path == "-":
                raise InputError(args.samples, where, "-: standard input cannot be used in a sample sheet")
            if path in groups:
                raise InputError(args.samples, "", f"{path} is listed twice")
            try:
                line, name = _named_group(group or f"@RG\tID:{sample.name}\tSM:{sample.name}")
            except ValueError as error:
                raise InputError(args.samples, where, f"read_group: {error}") from error
            if lines.setdefault(name, line) != line:
                what = f"read group {name} is listed twice, with different fields"
                raise InputError(args.samples, "", what)
            groups[path] = line, name

    def job(args: SimpleNamespace, first: tuple, second: tuple, sample: str = "") -> "SearchJob":
        names = tuple(groups[path][1] for path in (*first, *second))
        lines = dict.fromkeys(groups[path][0] for path in (*first, *second))
        if args.collapse and lines.keys() - {next(iter(lines))} and sample:
            raise click.UsageError(f"--collapse: sample {sample} has several read groups; give it one")
        read_groups = ReadGroups("\n".join(lines), names[0], of_files=names if len(lines) > 1 else ())
        return _job_of(args, first, second, read_groups, sample)

    first, second = (
        tuple(chain(*files)) for files in zip(*((x.first, x.second) for x in samples), strict=True)
    )
    whole = job(args, first, second)
    places = {option: path for option, path in whole.output.places.items() if path}
    if not any(PLACE in path for path in places.values()):
        if args.collapse:
            raise click.UsageError(
                f"--collapse needs one output per sample: put {PLACE} into the names of the outputs"
            )
        return [whole]
    for option in (option for option, path in places.items() if PLACE not in path):
        raise click.UsageError(f"{option} would be overwritten by each sample: put {PLACE} into its name")
    for name in (sample.name for sample in samples if "/" in sample.name):
        raise click.UsageError(f"sample {name}: the name contains '/' and cannot be part of a file name")

    jobs, outputs = [], ("output", "counts", "screen", "al", "un")
    for one in samples:
        paths = {each: (vars(args)[each] or "").replace(PLACE, one.name) or None for each in outputs}
        reports = tuple(path.replace(PLACE, one.name) for path in args.reports)
        of_sample = SimpleNamespace(**{**vars(args), **paths, "reports": reports})
        jobs.append(job(of_sample, one.first, one.second, one.name))
    return jobs
