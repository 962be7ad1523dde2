"""What maps reads to an index, on the CPU or on GPUs: made by one function for all who map.

Mapper        exact occurrences       parts of the CPU
GpuMapper     the same                parts of a team of GPUs, and all stages there where that can be
NearMapper    with mismatches         parts of either
PairMapper    pairs of mates          by one of these
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..index.arrays import part_span
from ..machines.places import Auto, choose_place, for_each, teams
from ..machines.threads import run_all
from . import sparse
from .engines import cpu
from .hits import Locator
from .mapping import ANYWHERE, UNOBSERVED, Mapper, Observers, TextPart, make_query, warm_up
from .numbers import SparseLocator
from .sparse import SparseSearcher, least_bases, shortest

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..machines.gpu_session import GpuSession
    from ..machines.places import Device
    from ..machines.progress import Progress
    from . import FormatsHits, MapsSpans
    from .counts.tally import ReadCounter
    from .mapping import MapOptions

AUTO_CHUNK = 1 << 24  # bytes of a span that the CPU or a GPU takes, which suits both


def make_mapper(
    index: "FMIndex | JoinedIndex", options: "MapOptions", observers: Observers = UNOBSERVED
) -> Any:
    """What maps to an FMIndex or a JoinedIndex on the CPU."""
    parts = [part_on_cpu(index, number) for number in range(len(index.parts))]
    if not options.near:
        return _of_pairs(Mapper(parts, options, observers, least=least_bases(index)), index)
    from .near.matches import CpuVerifier, text_of
    from .near.near_mapper import NearMapper

    texts = [text_of(index, i) for i in range(len(parts))]
    with_texts = zip(parts, texts, strict=True)
    parts = [part._replace(text=text, verify=CpuVerifier(text)) for part, text in with_texts]
    return _of_pairs(NearMapper(parts, options, observers), index)


def part_on_cpu(index: "FMIndex | JoinedIndex", number: int) -> TextPart:
    """A part of the text for a Mapper of exact occurrences."""
    return _part(index.parts[number], part_span(index.meta, number)[0])


def _part(part: "FMIndex", start: int) -> TextPart:
    """A part of the text, which begins at ``start``."""
    if part.method == "sparse":
        shorter = _part(part.shorter, start) if part.shorter else TextPart(None, None)
        query = make_query(part)
        searcher = SparseSearcher(shortest([part]), partial(sparse.search, query), shorter.search)
        return TextPart(searcher, SparseLocator(query, start, shorter.locator))
    return TextPart(partial(cpu.search, make_query(part)), Locator(part.sa, part.layout, start))


def _of_pairs(mapper: Any, index: "FMIndex | JoinedIndex") -> Any:
    """What maps pairs, if its options ask for them."""
    if not mapper.options.pairing:
        return mapper
    from .pairs.pair_mapper import PairMapper

    return PairMapper(mapper, index.reference)


def goes_all_the_way(
    index: "FMIndex | JoinedIndex", options: "MapOptions", writer: "FormatsHits | None",
    tally: "ReadCounter | None",
) -> bool:  # fmt: skip
    """Whether one GPU can do all, from bytes to records."""
    reads_alone = not (options.near or options.pairing or options.collapse)
    can_write, can_count = writer is not None and writer.on_gpu, tally is None or tally.on_gpu
    return len(index.parts) == 1 and reads_alone and can_write and can_count


def make_mappers(
    index: "FMIndex | JoinedIndex", options: "MapOptions", device: "Device", progress: "Progress",
    writer: "FormatsHits | None" = None, observers: Observers = UNOBSERVED,
) -> list:  # fmt: skip
    """What maps to an index where a Device says: on the CPU, on each team of GPUs, or Auto of both.

    ``writer``: that of the records, if all are made alike.  Raises DeviceError, UnsupportedError.
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
            return _of_pairs(gpu_mapper.make_mapper(index, own, team, engine, writer, observers), index)

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

    if device.engine == "auto":
        return [Auto(make_mapper(index, replace(options, chunk_size=AUTO_CHUNK), observers), start)]
    made = choose_place(device, on_gpus, on_cpu, lambda where: progress.say(f"searching on {where}"))
    if made[0].sessions and any(part.shorter for part in index.parts):
        n = shortest(index.parts)
        progress.say(f"reads shorter than {n} bases are searched on the CPU")
    return made
