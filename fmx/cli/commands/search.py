"""fmx search: map reads to an index.  Its options for reads, pairs and outputs."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ... import limits
from ...errors import InputError, n_of
from ...machines.places import is_large, wake
from ...output import kinds_of
from ...report.facts import KINDS
from ...system.process import keep_freed
from .. import options
from ..outputs import report_of, reporting

if TYPE_CHECKING:
    from ...guides.samples import Sample
    from ...jobs.search import ReadInput, SearchJob
    from ...output.search_output import SearchOutput
    from ...search.mapping import Pairing

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
pair_options = options.group(
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
    from ...search.mapping import Pairing

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


# Options for outputs.

OUTPUT, TABLES = "Output", "Tables and reports"  # headings of --help
writing = options.together(
    options.group(
        OUTPUT,
        options.output,
        options.output_format(kinds_of("search"), "sam"),
        click.option("--sort", is_flag=True, help="Sort BAM or CRAM by position and index it."),
        click.option(
            "--reference", type=click.Path(), metavar="FASTA", help="Reference for writing or reading CRAM."
        ),
        click.option("--no-unmapped", is_flag=True, help="Do not write unmapped reads."),
        options.rare(
            click.option(
                "--tags", metavar="NAME,...", callback=options.no_empty_name,
                show_default="NH,HI,NM,MD, MC of mates",
                help="SAM tags to write, comma-separated, or none; RG is always written.",
            ),
            click.option(
                "--nh", type=click.Choice(["total", "reported"]), default="total", show_default=True,
                help="Set the tag NH to the number of all occurrences (total), or of the reported hits.",
            ),
        ),
        click.option(
            "-C", "--comments", is_flag=True,
            help="Copy the SAM tags in the comments of reads, or the tags of BAM and CRAM, to the records.",
        ),
        click.option(
            "--rg", metavar="LINE", help=r"Read group of all reads, e.g. '@RG\tID:lane1\tSM:sample'."
        ),
    ),
    options.group(
        TABLES,
        click.option(
            "--counts", type=options.TABLE,
            help="Also write a table of reads and hits per contig.",
        ),
        click.option(
            "--counts-by", type=click.Choice(["contig", "group"]), default="contig", show_default=True,
            help="Let --counts count per contig, or per group of contigs.",
        ),
        click.option(
            "--screen", type=options.TABLE,
            help="Count reads by the combination of groups of contigs (with several -x: of indexes) that "
            "they occur in, and write the table to FILE as TSV. Hits are then written only with -o or "
            "--format.  [default with several -x and no -o: standard output]",
        ),
        click.option(
            "--al", type=options.READS,
            help="Also write the mapped reads to FILE, unchanged; compressed if it ends with .gz.",
        ),
        click.option(
            "--un", type=options.READS,
            help="Also write the unmapped reads to FILE, unchanged; compressed if it ends with .gz.",
        ),
        reporting(KINDS["search"]),
    ),
)  # fmt: skip


def output_of(args: SimpleNamespace, has_mates: bool) -> "SearchOutput":
    """Return the outputs; ``has_mates``: the reads are pairs in two files.  Raises UsageError, InputError."""
    from ...output.search_output import ReadGroups, ReadsOutput, RecordOutput, SearchOutput

    # Collapsed reads have no read groups.
    files = () if args.collapse else (*args.reads, *args.mates1, *args.mates2)
    groups = ReadGroups(*read_groups(args.rg, files))
    kind = options.format_of(args.kind, args.output, kinds_of("search"), "sam")
    hits, kind, screen = _hits_and_screen(args, kind)
    if args.sort and kind not in ("bam", "cram"):
        raise click.UsageError("--sort needs BAM or CRAM output: use -o NAME.bam or -o NAME.cram")
    if args.comments and (args.collapse or kind not in ("sam", "bam", "cram")):
        raise click.UsageError("-C needs SAM, BAM or CRAM output, without --collapse")
    by_group = args.counts_by == "group"
    if by_group and not args.counts:
        raise click.UsageError("--counts-by group needs --counts FILE")
    if args.reference:
        _check_reference(args.reference)
    check_reads(args.al, args.un, args.collapse)
    tags = _tags(args.tags, args.nh, args.comments)
    records = RecordOutput(
        hits, kind, not args.no_unmapped, tags, groups, args.sort, args.reference, args.mismatches
    )
    by_group = by_group or bool(screen and not args.counts)
    reads = ReadsOutput(args.al, args.un, has_mates)
    return SearchOutput(records, args.counts, by_group, screen, reads, report_of(args.reports))


def check_reads(mapped: str | None, unmapped: str | None, is_collapsed: bool) -> None:
    """Raise UsageError if --al and --un name one file, or FASTQ for collapsed reads, without qualities."""
    if mapped and mapped == unmapped != os.devnull:  # check_clashes lets pipes repeat
        raise click.UsageError(f"--al and --un are both {mapped}: choose two names")
    for option, path in (("--al", mapped), ("--un", unmapped)):
        if path and is_collapsed:
            options.check_suffix(option, path, ["FASTA", options.GZIP])


def _hits_and_screen(args: SimpleNamespace, kind: str) -> tuple[str | None, str, str | None]:
    """Return (path of the hits or None, their kind, path of the screen or None); ``kind``: format of -o.

    Raises UsageError.
    """
    if not (args.screen or args.index_paths[1:]):
        return args.output, kind, None
    from ...input.streams import STANDARD

    source = click.get_current_context().get_parameter_source("output")
    hits, screen = args.output, args.screen
    is_named = source is not ParameterSource.DEFAULT and not args.shard  # there it is the folder of shards
    if not (is_named or args.kind or args.sort):
        if not screen and STANDARD in (args.counts, args.al, args.un):
            raise click.UsageError(
                "without -o, the table of --screen goes to standard output: give --screen FILE"
            )
        hits, kind, screen = args.output if args.shard else None, "nothing", screen or STANDARD
    return hits, kind, screen


def _check_reference(path: str) -> None:
    """Raise InputError for a file that samtools cannot use as the FASTA of --reference."""
    name, begin = f"--reference {path}", bytearray(1 << 12)
    if not os.path.isfile(path):
        if os.path.isdir(path) or not os.path.exists(path):
            return  # reported with the other inputs
        raise InputError(name, "", "samtools cannot read a FASTA from a pipe: give a file")
    from ...codecs.bgzf import LONGEST, block_length
    from ...codecs.readers import kind_of
    from ...input.chunks import IS_BAM, no_fasta
    from ...input.streams import Source

    with Source(path) as source, open(path, "rb") as file:
        head = file.read(LONGEST)
        kind = kind_of(head)
        if kind or (source.is_gzip and not block_length(head)):
            what = f"samtools cannot use a FASTA compressed with {kind.name if kind else 'gzip'}"
            raise InputError(name, "", f"{what}: decompress it, or compress it with bgzip")
        if source.alignments:
            raise InputError(name, "", IS_BAM)
        begin = begin[: source.readinto(begin)].lstrip()
    if not begin:
        raise InputError(name, "", "the file is empty; expected FASTA")
    if begin[0] != ord(">"):
        raise InputError(name, "line 1", no_fasta(begin[0]))


def _tags(text: str | None, nh: str, comments: bool) -> int:
    """Return the bits of output.tags for the options --tags, --nh and -C."""
    from ...output.records import COMMENTS, EVERY, REPORTED, TAGS

    bits = REPORTED * (nh == "reported") | COMMENTS * comments
    if text is None:
        return bits | EVERY
    for name in text.split(",") if text != "none" else []:
        if name not in TAGS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(TAGS)}", param_hint="--tags")
        bits |= TAGS[name]
    return bits


def read_groups(text: str | None, paths: Iterable[str]) -> tuple[str, str, int]:
    """(@RG lines, the ID for all reads or "", length of the longest ID that a read of ``paths`` may have).

    ``text``: value of --rg, which overrides the read groups of ``paths``, or None.  Raises UsageError,
    InputError.
    """
    if text is not None:
        try:
            return *named_group(text), 0
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--rg") from error
    from ...input.streams import Source

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
    return "\n".join(lines.values()), "", max(map(len, lines), default=0)


def named_group(text: str) -> tuple[str, str]:
    """(@RG line, its ID) from the value of --rg, where \\t is a tab; checked against the SAM specification.

    Raises ValueError.
    """
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


# --samples: one output per sample, or one for all with a read group per sample.

PLACE = "{sample}"  # in the name of an output: replaced by the sample's name


def jobs_of(job: "SearchJob", sheet: str, samples: "list[Sample]") -> "list[SearchJob]":
    """Return one job per sample of a sheet, or one for all samples; ``job``: the job without samples.

    Raises UsageError, InputError.
    """
    grouped = [(sample, _groups(sheet, sample)) for sample in samples]
    _check_groups(sheet, [groups for _, groups in grouped])
    places = {option: path for option, path in job.output.places.items() if path}
    each, is_collapsed = [option for option, path in places.items() if PLACE in path], job.mapping.collapse
    if not each:
        if is_collapsed:
            raise click.UsageError(
                f"--collapse needs one output per sample: put {PLACE} into the names of the outputs"
            )
        first, second = (
            sum(files, ()) for files in zip(*((x.first, x.second) for x in samples), strict=True)
        )
        merged = {path: group for _, groups in grouped for path, group in groups.items()}
        reads = replace(job.reads, first=first, second=second)
        output = _with_groups(job.output, [merged[path] for path in (*first, *second)])
        return [replace(job, reads=reads, output=output)]
    if missing := [option for option in places if option not in each]:
        raise click.UsageError(f"{missing[0]} would be overwritten by each sample: put {PLACE} into its name")
    several = [sample.name for sample, groups in grouped if len(set(groups.values())) > 1]
    if is_collapsed and several:
        raise click.UsageError(f"--collapse: sample {several[0]} has several read groups; give it one")
    return [
        replace(
            job, reads=replace(job.reads, first=one.first, second=one.second, sample=one.name),
            output=_named(_with_groups(job.output, list(groups.values())), one.name),
        )
        for one, groups in grouped
    ]  # fmt: skip


def _groups(sheet: str, sample: "Sample") -> dict:
    """Return {path: (@RG line, its ID)} of a sample.  Raises InputError."""
    from ...input.streams import STANDARD

    groups: dict = {}
    for path, group in zip(sample.paths, sample.groups * (2 if sample.second else 1), strict=True):
        if path in groups or path == STANDARD:
            what = "is listed twice" if path in groups else "standard input cannot be used in a sample sheet"
            raise InputError(sheet, f"sample {sample.name}", f"{path}: {what}")
        try:
            groups[path] = named_group(group or f"@RG\tID:{sample.name}\tSM:{sample.name}")
        except ValueError as error:
            raise InputError(sheet, f"sample {sample.name}", f"read_group: {error}") from error
    return groups


def _check_groups(sheet: str, groups: list) -> None:
    """Raise InputError where samples share a file, or different read groups share an ID."""
    paths: set = set()
    lines: dict = {}
    for path, (line, name) in (item for each in groups for item in each.items()):
        if path in paths:
            raise InputError(sheet, "", f"{path} is listed twice")
        paths.add(path)
        if lines.setdefault(name, line) != line:
            raise InputError(sheet, "", f"read group {name} is listed twice, with different fields")


def _with_groups(output: "SearchOutput", groups: list) -> "SearchOutput":
    """Return the output with read groups, (line, ID) for each file in order."""
    from ...output.search_output import ReadGroups

    lines, names = list(dict.fromkeys(line for line, _ in groups)), tuple(name for _, name in groups)
    read_groups = ReadGroups("\n".join(lines), names[0], of_files=names if len(lines) > 1 else ())
    return replace(output, records=replace(output.records, groups=read_groups))


def _named(output: "SearchOutput", name: str) -> "SearchOutput":
    """Return the output with {sample} in its paths replaced by ``name``."""
    if "/" in name:
        raise click.UsageError(f"sample {name}: the name contains '/' and cannot be part of a file name")

    def path_of_sample(path: str | None) -> str | None:
        return path and path.replace(PLACE, name)

    reads, report = output.reads, output.report
    return replace(
        output,
        records=replace(output.records, path=path_of_sample(output.path)),
        counts=path_of_sample(output.counts),
        screen=path_of_sample(output.screen),
        reads=replace(reads, mapped=path_of_sample(reads.mapped), unmapped=path_of_sample(reads.unmapped)),
        report=report and report_of([path.replace(PLACE, name) for path in report.paths]),
    )


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
@pair_options
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

        samples = read_sheet(args.samples)
        if args.rg is not None:
            raise click.UsageError(
                "--rg cannot be combined with --samples: use the sheet's column read_group"
            )
    has_mates = bool(samples and samples[0].second)
    pairing = pairing_of(args, has_mates)
    output = output_of(args, has_mates or bool(args.mates1))
    if args.strata and not args.mismatches:
        raise click.UsageError("--strata needs --mismatches 1 or 2")
    from ...jobs.search import ReadInput, SearchJob
    from ...search.hits import ALL, Near, SelectionPolicy
    from ...search.mapping import MapOptions
    from ..dispatch import Sharing, run_jobs

    limit, seed = ALL if args.report_all else args.limit, -1 if args.seed is None else args.seed
    policy = SelectionPolicy(0 if output.kind == "nothing" else limit, args.at_most or ALL, seed)
    counts_all = bool(args.report_all or args.at_most or output.counts or output.screen or output.report)
    counts_all |= bool(pairing) or args.nh == "total" or output.kind not in ("sam", "bam", "cram")
    near = Near(args.mismatches, strata=args.strata, counts_all=counts_all) if args.mismatches else None
    tags = "*" if args.comments else "RG"
    reads = ReadInput(args.mates1 or args.reads, args.mates2, args.reference, tags=tags)
    strands = options.strands_of(args.forward_only, args.reverse_only)
    index = options.index_of(args.index_paths, args.layout, args.method, args.max_memory, args.verify)
    job = SearchJob(
        index, reads, MapOptions(policy, strands, near=near, pairing=pairing, **reading_of(args)), output
    )
    jobs = jobs_of(job, args.samples, samples) if samples else [job]
    if args.reports:
        jobs = [
            replace(each, output=replace(each.output, report=report_of(each.output.reports, each.inputs)))
            for each in jobs
        ]
    resources = options.resources_of(args.threads, args.engine, args.device, args.gpu_memory)
    sharing = Sharing(args.shard, args.scheduler, args.scheduler_file)
    run_jobs(jobs, resources, sharing, args.quiet, [args.samples, args.reference])
    if not args.interleaved:
        warn_of_mates((each.reads for each in jobs), args.quiet)
