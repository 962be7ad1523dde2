"""Searches on the CPU's cores and on a GPU (in the simulator by plain Python), whose outputs are compared."""

import gzip

import pytest
import workflow

from fmx.errors import InputError
from fmx.input import PairedFiles
from fmx.output.files import ReadsOutput
from fmx.output.search_output import SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions

CPU, GPU = workflow.Device(), workflow.Device("cuda")
POLICIES = {
    "first": SelectionPolicy(), "all": SelectionPolicy(ALL), "drawn": SelectionPolicy(2, 9, 3),
    "limited": SelectionPolicy(3, 1),
}  # fmt: skip


def search(device, opened, files, folder, options=None, by_group=False, reads=None, **records) -> tuple:
    """(what is written, BAM inflated; the table of counts, not of pairs; the summary) of all reads."""
    path, counts = folder / "out", None if isinstance(files, PairedFiles) else folder / "counts"
    tables = {"--counts": str(counts)} if counts else {}
    output = SearchOutput(
        str(path), tables=tables, by_group=by_group, reads=reads or ReadsOutput(), **records
    )
    summary = workflow.search(opened, files, options or MapOptions(), output, device=device)
    written = path.read_bytes()
    written = gzip.decompress(written) if output.kind == "bam" else written
    return written, counts and counts.read_bytes(), summary


def both(opened, files, folder, on_cpu, *options, **output) -> tuple:
    """What both write, after they were compared, and how many reads or pairs the CPU mapped for the GPU."""
    expected = search(CPU, opened, files, folder, *options, **output)
    on_cpu.clear()
    assert search(GPU, opened, files, folder, *options, **output) == expected
    return *expected, sum(
        mates.one.length.size if hasattr(mates, "one") else mates.n_bound for mates in on_cpu
    )


def complaint(*given) -> str:
    """What both say of wrong reads."""
    said = []
    for device in (CPU, GPU):
        with pytest.raises(InputError) as caught:
            search(device, *given)
        said.append(str(caught.value))
    assert said[0] == said[1]
    return said[0]
