"""What fmx does, as functions that many tests call: build an index, inspect it, search it without a job."""

from typing import NamedTuple

from fmx.cli.commands import inspect as command
from fmx.index.build import add_groups, add_layouts, build_index
from fmx.index.disk import retrying
from fmx.index.fm_index import AnyIndex
from fmx.index.plan import IndexOptions
from fmx.jobs import Cache, Context, Resources
from fmx.jobs.search import SearchJob, make_writer
from fmx.machines.places import CPU, Device
from fmx.machines.progress import Progress

__all__ = [
    "CPU", "Device", "IndexOptions", "Progress", "add_groups", "add_layouts", "build_index", "inspect",
    "make_writer", "prepared", "search",
]  # fmt: skip
inspect = retrying(command.inspect)


class Opened(NamedTuple):
    """An opened index as a choice of one."""

    fm_index: AnyIndex

    def open(self, *_):
        return self.fm_index


class Files(NamedTuple):
    """Reads of any kind as the input of a job."""

    files: object
    literal = sample = ""

    def sources(self, _):
        return self.files


def prepared(fm_index, files, options, output, progress=None, device=CPU):
    """Return (what a search has prepared, its context)."""
    resources = Resources(options.n_threads, device)
    context = Context(resources, progress or Progress(quiet=True), Cache())
    return SearchJob(Opened(fm_index), Files(files), options, output).prepare(context), context


def search(*given, **more):
    """Map reads to an index and write hits in order; return the summary."""
    work, context = prepared(*given, **more)
    return work(context)
