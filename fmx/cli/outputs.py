"""Output options of fmx search, and the option --report of several commands."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from .. import options
from .._version import __version__
from ..errors import InputError, shown
from ..output import kinds_of
from ..report.facts import KINDS, MULTIQC, SUFFIXES, Report, command_line, kind_of, with_general

if TYPE_CHECKING:
    from ..jobs.search import SearchJob
    from ..output.search_output import SearchOutput

_LIBRARIES = ("numpy", "numba", "llvmlite", "numba-cuda", "cuda-bindings")


class ReportFile(click.Path):
    """The name of a report file; its suffix must be that of one of ``kinds``."""

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__()
        self._kinds = kinds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if kind_of(str(value)) not in self._kinds:
            self.fail(f"{value}: the name of a report must end with {endings(self._kinds)}", param, ctx)
        return super().convert(value, param, ctx)


def endings(kinds: Sequence[str]) -> str:
    """Return the endings of the names of reports of these kinds, in words."""
    *most, last = (end for end, kind in SUFFIXES.items() if kind in kinds and not end.endswith(MULTIQC))
    return f"{', '.join(most)} or {last}" + (f", or with {MULTIQC} for MultiQC" if "MULTIQC" in kinds else "")


def _one_of_each(context: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    if len({kind_of(path) for path in paths}) < len(paths):
        raise click.BadParameter(
            f"{' and '.join(paths)} are reports of the same kind: give one of them", param=param
        )
    return tuple(dict.fromkeys(file for path in paths for file in with_general(path)))


def reporting(kinds: Sequence[str]) -> Callable:
    """--report, for a command that writes reports of these kinds."""
    endings_in_words = {"JSON": ".json", "HTML": ".html", "MULTIQC": f"{MULTIQC} (for MultiQC)",
            "TSV": ".tsv (one line per sample of fmx count)"}  # fmt: skip
    *most, last = [words for kind, words in endings_in_words.items() if kind in kinds]
    return click.option(
        "--report", "reports", type=ReportFile(kinds), multiple=True, metavar="FILE", callback=_one_of_each,
        help=f"Write a report to FILE, whose name ends with {', '.join(most)} or {last}; may be repeated.",
    )  # fmt: skip


def report_places(paths: Sequence[str]) -> dict:
    """Return the paths of reports in the form that check_places takes."""
    return {f"--report as {kind_of(path)}": (path, []) for path in paths}


def report_of(paths: Sequence[str], inputs: Sequence[str] | None = None) -> Report | None:
    """A Report into ``paths``, which describes the run if its ``inputs`` are known; None without paths."""
    return Report(tuple(paths), {} if inputs is None else about(inputs)) if paths else None


def about(inputs: Sequence[str]) -> dict:
    """Return the facts of a run of the current command that are known before its index is opened."""
    import platform

    context = click.get_current_context()
    names = {
        max(param.opts, key=len).lstrip("-"): param.name
        for param in context.command.params
        if param.opts[0][0] == "-" and param.name in context.params
    }
    return {
        "fmx": __version__,
        "command": context.info_name,
        "command_line": command_line(),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
        "options": {name: options.plain(context.params[field]) for name, field in names.items() if field},
        "inputs": [
            {"path": shown(str(path)), "bytes": os.path.getsize(path) if os.path.isfile(path) else None}
            for path in inputs
        ],
    }  # fmt: skip


def _versions() -> dict:
    """Return {name: version} of the installed libraries."""
    from importlib import metadata

    versions = {}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _processor() -> str:
    """Return the name of the processor from /proc/cpuinfo, or ""."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""


# Output options of fmx search.

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
            "--counts", type=click.Path(), metavar="FILE",
            help="Also write a table of reads and hits per contig.",
        ),
        click.option(
            "--counts-by", type=click.Choice(["contig", "group"]), default="contig", show_default=True,
            help="Let --counts count per contig, or per group of contigs.",
        ),
        click.option(
            "--screen", type=click.Path(), metavar="FILE",
            help="Count reads by the combination of groups of contigs (with several -x: of indexes) that "
            "they occur in, and write the table to FILE as TSV. Hits are then written only with -o or "
            "--format.  [default with several -x and no -o: standard output]",
        ),
        click.option(
            "--al", type=click.Path(), metavar="FILE",
            help="Also write the mapped reads to FILE, unchanged; compressed if it ends with .gz.",
        ),
        click.option(
            "--un", type=click.Path(), metavar="FILE",
            help="Also write the unmapped reads to FILE, unchanged; compressed if it ends with .gz.",
        ),
        reporting(KINDS["search"]),
    ),
)  # fmt: skip


def output_of(
    args: SimpleNamespace, has_mates: bool = False
) -> "tuple[SearchOutput, Callable[[SearchOutput], dict]]":
    """(SearchOutput, a function that takes a SearchOutput and returns its outputs as for check_places).

    ``has_mates``: the reads are pairs in two files.  Raises UsageError, InputError.
    """
    from ..output.search_output import CountsOutput, ReadGroups, ReadsOutput, RecordOutput, SearchOutput
    from .dispatch import format_of

    # Collapsed reads have no read groups.
    files = () if args.collapse else (*args.reads, *args.mates1, *args.mates2)
    groups = ReadGroups(*read_groups(args.rg, files))
    kind, formats = format_of(args.kind, args.output, kinds_of("search"), "sam")
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
    tags = _tags(args.tags, args.nh, args.comments)
    records = RecordOutput(
        hits, kind, not args.no_unmapped, tags, groups, args.sort, args.reference, args.mismatches
    )
    counts = CountsOutput(args.counts, by_group) if args.counts else None
    reads = ReadsOutput(args.al, args.un, has_mates)
    output = SearchOutput(records, counts, screen, reads, report_of(args.reports))
    return output, partial(outputs_of, formats, kinds_of_reads(args.collapse))


def with_report(job: "SearchJob") -> "SearchJob":
    """Return a job whose reports, if it has any, include the command line and its options."""
    report = job.output.report and report_of(job.output.report.paths, job.inputs)
    return replace(job, output=replace(job.output, report=report))


def kinds_of_reads(is_collapsed: bool) -> list[str]:
    """Return the formats of --al and --un; collapsed reads have no qualities."""
    from .dispatch import GZIP, READS

    return ["FASTA", GZIP] if is_collapsed else READS


def outputs_of(kinds: list, kinds_of_reads: list, output: "SearchOutput") -> dict:
    """Return the outputs of a SearchOutput: {option: (path or None, formats)}."""
    from ..output.search_output import of_mates

    reads, counts = output.reads, output.counts
    if reads.mapped and reads.mapped == reads.unmapped != os.devnull:  # check_places lets pipes repeat
        raise click.UsageError(f"--al and --un are both {reads.mapped}: choose two names")
    by_option = {"-o": (output.path, kinds), "--counts": (counts and counts.path, ["TSV"])}
    by_option["--screen"] = output.screen, ["TSV"]
    for option, path in (("--al", reads.mapped), ("--un", reads.unmapped)):
        if path and reads.has_mates:
            places = zip(("first", "second"), of_mates(path), strict=True)
            by_option |= {f"{option} ({mates} mates)": (place, kinds_of_reads) for mates, place in places}
        else:
            by_option[option] = path, kinds_of_reads
    return by_option | report_places(output.report.paths if output.report else ())


def _hits_and_screen(args: SimpleNamespace, kind: str) -> tuple[str | None, str, str | None]:
    """Return (path of the hits or None, their kind, path of the screen or None); ``kind``: format of -o.

    Raises UsageError.
    """
    if not (args.screen or args.index_paths[1:]):
        return args.output, kind, None
    from ..input.streams import STANDARD

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
    from ..codecs.bgzf import LONGEST, block_length
    from ..codecs.readers import kind_of
    from ..input.chunks import IS_BAM, no_fasta
    from ..input.streams import Source

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
    from ..output.records import COMMENTS, EVERY, REPORTED, TAGS

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
    from ..input.streams import Source

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
