"""The option --report of several commands."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from .._version import __version__
from ..errors import shown
from ..report import MULTIQC, SUFFIXES, Report, command_line, kind_of, with_general
from . import options

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
