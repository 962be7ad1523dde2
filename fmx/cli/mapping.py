"""What fmx search and fmx locate do alike."""

from dataclasses import replace
from typing import Any, NamedTuple

from .. import options, workflow
from ..index.fm_index import load
from ..machines.progress import Progress
from ..search.hints import hint
from .places import check_places
from .shards import places_of, undone_shard


class Run(NamedTuple):
    """What is mapped into a workflow.Output: ``sources``, by default the ``files``; the name of a sample."""

    files: tuple
    output: Any
    sources: Any = None
    name: str = ""


def map_to_index(command, given, runs, outputs, wanted):
    """Open the index, and map each Run.

    ``command``: its name; ``outputs`` as check_places takes them; ``wanted``: MapOptions, but for what
    ``given`` says of strands and threads.
    """
    path, strands = options.find_index(given.index_path), options.strands_of(given)
    check_places([file for run in runs for file in run.files], places_of(given, outputs), path)
    wants = given.layout, given.method, given.threads, given.max_memory, given.verify
    fm_index = load(path, *wants, with_text=wanted.near is not None)
    wanted, device = replace(wanted, strands=strands, n_threads=given.threads), options.device_of(given)
    progress = Progress(given.quiet)
    for files, output, sources, name in runs:
        is_wanted, shard = undone_shard(
            given, progress, command, files, fm_index.meta, mapping=wanted, output=output
        )
        if not is_wanted:
            continue
        if name:
            progress.say(f"sample {name} to {output.path}")
        output = replace(output, shard=shard)
        summary = workflow.search(fm_index, sources or files, wanted, output, progress, device)
        if command == "search" and (what := hint(summary, fm_index.reference, wanted)):
            progress.say(f"hint: {what}")
