"""What options take: sizes, numbers, shards, GPUs; and which index a command takes."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from ..errors import IndexFileError
from ..machines.places import ALL_GPUS


class Bytes(click.ParamType):
    """A size such as 500M or 8G, in bytes, up to ``most``; without a unit only where ``bare``."""

    name = "size"

    def __init__(self, most: int = 2**62, bare: bool = False) -> None:
        self.most, self.bare = most, bare

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        units = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(B?)", value.strip().upper())
        n_bytes = float(match[1]) * units[match[2]] if match else 0
        if match and not self.bare and not match[2] + match[3]:
            self.fail(f"{value} of what? Say {value}G or {value}M: a size such as 8G or 500M", param, ctx)
        if n_bytes < 1:
            self.fail(f"{value!r} is not a size such as 500M or 8G", param, ctx)
        if n_bytes > self.most:
            self.fail(f"{value} is more than {self.most:,}", param, ctx)
        return int(n_bytes)


class Number(click.ParamType):
    """A number from ``least`` to ``most``: an int, or a float, and then not nan."""

    name = "n"

    def __init__(self, least: float, most: float, kind: type = int) -> None:
        self.least, self.most, self.kind = least, most, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = self.kind(value)
        except ValueError:
            self.fail(f"{value!r} is not a {'whole ' if self.kind is int else ''}number", param, ctx)
        if not self.least <= number <= self.most:
            self.fail(f"{value} is not in the range {self.least} to {self.most}", param, ctx)
        return number


class ShardOf(click.ParamType):
    """Which shard: (number from 1, count)."""

    name = "i/n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        if match := re.fullmatch(r"auto(?:/(\d{1,9}))?", value):
            number, count = _array_task(match[1] and int(match[1])) or self.fail(
                "auto reads the variables of a Slurm or Grid Engine array job, or with auto/N of a PBS one; "
                "there are none here",
                param, ctx,
            )  # fmt: skip
        elif match := re.fullmatch(r"(\d{1,9})/(\d{1,9})", value):
            number, count = int(match[1]), int(match[2])
        else:
            self.fail(f"{value!r} is not I/N, as in 3/64, nor auto", param, ctx)
        if not 1 <= number <= count:
            self.fail(f"{number}/{count}: shards are counted from 1 to {count}", param, ctx)
        return number, count


def _array_task(count: Any) -> tuple | None:
    """(number, count) of this task of an array job, by the variables of its scheduler; None without one."""
    for task, first, last, step in _ARRAYS:
        if not (value := os.environ.get(task, "")).isdigit():
            continue
        first, last, step = (os.environ.get(name, "") for name in (first, last, step))
        number = (int(value) - int(first or 1)) // int(step or 1) + 1
        count = count or (last.isdigit() and (int(last) - int(first or 1)) // int(step or 1) + 1)
        return (number, count) if count else None
    return None


# Variables of array jobs: the task, the first and the last one, the step between them.
_ARRAYS = (
    ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"),
    ("PBS_ARRAY_INDEX", "", "", ""),
    ("SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"),
)


class GpuNumber(Number):
    """The number of a GPU."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in ("cpu", "cuda", "both"):
            self.fail(f"{value!r} is no number of a GPU; say --engine {value}", param, ctx)
        return super().convert(value, param, ctx)


class GpuCount(GpuNumber):
    """How many GPUs, or ``all`` of them: ALL_GPUS."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return ALL_GPUS if value == "all" else super().convert(value, param, ctx)


# Which index a command takes: one that is named, or the only one that is here.


def one_index(given: SimpleNamespace) -> str | None:
    """The index that is named as an argument or with -x, or None."""
    if given.argument and given.index_path:
        raise click.UsageError("name the index once: as INDEX or with -x")
    return given.argument or given.index_path


def find_indexes(paths: Sequence[str]) -> tuple[Path, ...]:
    """The indexes to use: those that are named, or the one that is found.  Raises as find_index."""
    places = [os.path.realpath(find_index(path)) for path in paths]
    if len(set(places)) < len(places):
        raise click.UsageError(f"{paths[-1]}: name each index once")
    return tuple(map(find_index, paths)) or (find_index(None),)


def find_index(path: str | None) -> Path:
    """The index to use, as index_at finds it.  Raises IndexFileError if none is named, or found here."""
    chosen = path or os.environ.get("FMX_INDEX")
    if chosen:
        from ..index.disk import index_at

        return index_at(chosen)
    found = sorted(Path().glob("*.fmx"))
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(map(str, found[:5]))
        raise IndexFileError(f"several indexes here ({listed}); name one with -x or FMX_INDEX")
    raise IndexFileError(
        "no index: name one with -x or FMX_INDEX, or build one with 'fmx index REFERENCE.fa'"
    )
