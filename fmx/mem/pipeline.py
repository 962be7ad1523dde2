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
from ..machines.pipeline import Emit, Shares, add_up, run_ordered
from ..machines.places import Device
from ..machines.progress import Measurement, Progress, Writable
from ..output import module_of
from ..output.formats import sam
from ..output.run import Run
from ..report.facts import JobOutput, Report, command_line
from ..search.mapping import BOTH
from ..search.summary import length_facts, strand_facts
from ..system.files import PLACE
from .matching import Finder, Flood, MemOptions, MemSummary, compile_all
from .mummergpu import make_mummergpu

if TYPE_CHECKING:
    from ..input import SpanLike


@dataclass(frozen=True)
class MemOutput(JobOutput):
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

    ``session``: the GPU of the ``finder``, or None on the CPU; ``measurement``, or None; ``head``: bytes
    before the first line.
    """

    finder: Finder
    session: GpuSession | None
    measurement: Measurement | None
    head: bytes


def prepare(
    fm_index: FMIndex | JoinedIndex,
    options: MemOptions,
    output: MemOutput,
    progress: Progress,
    device: Device,
) -> Matching:
    """Prepare what ``find`` needs, for one output or several.  Raises DeviceError, UnsupportedError."""
    session = open_gpu(fm_index, options, device)
    object_cache.on_first_compile(progress)
    if device.engine != "cpu":
        progress.say(f"searching on {session or 'the CPU'}")
    sam_header = partial(sam.header, fm_index.reference, __version__, command_line(), "")
    open_matches = module_of(output.kind).open_matches
    writer, head = open_matches(fm_index.reference, output, options.strands, sam_header)
    measurement = Measurement(output.report) if output.report else None
    options = replace(options, counts_lengths=bool(measurement))
    matcher = None
    if session:
        from .mummergpu_gpu import GpuMummer

        host = make_mummergpu(fm_index.parts[0], options.least)
        matcher = session.run(GpuMummer, host, session, options.n_threads)
    finder = Finder(fm_index, options, writer, matcher, measurement.clock if measurement else None)
    compile_all(finder)
    return Matching(finder, session, measurement, head)


def find(
    matching: Matching, paths: Sequence[ReadPath], output: MemOutput, progress: Progress, run: Run
) -> MemSummary:
    """Find the matches of queries in order and write them.

    ``paths``: FASTA or FASTQ files, '-' for stdin. ``matching`` was prepared for such an ``output``.
    """
    finder, session, measurement, head = matching
    wall = progress.wall
    if measurement:
        measurement.begin(wall, [session] if session else [])
    with run.opened(output, head) as outputs:
        share = InputShare(paths if run.is_whole else ())
        source = share.of(run.plan(InputRange(paths, finder.task_size, finder.options.n_threads)))
        progress.follow(share)
        sink = wall.written(outputs)
        with wall.spending("matching"):
            summary = find_all(finder, source, measurement.timed(sink) if measurement else sink, progress)
        wall.turn_to("writing")
        place = str(session or "the CPU")
        outputs.finish(summary, facts=partial(_facts, measurement, place, summary) if measurement else None)
    return summary


def _facts(measurement: Measurement, place: str, summary: MemSummary) -> dict:
    """Return the facts of a run for its report."""
    facts = length_facts(summary, ("lengths", "match_lengths"))
    facts["strands"] = strand_facts((0, 0) if summary.strands is None else summary.strands)
    return measurement.facts([place], summary, facts)


def find_all(
    finder: Finder, source: Iterator, sink: Writable, progress: Progress | None = None
) -> MemSummary:
    """Find the matches of spans of queries, in order, and write their lines to ``sink`` (a binary file)."""
    progress = progress or Progress(quiet=True)
    options = finder.options
    finder.flood = Flood(progress.say, options.least, 2 if options.strands == BOTH else 1)

    def write(lines: Any) -> None:
        sink.write(lines)
        finder.writer.written(lines)

    def say(summary: MemSummary, seconds: float) -> str:
        queries, matches = summary.in_words()
        return f"{queries}, {summary.bases / seconds:,.0f} bases/s, {matches}"

    return add_up(matched(finder, source, write), MemSummary(), progress, say)


def matched(
    finder: Finder, source: Iterable[Any], write: Callable[[Any], object]
) -> Generator[MemSummary, None, None]:
    """Yield the MemSummary of each span of queries, or of each part of one, in order.

    ``write`` is called first, with the lines of the span.
    """

    def work(emit: Emit, item: "SpanLike | partial") -> MemSummary | Shares:
        if isinstance(item, partial):
            return item(emit)
        with finder.timed("read"):
            chunk = item.read()
        return Shares(finder.shares(chunk))

    return run_ordered(source, [work] * finder.options.n_threads, write)


def open_gpu(fm_index: FMIndex | JoinedIndex, options: MemOptions, device: Device) -> GpuSession | None:
    """Open the GPU of a Device, unless it names the CPU, or leaves the choice, which is the CPU then.

    Raises UnsupportedError if only the CPU can do it, DeviceError.
    """
    if device.engine in ("cpu", "auto"):
        return None
    if options.algorithm != "mummergpu":
        raise UnsupportedError(
            "maximal matches are found by seeds on the CPU only: leave out --engine, or use --algorithm "
            "mummergpu"
        )
    if fm_index.parts[1:]:
        raise UnsupportedError("an index in parts is searched on the CPU only: leave out --engine")
    return GpuSession(device.first, device.memory)
