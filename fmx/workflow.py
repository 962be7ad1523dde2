"""The workflows of an index: build it, map reads, list occurrences, inspect it.

build   FASTA -> Reference, text -> prefix table, SA, BWT -> layouts -> ref.fmx/   (index/building/build.py)
search  reads -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> SAM, BAM ...   (search/mapper.py)
locate  patterns -> as search, all hits -> TSV, BED or SAM; primers -> Products -> TSV, BED or FASTA

Those of fmx mem, count and pairwise are in mem/pipeline.py, guides/pipeline.py and align/pipeline.py.
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
from .index.arrays import own_sizes, part_sizes
from .index.disk import default_index_path
from .index.disk.store import read_meta, settled
from .index.fm_index import verify as verify_index
from .index.layouts import parse_sparse
from .index.plan import IndexOptions
from .index.reference import Groups, Reference
from .input import ReadFiles, ReadPath, paths_of
from .input.read_range import InputRange, InputShare, wanted_range
from .machines.places import CPU, Device, is_large
from .machines.progress import Progress, Watch
from .output import PLAIN, module_of
from .output.formats import sam
from .output.hits import Writers
from .output.run import Run
from .output.search_output import RecordOutput, SearchOutput
from .report.facts import command_line
from .search.find import least_bases
from .search.mappers import choose_mapper, compile_all, map_spans
from .search.mapping import MapOptions, Observers
from .search.summary import search_facts

if TYPE_CHECKING:
    from .index.building.build import add_groups, add_layouts, build_index
    from .index.fm_index import AnyIndex
    from .output.hits import OutputWriter
    from .search.collapse import Collection
    from .search.counts import Screen, Tally
    from .search.mapper import Mapper
    from .search.summary import PairSummary, Summary

__all__ = [
    "Device", "IndexOptions", "RecordOutput", "SearchOutput", "add_groups", "add_layouts", "build_index",
    "choose_mapper", "default_index_path", "inspect", "prepare", "search", "write_hits",
]  # fmt: skip


_BUILDING = ("add_groups", "add_layouts", "build_index")


def _of_building(name: str) -> object:
    """Import the building functions on first use; a search does not need them."""
    if name not in _BUILDING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".index.building.build", __package__), name)


if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = _of_building


class Search(NamedTuple):
    """What a search prepares before it reads: a ``mapper`` of MapOptions to a ``reference``; a
    ``tally``, ``screen`` and ``watch``, or None; a ``writer``, and the bytes before its first record."""

    reference: Reference
    options: MapOptions
    mapper: "Mapper"
    tally: "Tally | None"
    screen: "Screen | None"
    watch: Watch | None
    writer: "OutputWriter"
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
    reference = fm_index.reference
    watch = Watch(output.report) if output.report else None
    tally, screen = _counters(fm_index, output) if output.counts or output.screen or watch else (None, None)
    options = replace(options, counts_lengths=bool(watch))
    clock = watch.clock if watch else None
    files = paths_of(paths)
    writer, head = make_writer(reference, output, bool(options.pairing and output.path), files)
    is_much = device.engine == "auto" and options.first is None and is_large(files, n_shards)
    observers = Observers(tally, screen, clock, progress.say)
    mapper = choose_mapper(fm_index, options, device, progress, writer, observers, is_much)
    compile_all(mapper, writer, any_length=least_bases(fm_index) == 0)
    for why in writer.refusals():
        progress.say(f"BAM is compressed on the CPU: {why}")
    return Search(reference, options, mapper, tally, screen, watch, writer, head)


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
    files = paths_of(paths)
    reference, options, mapper, tally, screen, watch, writer, head = prepared
    for counter in (tally, screen):
        if counter:
            counter.clear()
    wall = progress.wall
    if watch:
        watch.begin(wall, [mapper.session] if mapper.session else [])
    make = getattr(module_of(output.kind), "container", None)
    container = make(reference, output.records) if make else PLAIN
    size, n_threads = mapper.options.chunk_size, mapper.options.n_threads
    with run.opened(output, head, writer.end(), container, options.n_threads) as outputs:
        share = InputShare(files if run.is_whole else ())
        inputs = InputRange(paths, size, n_threads, wanted_range(options.skip, options.first))
        if options.collapse:
            distinct = run.shared("distinct", partial(_distinct, inputs, options, share, progress))
            source = distinct.spans(size, progress, *run.share_of(distinct.n))
        else:
            source = run.plan(inputs)
            source = share.of_pairs(source) if options.pairing else share.of(source)
            progress.follow(share)
        sink = wall.written(outputs)
        with wall.spending("mapping"):
            summary = map_spans(mapper, source, writer, watch.timed(sink) if watch else sink, progress)
        wall.turn_to("writing")
        tables, sums = _tables(tally, screen, output, summary, reference.groups)
        facts = partial(_facts, watch, prepared, summary, output.by_group) if watch else None
        outputs.finish(summary, tables, facts, sums)
    return summary


def _facts(watch: Watch, prepared: Search, summary: "Summary | PairSummary", by_group: bool) -> dict:
    """Return the facts of a search for its report."""
    facts = search_facts(summary, prepared.tally, prepared.screen, by_group)
    return watch.facts([str(prepared.mapper.session or "the CPU")], summary, facts)


def _distinct(inputs: InputRange, options: MapOptions, share: InputShare, progress: Progress) -> "Collection":
    """Collect the distinct reads of all input (search.collapse.Collection): equal reads may be anywhere."""
    from .search.collapse import collect

    progress.follow(share)
    return collect(share.of(Run().plan(inputs._replace(n_threads=options.n_threads))), options, progress)


def _counters(fm_index: "AnyIndex", output: SearchOutput) -> "tuple[Tally | None, Screen | None]":
    """Return (a Tally or None, a Screen or None) for an output."""
    from .search.counts import Screen, Tally, owners_of

    tally = Tally(owners_of(fm_index, output.by_group)) if output.counts or output.report else None
    return tally, Screen(owners_of(fm_index, by_group=True)) if output.screen else None


def _tables(
    tally: "Tally | None", screen: "Screen | None", output: SearchOutput, summary: "Summary | PairSummary",
    groups: Groups | None,
) -> tuple[dict[str, bytes], dict]:  # fmt: skip
    """Return the tables that a Tally and a Screen of ``groups`` have counted, and what shards add up."""
    tables: dict = {}
    sums: dict = {}
    if not output.tables:
        return tables, sums
    from .output.formats import tsv  # not needed for records

    if output.counts and tally:
        tables["--counts"] = tsv.counts(tally.owners, tally.table(), output.by_group)
    if screen and groups:
        n_all, what = summary.seen()
        combinations = screen.combinations()
        tables["--screen"] = tsv.screen(combinations, groups.what, what, n_all)
        rows = [{"groups": list(names), "reads": n} for names, n in combinations.items()]
        sums["screen"] = {"combinations": rows, "of": groups.what, "what": what, "n_all": n_all}
    return tables, sums


def make_writer(
    reference: Reference, output: SearchOutput, for_mates: bool = False, paths: Sequence[ReadPath] = ()
) -> "tuple[OutputWriter, bytes]":
    """(writer, bytes before the first record); ``for_mates``: for pairs; ``paths``: of all reads, if they
    have several read groups."""
    records, groups = output.records, output.records.groups
    header = partial(sam.header, reference, __version__, command_line(), groups.lines)

    def make(name: str) -> "tuple[OutputWriter, bytes]":
        named = replace(records, groups=replace(groups, name=name))
        writer, head = module_of(records.kind).open_hits(reference, named, header)
        writer.allow(records.mismatches)
        writer.reads_files = tuple(output.reads_files.values())
        if not for_mates:
            return writer, head
        from .output.mate_writer import MateWriter

        return MateWriter(writer, records.mismatches), head

    if not groups.of_files:
        return make(groups.name)
    writers = {name: make(name) for name in dict.fromkeys(groups.of_files)}
    of_path = {path: writers[name][0] for path, name in zip(paths, groups.of_files, strict=True)}
    return Writers(of_path), writers[groups.name][1]


@settled
def inspect(path: str | Path, verify: bool = False, n_threads: int = 1) -> dict:
    """meta.json of an index with the size of each part; ``verify``: check every array.

    ``search``: the method that would be used now, the reason, and the bytes that each method reads;
    ``layout_sizes``: for each layout (bytes per symbol, bytes per symbol predicted by its paper's formula).
    """
    meta = read_meta(path)
    if verify:
        verify_index(path, meta, n_threads)
    names = [meta["sparse"], *meta["layouts"]] if "sparse" in meta else meta["layouts"]
    sizes = {name: _layout_sizes(meta, name) for name in names}
    total = sum(array["bytes"] for array in meta["arrays"].values())
    way, reason = plan.choose_way(meta)
    search = {"way": way, "reason": reason, "bytes": plan.ways_to_search(meta)}
    return {**meta, "path": str(path), "bytes": total, "layout_sizes": sizes, "search": search}


def _layout_sizes(meta: dict, name: str) -> tuple[float, float]:
    size = sum(n for key, n in own_sizes(meta).items() if key.startswith(f"{name}."))
    parsed, n_text = parse_sparse(name) or layouts.parse_name(name), meta["n_text"]
    formula = sum(parsed.bytes_per_symbol(n) * n for n in part_sizes(meta))
    return size / n_text, formula / n_text
