"""--report: files that tell of a run, and what of it is known before it begins."""

import os
from importlib import import_module

import click

from .._version import __version__
from ..errors import shown
from ..report.facts import SUFFIXES, Report, command_line, kind_of

_LIBRARIES = ("numpy", "numba", "llvmlite", "numba-cuda", "cuda-bindings")


def _check(context, param, paths):
    """Each file's name tells its kind, which is another one than that of the others."""
    for path in paths:
        if not kind_of(path):
            mqc, *most, last = SUFFIXES
            ends = f"{', '.join(most)} or {last}, or for MultiQC with {mqc}"
            raise click.BadParameter(f"{path}: the name of a report ends with {ends}", param=param)
    if len({kind_of(path) for path in paths}) < len(paths):
        raise click.BadParameter(f"{' and '.join(paths)} are of one kind; give one", param=param)
    return paths


reporting = click.option(
    "--report", "reports", type=click.Path(), multiple=True, metavar="FILE", callback=_check,
    help="Tell of the run in FILE.json, FILE.html, or FILE_mqc.json, a section for MultiQC; may be given for "
    "each.",
)  # fmt: skip


def report_places(paths) -> dict:
    """Reports as check_places takes outputs."""
    return {f"--report as {kind_of(path)}": (path, []) for path in paths}


def refuse_multiqc(paths) -> None:
    """Raise UsageError for a report that only fmx search has."""
    for path in paths:
        if kind_of(path) == "MULTIQC":
            raise click.UsageError(
                f"--report {path}: MultiQC is told of mapped reads, which only fmx search has"
            )


def report_of(paths, *known) -> Report | None:
    """A Report into files, of what is ``known`` as ``about`` takes it, if anything; None without files."""
    return Report(tuple(paths), about(*known) if known else {}) if paths else None


def about(command, given, files) -> dict:
    """What is known of a run before its index is opened; ``files`` that it reads."""
    import platform

    return {
        "fmx": __version__,
        "command": command,
        "command_line": command_line(),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
        "options": _options(command, given),
        "inputs": [
            {"path": shown(str(path)), "bytes": os.path.getsize(path) if os.path.isfile(path) else None}
            for path in files
        ],
    }  # fmt: skip


def _versions() -> dict:
    """Of the libraries that are there."""
    from importlib import metadata

    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """The name of the processor, as Linux tells it."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""


def _options(command, given) -> dict:
    """{name of the option: its value} of all options of the command."""
    params = import_module(f".commands.{command}", __package__).command.params
    names = {param.name: max(param.opts, key=len).lstrip("-") for param in params if param.opts[0][0] == "-"}
    return {name: _plain(getattr(given, field)) for field, name in names.items() if hasattr(given, field)}


def _plain(value):
    """As a type of JSON."""
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else shown(str(value))
