"""Creates the mappers of an index, on the CPU or on GPUs, and maps spans of reads with them.

Mapper        exact occurrences       parts on the CPU
GpuMapper     exact occurrences       parts on a team of GPUs; one GPU does all stages if it can
NearMapper    with mismatches         parts on the CPU or on GPUs
PairMapper    pairs of mates          by one of the above; NearPairMapper by a NearMapper
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError, n_of
from ..index import layouts
from ..input import spans
from ..machines.jobs import run_all
from ..machines.pipeline import add_up, run_at
from ..machines.places import Auto, choose_place, for_each, is_much, teams
from ..machines.progress import Progress
from .hits import SelectionPolicy
from .mapper import Mapper, goes_all_the_way, part_on_cpu
from .mapping import BOTH, UNOBSERVED, MapOptions, Observers, least_bases, make_query, shortest
from .summary import PairSummary, Summary

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.chunks import Chunk
    from ..input.pair_spans import PairSpan
    from ..input.spans import Span
    from ..machines.gpu_session import GpuSession
    from ..machines.places import Device
    from ..machines.progress import TimedFile
    from . import MapsSpans, WritesHits

ANYWHERE = b"ACGT" * 8  # bases that occur rarely, also with mismatches


def make_mapper(
    index: "FMIndex | JoinedIndex", options: MapOptions, observers: Observers = UNOBSERVED
) -> "MapsSpans":
    """Return a mapper of an FMIndex or a JoinedIndex on the CPU. Raises UnsupportedError."""
    parts, least = [part_on_cpu(index, number) for number in range(len(index.parts))], least_bases(index)
    if not options.near:
        return of_pairs(Mapper(parts, options, observers, least=least), index)
    from .near.matches import CpuVerifier, SparseVerifier, text_of
    from .near.near_mapper import NearMapper
    from .queries.near import LONGEST

    for i, part in enumerate(parts):
        text, is_sparse = text_of(index, i), index.parts[i].method == "sparse"
        n = options.sizes.matches
        verify = SparseVerifier(text, part.locator, n) if is_sparse else CpuVerifier(text, n)
        parts[i] = part._replace(text=text, verify=verify)
    if least > LONGEST:
        raise UnsupportedError(
            f"this index finds only strings of {least} bases or more, but near matches need {LONGEST} or "
            f"fewer: build one with --layout sparse or {layouts.DEFAULT}"
        )
    own = NearMapper(parts, options, observers, least=least, shortest=shortest(index.parts))
    return of_pairs(own, index)


def of_pairs(mapper: Any, index: "FMIndex | JoinedIndex") -> "MapsSpans":
    """Return ``mapper``, or a PairMapper with it if its options are for pairs."""
    if not mapper.options.pairing:
        return mapper
    if mapper.options.near:
        from .pairs.near_pairs import NearPairMapper

        return NearPairMapper(mapper, index.reference)
    from .pairs.pair_mapper import PairMapper

    return PairMapper(mapper, index.reference)


def make_mappers(
    index: "FMIndex | JoinedIndex", options: MapOptions, device: "Device", progress: "Progress",
    writer: "WritesHits | None" = None, observers: Observers = UNOBSERVED, paths: Sequence[Any] = (),
) -> list:  # fmt: skip
    """Return the mappers of an index on a Device: one on the CPU, one per team of GPUs, or Auto for both.

    ``writer``: the writer of the records, if all records have one format. ``paths``: files of reads, if they
    are all mapped. Raises DeviceError, UnsupportedError.
    """

    def on_gpus(sessions: "Sequence[GpuSession]") -> list:
        from .gpu import gpu_mapper
        from .gpu.gpu_parts import STREAM_BYTES
        from .gpu.gpu_search import n_bytes

        engine = None if device.engine in ("cuda", "auto") else device.engine
        sizes = [n_bytes((make_query(part), part.sa)) for part in index.parts]
        found = for_each(teams(sessions, sizes, STREAM_BYTES, progress.say), options.n_threads)

        def make(team: "Sequence[GpuSession]", n_threads: int) -> "MapsSpans":
            own = replace(options, n_threads=n_threads)
            made = gpu_mapper.make_mapper(index, own, team, engine, writer, observers)
            if own.pairing and goes_all_the_way(index, own, writer, observers.tally):
                from .gpu.gpu_near_pairs import make_pair_mapper

                return make_pair_mapper(made, index.reference)
            return of_pairs(made, index)

        return run_all(make, found, len(found))

    def on_cpu() -> list:
        return [make_mapper(index, options, observers)]

    def start() -> list:
        made = choose_place(replace(device, engine="cuda"), on_gpus, on_cpu, lambda where: None)
        for mapper in made:
            if writer and options.near:
                warm_up(mapper.untold(), writer, ANYWHERE)
            elif writer:
                warm_up(mapper, writer)
        return made

    if options.near and index.parts[0].method == "sparse":
        if options.near.needs_any_length(device.engine):
            raise UnsupportedError(
                "--method sparse finds near matches of A, C, G and T on the CPU only: omit it, or use "
                "neither --iupac nor --pairs nor --engine cuda"
            )
        return on_cpu()
    if device.engine == "auto":
        # Of collapsed reads, only the distinct ones are mapped, after the cores have collected them.
        at_once = not options.collapse and is_much(paths, options.n_threads)
        is_large = at_once and not options.pairing  # large ones suit GPUs; pairs have two files
        size = options.chunk_size if options.collapse else options.sizes.auto_chunk << is_large
        own = replace(options, chunk_size=size)
        place = Auto(make_mapper(index, own, observers), start)
        if at_once:
            from .gpu import gpu_mapper  # takes longer while all cores work  # noqa: F401

            place.start_gpus()
        return [place]
    made = choose_place(device, on_gpus, on_cpu, lambda where: progress.say(f"searching on {where}"))
    if made[0].sessions and any(part.shorter for part in index.parts):
        n = shortest(index.parts)
        progress.say(f"reads shorter than {n} bases are searched on the CPU")
    return made


class MapperCache:
    """Mappers of the previous search, kept if GPUs hold the index: the next search needs no second copy."""

    def __init__(self) -> None:
        self._kept: tuple[Any, MapOptions | None, list] = (None, None, [])

    def clear(self) -> None:
        """Free the memory of the GPUs."""
        self._kept = None, None, []

    def mappers(
        self, index: "FMIndex | JoinedIndex", options: MapOptions, device: "Device", progress: "Progress"
    ) -> list:
        """Return the kept mappers if only ``policy``, ``strands`` or ``pairing`` differ.

        Otherwise makes new ones.
        """
        held, known, mappers = self._kept
        shared = replace(options, policy=SelectionPolicy(), strands=BOTH, pairing=None)
        if held is not index or known != shared:
            self.clear()
            mappers = make_mappers(index, shared, device, progress)
            if device.engine != "cpu":
                self._kept = index, shared, mappers

        def asked(mapper: "Mapper") -> "MapsSpans":
            own = mapper.asked(policy=options.policy, strands=options.strands, pairing=options.pairing)
            return of_pairs(own, index)

        return [mapper.as_asked(asked) if isinstance(mapper, Auto) else asked(mapper) for mapper in mappers]


def map_reads(
    mappers: "Sequence[MapsSpans | Auto[Any]]",
    source: Iterable[Any],
    writer: "WritesHits",
    progress: Progress,
    write: Callable[[Any], object],
) -> Generator[Any, None, None]:
    """Map the reads of spans or PairSpans and yield the Summary of each span, in order.

    ``write`` is called first, with the pieces that ``writer`` made of the span's hits: bytes of records, or
    rows for a Python program. ``mappers``: one per place; each is used by as many threads as its options say.
    """

    def work(
        mapper: "MapsSpans", emit: Callable[..., Any], span: "Chunk | PairSpan | Span"
    ) -> PairSummary | Summary:
        return mapper.map(span, writer.of(span), emit)

    return run_at(mappers, work, source, write, progress.share)


def map_spans(
    mappers: "Sequence[MapsSpans | Auto[MapsSpans]]",
    source: Iterator,
    writer: "WritesHits",
    sink: "TimedFile",
    progress: Progress | None = None,
) -> Summary | PairSummary:
    """Map the reads of spans, write the records to ``sink`` (a binary file) and return the Summary of all."""
    progress = progress or Progress(quiet=True)
    noun = mappers[0].options.noun
    summary = PairSummary() if mappers[0].options.pairing else Summary()

    def write(piece: Any) -> None:
        sink.write(piece)
        writer.written(piece)

    def say(summary: PairSummary | Summary, seconds: float) -> str:
        rate = f"{summary.reads / seconds:,.0f} {noun}s/s"
        return f"{n_of(summary.reads, noun)}, {rate}, {summary.mapped:,} mapped"

    return add_up(map_reads(mappers, source, writer, progress, write), summary, progress, say)


def compile_all(mappers: "Sequence[MapsSpans]", writer: "WritesHits", any_length: bool = True) -> None:
    """Map one artificial read, so that all code is compiled before the clock starts.

    ``any_length``: whether a read of 32 bases may be searched.
    """
    for mapper in mappers:
        warm_up(mapper, writer, ANYWHERE if any_length else b"N")
        if mapper.tally:
            mapper.tally.clear()


def warm_up(mapper: "MapsSpans", writer: "WritesHits", letters: bytes = b"N") -> None:
    """Map an artificial read while other mappers work; ``letters`` occur nowhere, so nothing is counted."""
    record = b"@r\n%s\n+\n%s\n" % (letters, len(letters) * b"I")
    for span in _planned(record, mapper.options.pairing is not None):
        mapper.map(span, writer.of(span), writer.written)


def _planned(record: bytes, in_pairs: bool) -> Iterator[Any]:
    """Return the spans of a read, or of a pair of two such reads."""
    if not in_pairs:
        return spans.plan([record])
    from ..input import (
        PairedFiles,
        pair_spans,  # not needed for single reads
    )

    return pair_spans.plan(PairedFiles((2 * record,)))
