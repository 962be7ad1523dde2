"""What fmx search and fmx locate do alike."""

from dataclasses import replace

from .. import options, workflow
from ..index.fm_index import load
from ..machines.progress import Progress
from ..search.hints import hint
from .places import check_places
from .shards import places_of, undone_shard


def map_to_index(command, given, files, outputs, wanted, output, sources=None):
    """Open the index, map ``sources`` (by default the ``files``), write ``output`` (workflow.Output).

    ``command``: its name; ``outputs`` as check_places takes them; ``wanted``: MapOptions, but for what
    ``given`` says of strands and threads.
    """
    path, strands = options.find_index(given.index_path), options.strands_of(given)
    check_places(files, places_of(given, outputs), path)
    wants = given.layout, given.method, given.threads, given.max_memory, given.verify
    fm_index = load(path, *wants, with_text=wanted.near is not None)
    wanted, device = replace(wanted, strands=strands, n_threads=given.threads), options.device_of(given)
    progress = Progress(given.quiet)
    is_wanted, shard = undone_shard(
        given, progress, command, files, fm_index.meta, mapping=wanted, output=output
    )
    if is_wanted:
        output = replace(output, shard=shard)
        summary = workflow.search(fm_index, sources or files, wanted, output, progress, device)
        if command == "search" and (what := hint(summary, fm_index.reference, wanted)):
            progress.say(f"hint: {what}")
