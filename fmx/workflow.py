"""The workflows of an index: build it, map reads, list occurrences, inspect it.

build   FASTA -> Reference, text -> prefix table, SA, BWT -> layouts -> ref.fmx/   (index/build.py)
search  reads -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> SAM, BAM ...   (search/mapper.py)
locate  patterns -> as search, all hits -> TSV, BED or SAM; primers -> Products -> TSV, BED or FASTA

Those of fmx mem, count and pairwise are in mem/matching.py, guides/pipeline.py and align/pipeline.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ._version import __version__
from .compiler import object_cache
from .index import layouts, plan
from .index.disk import array_sizes, part_sizes, read_meta, settled
from .index.plan import IndexOptions
from .index.reference import Reference
from .index.sparse import parse_sparse
from .input import InputRange, InputShare, ReadFiles, ReadPath, chosen_records, paths_of
from .machines.places import CPU, Device, is_large
from .machines.progress import Measurement, Progress
from .output import PLAIN, module_of
from .output.formats import sam
from .output.hits import join_writers
from .output.run import Run
from .output.search_output import SearchOutput
from .report import command_line
from .search.find import least_bases
from .search.mappers import choose_mapper, compile_all, map_spans
from .search.mapping import MapOptions, Observers
from .search.summary import search_facts

if TYPE_CHECKING:
    from .index.build import add_groups, add_layouts, build_index
    from .index.fm_index import AnyIndex
    from .output.hits import BatchWriter
    from .search.collapse import Collection
    from .search.counts import Screen, Tally
    from .search.mapper import Mapper
    from .search.summary import PairSummary, Summary

__all__ = [
    "Device", "IndexOptions", "add_groups", "add_layouts", "build_index", "inspect", "prepare", "search",
    "write_hits",
]  # fmt: skip


def _of_building(name: str) -> object:
    """Import a building function on first use; a search does not need them."""
    if name not in ("add_groups", "add_layouts", "build_index"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".index.build", __package__), name)


if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = _of_building


class Search(NamedTuple):
    """What a search prepares before it reads: a ``mapper`` of MapOptions to a ``reference``; a ``tally``, a
    ``screen`` and a ``measurement``, or None; a ``writer``, and the bytes before its first record."""

    reference: Reference
    options: MapOptions
    mapper: "Mapper"
    tally: "Tally | None"
    screen: "Screen | None"
    measurement: Measurement | None
    writer: "BatchWriter"
    head: bytes


def prepare(
    fm_index: "AnyIndex",
    paths: ReadFiles,
    options: MapOptions,
    output: SearchOutput,
    progress: Progress,
    device: Device,
    n_shards: int = 1,
) -> Search:
    """Prepare a search for ``write_hits``; the result can be used for several outputs in turn.

    ``n_shards``: how many shards the reads are divided into; each output gets one.
    """
    object_cache.on_first_compile(progress)
    reference, tally, screen = fm_index.reference, None, None
    measurement = Measurement(output.report) if output.report else None
    if output.tables or measurement:
        from .index.fm_index import join
        from .search.counts import Screen, Tally, owners_of

        grouped = fm_index if reference.groups or not output.screen else join([fm_index])  # one group
        counted, reference = fm_index if output.counts else grouped, grouped.reference
        tally = Tally(owners_of(counted, output.by_group)) if output.counts or measurement else None
        screen = Screen(owners_of(grouped, by_group=True)) if output.screen else None
    options = replace(options, counts_lengths=bool(measurement))
    files = paths_of(paths)
    writer, head = make_writer(reference, output, bool(options.pairing and output.path), files)
    is_much = device.engine == "auto" and options.first is None and is_large(files, n_shards)
    observers = Observers(tally, screen, measurement.clock if measurement else None, progress.say)
    mapper = choose_mapper(fm_index, options, device, progress, writer, observers, is_much)
    compile_all(mapper, writer, any_length=least_bases(fm_index) == 0)
    for why in writer.refusals:
        progress.say(f"BAM is compressed on the CPU: {why}")
    return Search(reference, options, mapper, tally, screen, measurement, writer, head)


def search(
    fm_index: "AnyIndex",
    paths: ReadFiles,
    options: MapOptions,
    output: SearchOutput,
    progress: Progress | None = None,
    device: Device = CPU,
) -> "Summary | PairSummary":
    """Map reads (FASTA or FASTQ files, '-' for stdin) to an index, write hits in order, return a Summary.

    With ``options.pairing``, map the pairs of PairedFiles and return a PairSummary.
    """
    progress = progress or Progress(quiet=True)
    prepared = prepare(fm_index, paths, options, output, progress, device)
    return write_hits(prepared, paths, output, progress, Run())


def write_hits(
    prepared: Search, paths: ReadFiles, output: SearchOutput, progress: Progress, run: Run
) -> "Summary | PairSummary":
    """Map the reads of a Run with a prepared search."""
    reference, options, mapper, tally, screen, measurement, writer, head = prepared
    for counter in (tally, screen):
        if counter:
            counter.clear()
    wall = progress.wall
    if measurement:
        measurement.begin(wall, [mapper.session] if mapper.session else [])
    make = getattr(module_of(output.kind), "container", None)
    container = make(reference, output.records) if make else PLAIN
    size, n_threads = mapper.options.chunk_size, mapper.options.n_threads
    with run.opened(output, head, writer.end(), container, options.n_threads) as outputs:
        share = InputShare(paths_of(paths) if run.is_whole else ())
        inputs = InputRange(paths, size, n_threads, chosen_records(options.skip, options.first), share)
        progress.follow(share)
        if options.collapse:
            from .search.collapse import collect

            def distinct() -> "Collection":  # of all input, as equal reads may be anywhere
                spans = Run().plan(inputs._replace(n_threads=options.n_threads))
                return collect(spans, options, progress)

            collection = run.shared("distinct", distinct)
            source = collection.spans(size, progress, *run.share_of(collection.n))
        else:
            source = run.plan(inputs)
        sink = wall.written(outputs)
        with wall.spending("mapping"):
            summary = map_spans(
                mapper, source, writer, measurement.timed(sink) if measurement else sink, progress
            )
        wall.turn_to("writing")
        tables: dict = {}
        sums: dict = {}
        facts = None
        if output.tables:
            from .output.formats import tsv  # not needed for records

            if output.counts and tally:
                tables["--counts"] = tsv.counts(tally.owners, tally.table(), output.by_group)
            if screen and (groups := reference.groups):
                (n_all, what), combinations = summary.seen(), screen.combinations()
                tables["--screen"] = tsv.screen(combinations, groups.what, what, n_all)
                rows = [{"groups": list(names), "reads": n} for names, n in combinations.items()]
                sums["screen"] = {"combinations": rows, "of": groups.what, "what": what, "n_all": n_all}
        if measurement:
            places = [str(mapper.session or "the CPU")]
            known = partial(search_facts, summary, tally, screen, output.by_group)
            facts = lambda: measurement.facts(places, summary, known())  # noqa: E731
        outputs.finish(summary, tables, facts, sums)
    return summary


def make_writer(
    reference: Reference, output: SearchOutput, for_mates: bool = False, paths: Sequence[ReadPath] = ()
) -> "tuple[BatchWriter, bytes]":
    """(writer, bytes before the first record); ``for_mates``: for pairs; ``paths``: of all reads, if they
    have several read groups."""
    records, groups = output.records, output.records.groups
    header = partial(sam.header, reference, __version__, command_line(), groups.lines)

    def make(name: str) -> "tuple[BatchWriter, bytes]":
        of_group = replace(records, groups=replace(groups, name=name))
        writer, head = module_of(records.kind).open_hits(reference, of_group, header)
        writer.prepare(records.mismatches, for_mates)
        writer.reads_files = tuple(output.reads_files.values())
        return writer, head

    if not groups.of_files:
        return make(groups.name)
    writers = {name: make(name) for name in dict.fromkeys(groups.of_files)}
    of_path = {path: writers[name][0] for path, name in zip(paths, groups.of_files, strict=True)}
    return join_writers(of_path), writers[groups.of_files[0]][1]


@settled
def inspect(path: str | Path, verify: bool = False, n_threads: int = 1) -> dict:
    """meta.json of an index with the size of each part; ``verify``: check every array.

    ``search``: the method that would be used now, the reason, and the bytes that each method reads;
    ``layout_sizes``: for each layout (bytes per symbol, bytes per symbol predicted by its paper's formula).
    """
    meta = read_meta(path)
    if verify:
        from .index import consistency

        consistency.verify(path, meta, n_threads)
    names = [meta["sparse"], *meta["layouts"]] if "sparse" in meta else meta["layouts"]
    n_text, arrays, sizes = meta["n_text"], array_sizes(meta), {}
    for name in names:
        layout = parse_sparse(name) or layouts.parse_name(name)
        size = sum(n for key, n in arrays.items() if key.startswith(f"{name}."))
        formula = sum(layout.bytes_per_symbol(n) * n for n in part_sizes(meta))
        sizes[name] = size / n_text, formula / n_text
    total = sum(array["bytes"] for array in meta["arrays"].values())
    method, reason = plan.choose_way(meta)
    search = {"way": method, "reason": reason, "bytes": plan.ways_to_search(meta)}
    return {**meta, "path": str(path), "bytes": total, "layout_sizes": sizes, "search": search}
