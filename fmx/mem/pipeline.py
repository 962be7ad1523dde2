"""``fmx mem``: from an opened index to the written lines."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .._version import __version__
from ..compiler import object_cache
from ..errors import UnsupportedError
from ..index.fm_index import FMIndex, JoinedIndex
from ..input import ReadPath
from ..input.read_range import InputRange, InputShare
from ..machines.gpu_session import GpuSession
from ..machines.jobs import run_all
from ..machines.pipeline import Emit, Shares, add_up, run_at
from ..machines.places import Auto, Device, at_once, choose_place, for_each, teams
from ..machines.progress import Progress, Watch, Writable
from ..output import module_of
from ..output.formats import sam
from ..output.run import LocalRun, PartRun
from ..report.facts import Report, SingleOutput, command_line
from ..search.mapping import BOTH
from ..search.summary import length_facts, strand_facts
from ..system.files import PLACE
from .matching import (
    Finder,
    Flood,
    MemOptions,
    MemSummary,
    QueryShare,
    bases_of,
    compile_all,
    join,
    make_matcher,
)
from .mummergpu import MummerGpu
from .seeds import Seeds

if TYPE_CHECKING:
    from ..input import SpanLike


@dataclass(frozen=True)
class MemOutput(SingleOutput):
    """Output of matches: ``kind`` mummer, paf, bed, tsv or sam; the others as MUMmer's -c, -L and -F.

    ``report``: files for reports of the run.
    """

    path: str = field(default="-", metadata=PLACE)
    kind: str = "mummer"
    original: bool = False
    lengths: bool = False
    four_columns: bool = False
    report: Report | None = field(default=None, metadata=PLACE)


class Matching(NamedTuple):
    """What is prepared before queries are read.

    ``finders``; ``told``: where they search; ``watch``, or None; ``head``: bytes before the first line.
    """

    finders: list
    told: list
    watch: Watch | None
    head: bytes


def prepare(
    fm_index: FMIndex | JoinedIndex,
    options: MemOptions,
    output: MemOutput,
    progress: Progress,
    device: Device,
) -> Matching:
    """Prepare what ``find`` needs, for one output or several."""
    object_cache.on_first_compile(progress)
    sam_header = partial(sam.header, fm_index.reference, __version__, command_line(), "")
    open_matches = module_of(output.kind).open_matches
    writer, head = open_matches(fm_index.reference, output, options.strands, sam_header)
    watch, told = (Watch(output.report) if output.report else None), ["the CPU"]
    options = replace(options, counts_lengths=bool(watch))

    clock = watch.clock if watch else None
    make = partial(Finder, fm_index, writer=writer, clock=clock)
    finders = make_finders(make, fm_index, options, device, progress, told)
    compile_all(at_once(finders))
    return Matching(finders, told, watch, head)


def find(
    matching: Matching,
    paths: Sequence[ReadPath],
    output: MemOutput,
    progress: Progress,
    shard: PartRun | None = None,
) -> MemSummary:
    """Find the matches of queries in order and write them.

    ``paths``: FASTA or FASTQ files, '-' for stdin. ``matching`` was prepared for such an ``output``.
    ``shard``: the part of a run to do, or None for all queries.
    """
    finders, told, watch, head = matching
    wall = progress.wall
    if watch:
        watch.begin(wall)
    run = shard or LocalRun(output.path, reports=output.reports)
    with run.opened(head) as sink:
        n_threads = sum(finder.options.n_threads for finder in finders)
        share = InputShare(() if shard else paths)
        source = share.of(run.plan(InputRange(paths, at_once(finders)[0].task_size, n_threads)))
        progress.follow(share)
        sink = wall.written(sink)
        with wall.spending("matching"):
            summary = find_all(finders, source, watch.timed(sink) if watch else sink, progress)
        wall.turn_to("writing")
        places = [finder.sentence() for finder in finders if isinstance(finder, Auto)]
        run.note(summary, facts=partial(_facts, watch, places or told, summary) if watch else None)
    for place in places:
        progress.say(f"searched on {place}")
    return summary


def _facts(watch: Watch, places: list, summary: MemSummary) -> dict:
    """Return the facts of a run for its report."""
    found = length_facts(summary, ("lengths", "match_lengths"))
    if summary.strands is not None:
        found["strands"] = strand_facts(summary.strands)
    return watch.facts(places, summary, found)


def find_all(
    finders: Sequence[Finder | Auto[Finder]],
    source: Iterator,
    sink: Writable,
    progress: Progress | None = None,
) -> MemSummary:
    """Find the matches of spans of queries, in order, and write their lines to ``sink`` (a binary file).

    ``finders``: one per place of search, each used by as many threads as its options say.
    """
    progress = progress or Progress(quiet=True)
    options, writer = finders[0].options, at_once(finders)[0].writer
    flood = Flood(progress.say, options.least, 2 if options.strands == BOTH else 1)

    def write(lines: Any) -> None:
        sink.write(lines)
        writer.written(lines)

    def say(summary: MemSummary, seconds: float) -> str:
        queries, matches = summary.in_words()
        return f"{queries}, {summary.bases / seconds:,.0f} bases/s, {matches}"

    return add_up(matched(finders, source, progress, write, flood), MemSummary(), progress, say)


def matched(
    finders: Sequence[Finder | Auto[Finder]],
    source: Iterable[Any],
    progress: Progress,
    write: Callable[[Any], object],
    flood: Flood | None = None,
) -> Generator[MemSummary, None, None]:
    """Yield the MemSummary of each span of queries, or of each part of one, in order.

    ``write`` is called first, with the lines of the span.
    """

    def work(finder: Finder, emit: Emit, item: "SpanLike | QueryShare") -> MemSummary | Shares:
        finder.flood = flood
        if isinstance(item, QueryShare):
            return item.how(finder, emit, *item.what)
        with finder.timed("read"):
            chunk = item.read()
        return Shares(finder.shares(chunk))

    return run_at(finders, work, source, write, progress.share, bases_of)


def make_finders(
    make: Callable[..., Finder],
    fm_index: FMIndex | JoinedIndex,
    options: MemOptions,
    device: Device,
    progress: Progress,
    told: list[str] | None = None,
) -> list:
    """Make Finders by ``make(options=, matcher=)``: for the CPU, for each team of GPUs, or Auto of both.

    ``told`` is set to where matches are searched if a place was chosen.
    """

    def tell(where: str) -> None:
        progress.say(f"searching on {where}")
        if told:
            told[:] = [where]

    def on_cpu() -> list[Finder]:
        return [make(options=options)]

    def on_gpus(sessions: list[GpuSession]) -> list[Finder]:
        from ..search.gpu.gpu_search import n_bytes
        from .seeds_gpu import BESIDE

        hosts = [make_matcher(part, options) for part in fm_index.parts]
        sizes = [n_bytes(host) + BESIDE for host in hosts]

        def on_team(team: Sequence[GpuSession], n_threads: int) -> Finder:
            parts = []
            for host, session, size in zip(hosts, team, sizes, strict=True):
                own = sum(other for other, of in zip(sizes, team, strict=True) if of is session)
                parts.append(session.run(gpu_matcher, host, session.share(size, own), n_threads))
            return make(options=replace(options, n_threads=n_threads), matcher=join(fm_index, parts))

        found = for_each(teams(sessions, sizes, 0, progress.say), options.n_threads)
        return run_all(on_team, found, len(found))

    def start() -> list[Finder]:
        made = choose_place(replace(device, engine="cuda"), on_gpus, on_cpu, lambda where: None)
        compile_all(made)
        return made

    if fm_index.parts[0].method == "sparse":
        if device.engine == "cuda":
            raise UnsupportedError(
                "fmx mem searches a sparse index on the CPU only: omit --engine cuda, or build a default "
                "index with 'fmx index REFERENCE.fa'"
            )
        return on_cpu()
    if device.engine != "auto":
        return choose_place(device, on_gpus, on_cpu, tell)
    (finder,) = on_cpu()
    finder.task_size = options.tasks.auto
    return [Auto(finder, start, "bases")]


def gpu_matcher(host: Any, session: GpuSession, n_threads: int) -> Any:
    """Return the matcher ``host`` of a part of an index on a GPU, for n_threads threads."""
    from .mummergpu_gpu import GpuMummer
    from .seeds_gpu import GpuSeeds

    return {Seeds: GpuSeeds, MummerGpu: GpuMummer}[type(host)](host, session, n_threads)
