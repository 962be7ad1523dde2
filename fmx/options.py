"""Options that several commands share, and how an index is found."""

import os
import re
from pathlib import Path

import click

from .errors import IndexFileError
from .machines.threads import available_cores
from .search.engines import CUDA


class Bytes(click.ParamType):
    """A size such as 500M or 8G, in bytes; up to ``most``."""

    name = "size"

    def __init__(self, most=2**62):
        self.most = most

    def convert(self, value, param, ctx):
        if isinstance(value, int):
            return value
        units = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", value.strip().upper())
        n_bytes = float(match[1]) * units[match[2]] if match else 0
        if n_bytes < 1:
            self.fail(f"{value!r} is not a size such as 500M or 8G", param, ctx)
        if n_bytes > self.most:
            self.fail(f"{value} is more than {self.most:,}", param, ctx)
        return int(n_bytes)


class Number(click.FloatRange):
    """A number in a range, which nan is not."""

    def convert(self, value, param, ctx):
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def no_empty_name(_, param, value):
    """Refuse an empty name in a list with commas."""
    if value is not None and not all(value.split(",")):
        raise click.BadParameter("a name between commas is empty", param=param)
    return value


COUNT = click.IntRange(1, 2**62)  # as far as compiled code counts

threads = click.option(
    "-t", "--threads", type=click.IntRange(1, 1024), default=available_cores, show_default="all cores",
    help="Threads to use.",
)  # fmt: skip
quiet = click.option("-q", "--quiet", is_flag=True, help="No messages on stderr but errors.")
index = click.option(
    "-x", "--index", "index_path", type=click.Path(),
    help="Index directory. Default: $FMX_INDEX, else the only *.fmx folder here.",
)  # fmt: skip
layout = click.option(
    "--layout", metavar="NAME", callback=no_empty_name,
    help="Backward search over this layout of the index, or auto.",
)  # fmt: skip
max_memory = click.option(
    "--max-memory",
    type=Bytes(),
    metavar="SIZE",
    help="Choose what reads at most this of an index, as in 500M or 8G.",
)
method = click.option(
    "--method", type=click.Choice(["auto", "verify", "backward"]), default="auto", show_default=True,
    help="Seed and verify, or backward search; auto: verify where the index allows it.",
)  # fmt: skip
engine = click.option(
    "--engine", type=click.Choice(["cpu", "cuda", "auto", *CUDA]), metavar="NAME", default="cpu",
    show_default=True,
    help="cpu, cuda (the best engine of a GPU), auto (a GPU if there is one), or an engine of GPUs by name.",
)  # fmt: skip
build_engine = click.option(
    "--engine", type=click.Choice(["cpu", "cuda", "auto"]), default="cpu", show_default=True,
    help="Who makes the index: the CPU, a GPU, or a GPU if there is one; the index is the same.",
)  # fmt: skip
device = click.option(
    "--device", type=click.IntRange(0, 999), default=0, show_default=True, help="Which GPU."
)
gpu_memory = click.option(
    "--gpu-memory", type=Number(1e-6, 1e6), metavar="GB",
    help="Memory of the GPU to use at most.  [default: all that is free]",
)  # fmt: skip
output = click.option(
    "-o", "--output", type=click.Path(), default="-", show_default="standard output", help="File to write."
)


def find_index(path) -> Path:
    """The index to use.  Raises IndexFileError if there is none, or several to choose from."""
    chosen = path or os.environ.get("FMX_INDEX")
    if chosen:
        return Path(chosen)
    found = sorted(Path().glob("*.fmx"))
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(map(str, found[:5]))
        raise IndexFileError(f"several indexes here ({listed}); name one with -x or FMX_INDEX")
    raise IndexFileError(
        "no index: name one with -x or FMX_INDEX, or build one with 'fmx index REFERENCE.fa'"
    )


def open_index(path, layout, method, n_threads, max_memory=None):
    """The index to use, opened (FMIndex)."""
    from .index import fm_index as index_module

    return index_module.load(find_index(path), layout, method, n_threads, max_memory)
