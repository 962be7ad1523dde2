"""Options that several commands share, their types, their values as fields of a job, and messages."""

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import limits, report
from .._version import __version__
from ..errors import IndexFileError, shown
from ..report import MULTIQC, Report, command_line, with_general
from ..system import available_cores
from .command import CLUSTER, GPU, Decorator, command, group, together  # noqa: F401

if TYPE_CHECKING:
    from ..jobs import IndexChoice, Resources


def size(value: str) -> int:  # help prints this name: SIZE
    """Return a number of bytes, such as 500M or 8G."""
    units = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT])B?", value.strip().upper())
    n_bytes = float(match[1]) * units[match[2]] if match else 0
    if not 1 <= n_bytes <= 2**62:
        raise click.BadParameter(f"{value!r} is not a size with a unit, such as 500M or 8G")
    return int(n_bytes)


def iupac_codes(text: str, others: str = "") -> str:
    """Return bases in upper case.  Raises BadParameter unless each is an IUPAC code or one of ``others``."""
    if other := text.upper().strip("ACGTUNRYSWKMBDHV" + others):
        raise click.BadParameter(f"{text!r} contains {other[0]!r}, which is not an IUPAC base")
    return text.upper()


def number(least: float, most: float, kind: type = int, before: str = "") -> Callable[[Any], float]:
    """Return a function that parses a number, an int or a float, from ``least`` to ``most``.

    ``before``: what to write before a value that is not a number, in the message about it.
    """

    def n(value: Any) -> float:  # help prints this name: N
        try:
            parsed = kind(value)
        except ValueError as error:
            what = "whole number" if kind is int else "number"
            remedy = f"; write {before} {value}" if before else ""
            raise click.BadParameter(f"{value!r} is not a {what}{remedy}") from error
        if not least <= parsed <= most:
            limit = f"from {least} to {most}" if most < 1 << 31 or parsed > most else f"{least} or more"
            raise click.BadParameter(f"must be {limit}, not {value}")
        return parsed

    return n


def _shard_of(value: str) -> tuple[int, int]:
    """Return (number, count) of shard I/N, numbered from 1."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", value)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"{value!r} is not I/N, with I from 1 to N, such as 3/64")
    return int(match[1]), int(match[2])


# The options.

COUNT = number(*limits.COUNT)
INDEX = "Index and memory"  # a heading of --help
_USUAL_INDEX = "[default: $FMX_INDEX, else the only .fmx folder in the current folder]"
threads = click.option("-t", "--threads", type=number(*limits.THREADS), default=available_cores,
                       show_default="all cores",
                       help="Number of threads.")  # fmt: skip
quiet = click.option("-q", "--quiet", is_flag=True, help="Print only errors, and warnings of wrong results.")
running = together(threads, quiet)
indexes = group(
    INDEX,
    click.option("-x", "--index", "index_paths", type=click.Path(), multiple=True,
                 help=f"Index to search; repeat to search several together.  {_USUAL_INDEX}"),
)  # fmt: skip
max_memory_of = functools.partial(click.option, "--max-memory", type=size)
verify = click.option(
    "--verify", is_flag=True, help="Check the index files even if they are unchanged since the last check."
)
_engine_of = functools.partial(click.option, "--engine", metavar="NAME", default="cpu")
_WHERE = "Run on the CPU (cpu), on a GPU (cuda), or let fmx choose (auto)."
_device_of = functools.partial(click.option, "--device", type=number(0, 999), show_default="0")
_gpu_memory = click.option("--gpu-memory", type=size, show_default="all that is free",
                           help="Use at most SIZE of the memory of each GPU, e.g. 8G.")  # fmt: skip
_one_gpu = together(_device_of(help="GPU to use, counted from 0."), _gpu_memory)
on_processor = group(GPU, _engine_of(type=click.Choice(limits.PROCESSORS), help=_WHERE), _one_gpu)
on_processors = group(
    GPU,
    _engine_of(type=click.Choice(limits.PAIRWISE_PROCESSORS),
               help="Compute scores on the CPU (cpu), on GPUs (cuda), on the CPU and GPUs together (both), "
               "or on GPUs if there are any, else on the CPU (auto)."),
    _device_of(help="First GPU to use, counted from 0."),
    click.option("--gpus", type=number(1, 999), show_default="all; with --device, 1",
                 help="Number of GPUs to use."),
)  # fmt: skip
searching = together(
    group(
        INDEX,
        click.option("--layout", metavar="NAME",
                     help="Search with this layout only; auto chooses the fastest."),
        click.option("--method", type=click.Choice(limits.METHODS), metavar="NAME", default="auto",
                     help="Search method: verify (seed and verify), backward (backward search), sparse "
                     "(sparse index), or auto, the fastest that the index supports."),
        max_memory_of(help="Use the fastest method that fits in SIZE of memory, e.g. 8G."), verify,
    ),
    group(
        GPU,
        _engine_of(type=click.Choice((*limits.PROCESSORS, *limits.GPU_ENGINES)),
                   help=f"{_WHERE} NAME can also be a GPU engine, such as cuda_full."),
        _one_gpu,
    ),
    running,
)  # fmt: skip
output_option = functools.partial(
    click.option, "-o", "--output", type=click.Path(), default="-", show_default="standard output"
)  # fmt: skip
output = output_option(help="Output file; its suffix sets the format.")
strands = together(
    click.option("--forward-only", is_flag=True, help="Do not search for reverse complements."),
    click.option("--reverse-only", is_flag=True, help="Search only for reverse complements."),
)  # fmt: skip
mismatches = click.option("--mismatches", type=number(*limits.MISMATCHES), default=0,
                          help="Allow N mismatches in a hit, 0 to 2.")  # fmt: skip
sharing = group(
    CLUSTER,
    click.option("--shard", type=_shard_of, metavar="I/N",
                 help="Process only shard I of N, counted from 1, and write it to the folder -o; join the "
                 "shards with 'fmx merge'."),
    click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler."),
    click.option("--scheduler-file", type=click.Path(), metavar="FILE",
                 help="Run on the Dask cluster whose scheduler wrote FILE."),
)  # fmt: skip


def output_format(names: Sequence[str], usual: str, what: str = "") -> Decorator:
    """Return --format, whose values are ``names``; ``what``: how help lists them, if not by their names."""
    return click.option("--format", "kind", type=click.Choice(names), metavar="NAME",
                        show_default=f"by the suffix of -o, else {usual}",
                        help=f"Output format: {what or ', '.join(names)}.")  # fmt: skip


# Values of options as fields of a job.


def refuse(*rules: tuple[Any, str]) -> None:
    """Raise UsageError with the message of the first rule, (condition, message), whose condition is true."""
    for condition, message in rules:
        if condition:
            raise click.UsageError(message)


def refuse_same_mates(mates1: Sequence[str], mates2: Sequence[str], advice: str = "") -> None:
    """Raise UsageError if a file is given as the first and the second mates of the same pairs."""
    for one, two in zip(mates1, mates2, strict=True):
        if one == two or (os.path.exists(one) and os.path.exists(two) and os.path.samefile(one, two)):
            raise click.UsageError(f"-1 {one} and -2 {two} are the same file{advice}")


def _plain(value: Any) -> Any:
    """Return the value of an option as a JSON type."""
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else shown(str(value))


def strands_of(args: Any) -> int:
    """Return the strands to search, as bits.  Raises UsageError if the options exclude both."""
    refuse((args.forward_only and args.reverse_only, "give only one of --forward-only and --reverse-only"))
    from ..dna import FORWARD, REVERSE

    return FORWARD if args.forward_only else REVERSE if args.reverse_only else FORWARD | REVERSE


def resources_of(args: Any) -> "Resources":
    """Return the Resources.  Raises UsageError for an option for GPUs with --engine cpu."""
    values, engine = vars(args), vars(args).get("engine", "cpu")
    device, gpus, gpu_memory = (values.get(name) for name in ("device", "gpus", "gpu_memory"))
    what = "has no effect with --engine cpu: use --engine cuda or auto, or omit"
    for_gpus = {"--device": device, "--gpus": gpus, "--gpu-memory": gpu_memory}
    refuse(*((engine == "cpu" and for_gpus[name] is not None, f"{name} {what} {name}") for name in for_gpus))
    from ..jobs import Resources
    from ..machines.places import Device

    if gpus is None:
        gpus = 0 if "gpus" in values and device is None else 1
    return Resources(args.threads, Device(engine, device or 0, gpu_memory, gpus or None))


def index_of(args: Any, method: str | None = None) -> "IndexChoice":
    """Return the index or indexes of -x, and how to search them.  Raises UsageError, IndexFileError."""
    from ..jobs import IndexChoice

    layout, max_memory = (vars(args).get(name) for name in ("layout", "max_memory"))
    if args.index_paths[1:] and max_memory:
        raise click.UsageError(
            "--max-memory works with one index only: give one -x, or leave out --max-memory"
        )
    paths = find_indexes(args.index_paths)
    return IndexChoice(paths, layout, method or args.method, max_memory, args.verify)


def find_indexes(paths: Sequence[str]) -> tuple[Path, ...]:
    """Return the indexes at ``paths``; if none is given, that of FMX_INDEX, or the only one in this folder.

    Raises IndexFileError if none can be found, or several.
    """
    if chosen := paths or list(filter(None, [os.environ.get("FMX_INDEX")])):
        from ..index.disk import index_at, what_is_there

        places = tuple(map(index_at, chosen))
        if not (paths or places[0].exists()):
            name = f"{places[0]} (from the environment variable FMX_INDEX)"
            raise IndexFileError(f"{name}: {what_is_there(places[0])}")
        return places
    indexes = sorted(Path().glob("*.fmx"))
    if len(indexes) == 1:
        return (indexes[0],)
    if indexes:
        listed = ", ".join(map(str, indexes[:5])) + (f" and {len(indexes) - 5} more" if indexes[5:] else "")
        raise IndexFileError(f"{len(indexes)} indexes here ({listed}); choose one with -x or FMX_INDEX")
    raise IndexFileError(
        "no index: give one with -x or FMX_INDEX, or build one with 'fmx index REFERENCE.fa'"
    )


# The format of an output: --format, or the suffix of its name.

_ENDINGS = {  # suffixes of formats, by their names in messages
    "SAM": (".sam",), "BAM": (".bam",), "BED": (".bed",), "TSV": (".tsv",), "PAF": (".paf",),
    "CRAM": (".cram",), "Parquet": (".parquet",), "NPZ": (".npz",), "PHYLIP": (".phy", ".phylip"),
    "RTAB": (".rtab",), "JSON": (".json",), "HTML": (".html", ".htm"), "LOG": (".log",),
    "FASTA": (".fa", ".fasta", ".fna"), "FASTQ": (".fq", ".fastq"),
}  # fmt: skip
GZIP = "gzip"  # in a list of formats: the name of the file may end with .gz, for compressed output
_BINARY = {"bam", "cram", "parquet", "npz"}
_FOREIGN = {
    ".vcf", ".gff", ".gff3", ".gtf", ".csv", ".xlsx", ".fmx", ".gz", ".bgz", ".bz2", ".xz", ".zst", ".zip",
}  # fmt: skip
_NAMES = {"mummer": "MUMmer's format", "mageck": "TSV", "long": "TSV", "parquet": "Parquet"}  # of formats


def format_of(kind: str | None, path: str, kinds: Sequence[str], usual: str) -> str:
    """Return the format of -o: ``kind``, the value of --format; else that of the suffix; else ``usual``.

    Raises UsageError for a format, or the suffix of one, that is not of ``kinds``, for a binary format on a
    terminal, and for a file where --shard needs a folder.
    """
    if kind and kind not in kinds:
        raise click.UsageError(f"--format {kind}: with the other options, {_only(kinds)}")
    if click.get_current_context().params.get("shard"):
        if path == "-":
            raise click.UsageError("--shard needs -o FOLDER, the folder that 'fmx merge' reads")
        if _suffix_of(path):
            what = "with --shard, -o names a folder of shards, not a file"
            raise click.UsageError(f"-o {path}: {what}: use -o NAME.d, and --format for the format")
        return kind or usual
    check_suffix("-o", path, [kind] if kind else kinds)
    by_suffix = next((each for each in kinds if _suffix_of(path) in _suffixes_of([each])), usual)
    chosen = kind or by_suffix
    _refuse_terminal(path, chosen)
    return chosen


def _suffixes_of(kinds: Iterable[str]) -> list[str]:
    """Return the suffixes of formats."""
    return [suffix for kind in kinds for suffix in _ENDINGS.get(format_name(kind), ())]


def format_name(kind: str) -> str:
    """Return the name of a format in messages."""
    return _NAMES.get(kind, kind.upper())


def _suffix_of(path: str) -> str:
    """Return the suffix of a name in lower case if it names a format, else "", as for .txt."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in _FOREIGN or suffix in chain(*_ENDINGS.values()) else ""


def check_suffix(option: str, path: str, kinds: Sequence[str]) -> None:
    """Raise UsageError for the suffix of a format that is not of ``kinds``."""
    suffix = _suffix_of(path.lower().removesuffix(".gz") if GZIP in kinds else path)
    if suffix and suffix not in _suffixes_of(kinds):
        choose = f"choose another name{' or format' if option == '-o' else ''}"
        raise click.UsageError(f"{option} {path}: {_only(kinds)}, not {suffix}; {choose}")


def _only(kinds: Sequence[str]) -> str:
    names = list(dict.fromkeys(format_name(each) for each in kinds if each != GZIP))
    return f"the output can only be {', '.join([*names[:-2], ' or '.join(names[-2:])])}"


def _refuse_terminal(path: str, kind: str) -> None:
    """Raise UsageError for a binary format that goes to a terminal."""
    if kind in _BINARY and path in ("-", "/dev/stdout") and sys.stdout.isatty():
        raise click.UsageError(
            f"{format_name(kind)} is binary and not written to a terminal: use -o FILE or a pipe"
        )


class FileName(click.Path):
    """The name of an output file; a suffix of a format that is not in ``kinds`` is refused."""

    def __init__(self, *kinds: str) -> None:
        super().__init__()
        self.name, self._kinds = "file", kinds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if param:
            check_suffix(param.opts[0], value, self._kinds)
        return super().convert(value, param, ctx)


TABLE, READS = FileName("tsv"), FileName("fasta", "fastq", GZIP)


# The option --report.

_LIBRARIES = ("numpy", "numba", "llvmlite", "numba-cuda", "cuda-bindings")


def reporting(kinds: Sequence[str]) -> Decorator:
    """Return --report, for reports of these kinds; two of the same kind are refused."""

    def files(_: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if report.kind_of(path) not in kinds:
                what = f"the name of a report must end with {_suffix_list(kinds)}"
                raise click.BadParameter(f"{path}: {what}", param=param)
        if len({report.kind_of(path) for path in paths}) < len(paths):
            what = f"{' and '.join(paths)} are reports of the same kind"
            raise click.BadParameter(f"{what}: give one of them", param=param)
        return tuple(dict.fromkeys(file for path in paths for file in with_general(path)))

    return click.option(
        "--report", "reports", type=click.Path(), multiple=True, metavar="FILE", callback=files,
        help=f"Write a report to FILE, whose name ends with {_suffix_list(kinds)}; may be repeated.",
    )  # fmt: skip


def _suffix_list(kinds: Sequence[str]) -> str:
    words = {"JSON": ".json", "HTML": ".html", "MULTIQC": f"{MULTIQC} (for MultiQC)",
             "TSV": ".tsv (one line per sample of fmx count)"}  # fmt: skip
    *most, last = [words[kind] for kind in words if kind in kinds]
    return f"{', '.join(most)} or {last}"


def report_of(paths: Sequence[str], inputs: Sequence[str], indexes: Sequence[Any] = ()) -> Report | None:
    """Return a Report to write to ``paths``, with what is known before the run (docs/formats.md)."""
    if not paths:
        return None
    import platform
    from importlib import metadata

    context, processor, versions = click.get_current_context(), "", {"python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    with suppress(OSError), open("/proc/cpuinfo") as file:
        models = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
        processor = next(models, "")
    about = {
        "fmx": __version__,
        "command": context.info_name,
        "command_line": command_line(),
        "versions": versions,
        "machine": {"system": platform.platform(), "processor": processor, "cores": os.cpu_count()},
        "options": {
            max(each.opts, key=len).lstrip("-"): _plain(context.params[each.name])
            for each in context.command.params
            if each.name in context.params and each.opts[0][0] == "-"
        },
        "inputs": [
            {"path": shown(str(path)), "bytes": os.path.getsize(path) if os.path.isfile(path) else None}
            for path in inputs
        ],
    }
    if indexes:
        from ..index.disk import digest_of, read_meta

        about["references"] = [
            {"index": shown(str(path)), "digest": digest_of(meta), "contigs": meta["n_contigs"],
             "bases": meta["n_bases"]}
            for path in indexes for meta in [read_meta(path)]
        ]  # fmt: skip
    return Report(tuple(paths), about)
