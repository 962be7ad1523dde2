"""The options --report, --al and --un of several commands."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import click

from .._version import __version__
from ..errors import shown
from ..report import MULTIQC, SUFFIXES, Report, command_line, kind_of, with_general
from . import options

_LIBRARIES = ("numpy", "numba", "llvmlite", "numba-cuda", "cuda-bindings")


def reporting(kinds: Sequence[str]) -> Callable:
    """--report, for a command that writes reports of these kinds."""
    in_words = {"JSON": ".json", "HTML": ".html", "MULTIQC": f"{MULTIQC} (for MultiQC)",
                "TSV": ".tsv (one line per sample of fmx count)"}  # fmt: skip
    *most, last = [words for kind, words in in_words.items() if kind in kinds]
    return click.option(
        "--report", "reports", type=click.Path(), multiple=True, metavar="FILE",
        callback=partial(_reports, kinds),
        help=f"Write a report to FILE, whose name ends with {', '.join(most)} or {last}; may be repeated.",
    )  # fmt: skip


def _reports(
    kinds: Sequence[str], context: click.Context, param: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the files of reports; no two may be of the same kind."""
    for path in paths:
        if message := wrong_kind(path, kinds):
            raise click.BadParameter(f"{path}: {message}", param=param)
    if len({kind_of(path) for path in paths}) < len(paths):
        raise click.BadParameter(
            f"{' and '.join(paths)} are reports of the same kind: give one of them", param=param
        )
    return tuple(dict.fromkeys(file for path in paths for file in with_general(path)))


def wrong_kind(path: str, kinds: Sequence[str], command: str = "") -> str:
    """Return what is wrong with the name of a report that must have one of these kinds; "" if nothing is."""
    if kind_of(path) in kinds:
        return ""
    *most, last = (end for end, kind in SUFFIXES.items() if kind in kinds and not end.endswith(MULTIQC))
    ends = f"{', '.join(most)} or {last}" + (f", or with {MULTIQC} for MultiQC" if "MULTIQC" in kinds else "")
    return f"the name of a report{f' of fmx {command}' if command else ''} must end with {ends}"


def report_of(paths: Sequence[str], inputs: Sequence[str] | None = None) -> Report | None:
    """A Report into ``paths``, which describes the run if its ``inputs`` are known; None without paths."""
    return Report(tuple(paths), {} if inputs is None else about(inputs)) if paths else None


def about(inputs: Sequence[str]) -> dict:
    """Return the facts of a run of the current command that are known before its index is opened."""
    import platform
    from importlib import metadata

    context, processor, versions = click.get_current_context(), "", {"python": platform.python_version()}
    names = {
        max(param.opts, key=len).lstrip("-"): param.name
        for param in context.command.params
        if param.opts[0][0] == "-" and param.name in context.params
    }
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    with suppress(OSError), open("/proc/cpuinfo") as file:
        models = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
        processor = next(models, "")
    return {
        "fmx": __version__,
        "command": context.info_name,
        "command_line": command_line(),
        "versions": versions,
        "machine": {"system": platform.platform(), "processor": processor, "cores": os.cpu_count()},
        "options": {name: options.plain(context.params[field]) for name, field in names.items() if field},
        "inputs": [
            {"path": shown(str(path)), "bytes": os.path.getsize(path) if os.path.isfile(path) else None}
            for path in inputs
        ],
    }


def check_reads(mapped: str | None, unmapped: str | None, is_collapsed: bool = False) -> None:
    """Raise UsageError if --al and --un name one file, or FASTQ for collapsed reads, without qualities."""
    if mapped and mapped == unmapped != os.devnull:  # check_clashes lets pipes repeat
        raise click.UsageError(f"--al and --un are both {mapped}: choose two names")
    for option, path in (("--al", mapped), ("--un", unmapped)):
        if path and is_collapsed:
            options.check_suffix(option, path, ["FASTA", options.GZIP])
