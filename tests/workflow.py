"""What fmx does, as functions that many tests call: build an index, inspect it, search it without a job."""

from fmx.cli.commands import inspect as command
from fmx.index.build import add_groups, add_layouts, build_index
from fmx.index.disk import settled
from fmx.index.plan import IndexOptions
from fmx.jobs.search import make_writer, prepare, write_hits
from fmx.machines.places import CPU, Device
from fmx.machines.progress import Progress
from fmx.output.run import Run

__all__ = [
    "CPU", "Device", "IndexOptions", "Progress", "add_groups", "add_layouts", "build_index", "inspect",
    "make_writer", "prepare", "search", "write_hits",
]  # fmt: skip
inspect = settled(command.inspect)


def search(fm_index, paths, options, output, progress=None, device=CPU):
    """Map reads to an index and write hits in order; return the summary."""
    progress = progress or Progress(quiet=True)
    prepared = prepare(fm_index, paths, options, output, progress, device)
    return write_hits(prepared, paths, output, progress, Run())
