"""What fmx search and fmx locate do alike."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import click

from .. import options, workflow
from ..index.fm_index import load
from ..jobs.kept import MadeAnew
from ..jobs.told import tell_run
from ..machines.progress import Progress
from ..options.finding import find_indexes
from ..search.facts import Asked
from .places import check_places
from .reports import about
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
    paths, strands = find_indexes(given.index_paths), options.strands_of(given)
    if paths[1:] and given.max_memory:
        raise click.UsageError("--max-memory picks the search of one index: give one -x, or leave it out")
    fasta = [given.reference] if getattr(given, "reference", None) else []
    inputs = [*(file for run in runs for file in run.files), *fasta]
    check_places(inputs, places_of(given, outputs), paths[0])
    for other in paths[1:]:
        check_places([], outputs, other)
    wants = given.layout, given.method, given.threads, given.max_memory, given.verify
    kept = getattr(given, "kept", MadeAnew)
    output = runs[0].output
    has_names = output.kind != "nothing" and not output.matrix
    has_names = has_names or bool(output.counts and not output.by_group)
    make = partial(open_all, paths, wants, wanted.near is not None, has_names)
    progress = Progress(given.quiet)
    with progress.wall.spending("opening"):
        opened, fm_index = kept.shared("index", make)
    wanted, device = replace(wanted, strands=strands, n_threads=given.threads), options.device_of(given)
    if runs[0].output.matrix:
        from ..index.contigs import groups_of
        from ..output.formats.matrix import chunk_size

        groups_of(fm_index)
        wanted = replace(wanted, chunk_size=chunk_size(fm_index.reference, wanted.chunk_size))
    asked = Asked.of(wanted, fm_index.reference)
    for files, output, sources, name in runs:
        if output.report:
            known = about(command, given, files, [(own.path, own.meta) for own in opened])
            output = replace(output, report=replace(output.report, about=known))
        is_wanted, shard = undone_shard(
            given, progress, command, files, fm_index.meta, mapping=wanted, output=output, told=asked
        )
        if not is_wanted:
            continue
        if name:
            progress.say(f"sample {name} to {output.path}")
        output = replace(output, shard=shard)
        search = fm_index, sources or files, wanted, output, progress, device
        with kept.lent(device, partial(workflow.prepare, *search)) as prepared:
            summary = workflow.search(*search, prepared)
        tell_run(progress, command, summary, asked, files, shard)


def open_all(paths: list, wants: tuple, with_text: bool = False, has_names: bool = True) -> tuple:
    """(the indexes of these paths, all of them as one); ``wants`` of load.

    Raises UnsupportedError where two indexes have a contig of one name, if the output ``has_names``.
    """
    opened = [load(path, *wants, with_text=with_text) for path in paths]
    if not opened[1:]:
        return opened, opened[0]
    from ..index.fm_index import join, refuse_same_names

    joined = join(opened)
    if has_names:
        refuse_same_names(joined)
    return opened, joined
