"""Creates the mapper of an index, on the CPU or on a GPU, and maps spans of reads with it."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError, n_of
from ..index import layouts
from ..input import PairedFiles, spans
from ..machines.pipeline import add_up, run_ordered
from ..machines.places import choose_place
from ..machines.progress import Progress
from .find import ReadFinder, part_on_cpu, shortest_in_sparse, shortest_read
from .mapper import Mapper
from .mapping import NO_HOOKS, Hooks, MapOptions
from .summary import Summary

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.chunks import Chunk
    from ..input.mates import PairSpan
    from ..input.spans import Span
    from ..machines.gpu import GpuSession
    from ..machines.places import Device
    from ..machines.progress import TimedFile

_WARM_UP_READ = b"ACGT" * 8  # it occurs rarely, also with mismatches


def make_mapper(index: "FMIndex | JoinedIndex", options: MapOptions, hooks: Hooks = NO_HOOKS) -> Mapper:
    """Return a mapper of an FMIndex or a JoinedIndex on the CPU. Raises UnsupportedError."""
    parts, least = [part_on_cpu(index, number) for number in range(len(index.parts))], shortest_read(index)
    if not options.near:
        return Mapper(ReadFinder(parts, options, hooks, least), index.reference)
    from .near import NearFinder, text_of
    from .queries.near_words import LONGEST

    if options.near.iupac and index.parts[0].method == "sparse":
        raise UnsupportedError(
            "--method sparse finds near matches of A, C, G and T only: omit it, or use neither --iupac nor "
            "--pairs"
        )
    if least > LONGEST:
        raise UnsupportedError(
            f"this index finds only strings of {least} bases or more, but near matches need {LONGEST} or "
            f"fewer: build one with --layout sparse or {layouts.DEFAULT}"
        )
    parts = [part._replace(text=text_of(index, i)) for i, part in enumerate(parts)]
    finder = NearFinder(parts, options, hooks, least, shortest_in_sparse(index.parts))
    return Mapper(finder, index.reference)


def choose_mapper(
    index: "FMIndex | JoinedIndex", options: MapOptions, device: "Device", hooks: Hooks,
    writer: Any = None, is_large: bool = False, make: Callable[..., Mapper] = make_mapper,
) -> Mapper:  # fmt: skip
    """Return the mapper of an index on a Device.

    ``hooks``: their ``say`` prints where reads are searched. ``writer``: the writer of the records.
    ``is_large``: whether engine auto uses a GPU, if one can do all of the work. ``make``: makes the mapper on
    the CPU. Raises DeviceError, UnsupportedError.
    """
    on_cpu, say = partial(make, index, options, hooks), hooks.say
    assert say is not None

    def on_gpu(sessions: "Sequence[GpuSession]") -> Mapper:
        from .gpu.gpu_mapper import GpuMapper, ReadSteps

        steps = ReadSteps
        if options.pairing:
            from .gpu.gpu_pairs import PairSteps as steps
        return GpuMapper(index, options, sessions[0], device.engine, hooks, steps)

    if device.engine == "cpu":
        return on_cpu()
    if why_not := _no_gpu_search(index, options, writer, hooks):
        if device.engine != "auto":
            raise UnsupportedError(f"{why_not}: leave out --engine to use the CPU's cores")
    elif device.engine == "auto" and not is_large:
        why_not = "it is faster for inputs of this kind or size"
    if why_not:
        say(f"searching on the CPU: {why_not}")
        return on_cpu()
    mapper = choose_place(device, on_gpu, on_cpu, lambda where: say(f"searching on {where}"))
    if mapper.session and any(part.shorter for part in index.parts):
        say(f"reads shorter than {shortest_in_sparse(index.parts)} bases are searched on the CPU")
    return mapper


def _no_gpu_search(index: "FMIndex | JoinedIndex", options: MapOptions, writer: Any, hooks: Hooks) -> str:
    """Return why no GPU can do a search, as the start of a message; "" if one can."""
    reasons = {
        "--iupac or --pairs": options.near and options.near.iupac,
        "mismatches": options.near,
        "--collapse": options.collapse,
        "--min-match": options.stretch,
        "several -x or an index in parts": index.parts[1:],
        "--counts or --report of pairs": options.pairing and hooks.tally,
        "--screen": hooks.screen,
        "{target} in --al": hooks.demultiplexer,
        "-C": writer and writer.comments,
        "this output": not (writer and writer.on_gpu),
        options.cpu_only: options.cpu_only,
    }
    return next((f"no GPU search with {what}" for what, is_so in reasons.items() if is_so), "")


def map_reads(
    mapper: Mapper, source: Iterable[Any], writer: Any, write: Callable[[Any], object]
) -> Generator[Any, None, None]:
    """Map the reads of spans or PairSpans and yield the Summary of each span, in order.

    ``write`` is called first, with the pieces that ``writer`` made of the span's hits: bytes of records, or
    rows for a Python program.
    """

    def work(emit: Callable[..., Any], span: "Chunk | PairSpan | Span") -> Summary:
        return mapper.map(span, writer, emit)

    return run_ordered(source, [work] * mapper.options.n_threads, write)


def map_spans(
    mapper: Mapper, source: Iterator, writer: Any, sink: "TimedFile",
    progress: Progress | None = None,
) -> Summary:  # fmt: skip
    """Map the reads of spans, write the records to ``sink`` and return the Summary of all."""
    progress = progress or Progress(quiet=True)
    noun = mapper.options.noun
    summary = Summary.of_sums(mapper.options.pairing is not None)

    def write(piece: Any) -> None:
        sink.write(piece)
        writer.written(piece)

    def say(summary: Summary, seconds: float) -> str:
        rate = f"{summary.reads / seconds:,.0f} {noun}s/s"
        return f"{n_of(summary.reads, noun)}, {rate}, {summary.mapped:,} mapped"

    return add_up(map_reads(mapper, source, writer, write), summary, progress, say)


def compile_all(mapper: Mapper, writer: Any, any_length: bool = True) -> None:
    """Map one artificial read, so that all code is compiled before the clock starts.

    ``any_length``: whether the index finds reads of any length; if not, the read is an N.
    """
    letters = _WARM_UP_READ if any_length else b"N"
    record = b"@r\n%s\n+\n%s\n" % (letters, len(letters) * b"I")
    for span in spans.plan(PairedFiles((2 * record,)) if mapper.options.pairing else [record]):
        mapper.map(span, writer, writer.written)
    for counter in (mapper.hooks.tally, mapper.hooks.screen):
        if counter:
            counter.clear()
