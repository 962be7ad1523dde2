"""The run of `fmx tune`: list the ways to search that fit into memory, time the first few, keep the best.

The ways are listed in the order of docs/benchmarks.md, fast and large ones first.  A trial searches reads on
one strand, in the given index or in the index of a random sample.
"""

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler import private
from ..errors import FmxError, UnsupportedError, bytes_of, shown
from ..index import layouts, plan
from ..index.arrays import part_arrays, part_sizes
from ..index.building.build import build_index
from ..index.disk import store
from ..index.fm_index import AnyIndex, FMIndex, load
from ..index.layouts import SparseName, parse_sparse
from ..index.reference import MAX_SYMBOLS
from ..input.reads import Patterns
from ..machines.gpu_session import GpuSession
from ..machines.jobs import ONE_CORE, run_all, spans
from ..machines.places import Device, choose_place
from ..machines.progress import Progress
from ..measure import timing
from ..measure.texts import cut, places, random_fasta, search, search_both
from ..search import engines
from ..search.hits import Locator
from ..search.mapping import make_query

SPARSE = str(SparseName())
WAYS = ("verify", SPARSE, "cofi", "bvsfm-k3-d224", *dict.fromkeys(name for name, _ in plan.CHOICES))
SA_RATES = (1, 4, 16, 32, 64)
N_TRIED = 4  # of a reference; of an index, all
SAMPLE = {"cpu": 20_000_000, "cuda": 100_000_000}  # bases of the text for trials
N_READS = {"cpu": 200_000, "cuda": 4_000_000}  # per thread of the CPU, per GPU


@dataclass(frozen=True)
class Question:
    """The request: an index, or a reference of ``n_bases``; reads of ``length`` bases; ``memory``: bytes for
    the index (None: half of the free memory, on a GPU all of it); ``engine``: auto, cpu or cuda."""

    index: Path | None
    n_bases: int
    length: int
    memory: int | None
    engine: str
    n_threads: int

    def key(self, meta: dict | None) -> str:
        """Return a key under which the result is kept."""
        what = meta["checksum"] if meta else f"{self.n_bases} bases"
        reads = f"reads of {self.length} bases"
        return f"{what}, {reads}, memory {self.memory}, {self.engine}, {self.n_threads} threads"


@dataclass(frozen=True)
class SearchPlace:
    """A place to search, cpu or cuda: the name of the device, and the bytes that an index may take there."""

    kind: str
    device: str
    memory: int


@dataclass(frozen=True)
class Choice:
    """A way to search: "verify", or the name of a layout or sparse suffix array.

    ``engine``: cpu or cuda, after a trial one of engines.CUDA; ``n_bytes`` that a search reads; ``speed``:
    reads per second in a trial, 0 without one.
    """

    way: str
    sa_rate: int
    n_bytes: int
    engine: str
    speed: float = 0


def choices_of_reference(sizes: list[int], place: SearchPlace) -> Iterator[Choice]:
    """Yield each way that fits, with the lowest sa_rate that does; ``sizes``: symbols of each part."""
    n = max(sizes)
    for name in WAYS:
        sparse = parse_sparse(name)
        if name == "verify":
            found = [(name, 1, plan.verify_bytes(sizes))]
        elif sparse:
            found = [(name, 1, plan.sparse_bytes(sizes, sparse))]
        else:
            way = str(layouts.parse_name(name, n))
            found = [(way, s, int(plan.backward_bytes(sizes, way, s))) for s in SA_RATES]
        yield from [Choice(*one, place.kind) for one in found if one[2] <= place.memory][:1]


def choices_of_index(meta: dict, place: SearchPlace) -> Iterator[Choice]:
    """Yield each way that an index offers and that fits."""
    for way, n_bytes in plan.ways_to_search(meta).items():
        if n_bytes <= place.memory:
            yield Choice(way, meta["sa_rate"], n_bytes, place.kind)


def tune(question: Question, progress: Progress, plan_only: bool = False) -> dict:
    """Return the answer that ``text`` formats; trials of an earlier run are reused.

    Raises UnsupportedError if no index or method fits, DeviceError if a GPU is requested and there is none.
    """
    meta = store.read_meta(question.index) if question.index else None
    if meta and question.length > _longest_contig(question.index, meta):
        raise UnsupportedError(
            f"no search method fits: reads of {question.length:,} bases are longer than every contig: use a "
            "smaller --length"
        )
    sizes = part_sizes(meta) if meta else _parts_of(question.n_bases)
    at = _places(question, progress)
    index = str(question.index) if question.index else None
    kept, key = KeptResults(at[-1].device), question.key(meta)  # the GPU's, if there is one
    if not plan_only and (known := kept.get(key)):
        return {**known, "index": index, "kept": str(kept.path)}
    offered: list[Choice] = []
    for place in at:
        offered += choices_of_index(meta, place) if meta else choices_of_reference(sizes, place)
    found = [choice for choice in offered if _can_search(choice, question.length)]
    if offered and not found and (sparse := parse_sparse(offered[0].way)):
        raise UnsupportedError(
            f"no search method fits: {sparse} finds only reads of {sparse.shortest} bases or more, on the CPU"
        )
    if not found:
        allowed = ", ".join(f"{bytes_of(place.memory)} ({place.kind})" for place in at)
        raise UnsupportedError(f"no index of this reference fits into {allowed}: raise --max-memory")
    about = {
        "index": index, "length": question.length, "devices": [place.device for place in at],
        "n_bases": meta["n_bases"] if meta else sum(sizes),
    }  # fmt: skip
    if not plan_only:
        n_tried = len(found) if meta else N_TRIED
        for kind in {choice.engine for choice in found}:
            own = [choice for choice in found if choice.engine == kind][:n_tried]
            found = [_tried(question, x, sum(sizes), progress) if x in own else x for x in found]
    found.sort(key=lambda choice: -choice.speed)
    answer = {**about, "rows": list(map(asdict, found))}
    return answer if plan_only else kept.keep(key, answer)


def _can_search(choice: Choice, length: int) -> bool:
    sparse = parse_sparse(choice.way)
    return not sparse or (choice.engine == "cpu" and length >= sparse.shortest)


def _longest_contig(path: Any, meta: dict) -> int:
    lengths, _ = store.read_array(path, meta, "contig_lengths")
    return int(lengths.max())


def _parts_of(n_bases: int) -> list:
    """Return the part sizes of a text of that many bases in contigs far smaller than a part."""
    n_parts = -(-n_bases // MAX_SYMBOLS)
    return [n_bases // n_parts] * n_parts


def _places(question: Question, progress: Progress) -> list[SearchPlace]:
    """Return the requested places, the CPU first."""
    found = []
    if question.engine != "cuda":
        device = f"{timing.machine()}, {question.n_threads} threads"
        found.append(SearchPlace("cpu", device, question.memory or plan.available_memory() // 2))

    def on_gpu(sessions: list[GpuSession]) -> None:
        found.append(SearchPlace("cuda", sessions[0].name, sessions[0].memory))

    where = Device(question.engine, memory=question.memory)

    def tell(place: str) -> None:
        _, _, why = place.partition("the CPU: ")
        also = "the CPU and " if found[1:] else ""
        what = f"only CPU settings are compared; {why}" if why else f"comparing settings for {also}{place}"
        progress.say(what)

    choose_place(where, on_gpu, lambda: None, tell)
    return found


# Trials.


def _tried(question: Question, choice: Choice, n_text: int, progress: Progress) -> Choice:
    """Search a sample, or the given index; return the choice with the fastest engine and its speed."""
    with progress.stage(f"trying {choice.way} ({choice.engine})"), tempfile.TemporaryDirectory() as folder:
        path = question.index
        if path is None:
            path = Path(folder) / "sample.fmx"
            layout = layouts.DEFAULT if choice.way == "verify" else choice.way
            fasta = random_fasta(min(n_text, SAMPLE[choice.engine]))
            build_index(fasta, path, plan.IndexOptions([layout], choice.sa_rate), question.n_threads)
        speeds = reads_per_second(path, choice, question.length, question.n_threads)
    engine = max(speeds, key=lambda name: speeds[name])
    return Choice(choice.way, choice.sa_rate, choice.n_bytes, engine, speeds[engine])


def reads_per_second(path: str | Path, choice: Choice, length: int, n_threads: int) -> dict:
    """Return {engine: reads per second} for reads of ``length`` bases, one strand, in the index at ``path``.

    On the CPU one row per read is located as well.  On a GPU, every engine that can run is tried.  Raises
    FmxError if a read is not found or no contig is that long.
    """
    way = {"method": "verify"} if choice.way == "verify" else {"layout": choice.way}
    fm_index = load(path, n_threads=n_threads, **way)
    is_cpu = choice.engine == "cpu"
    patterns = draw(fm_index, N_READS["cpu"] * n_threads if is_cpu else N_READS["cuda"], length)
    spent: dict = {}
    for part in fm_index.parts:
        query = make_query(part)
        if parse_sparse(choice.way):
            found = {"cpu": search_both(query, patterns, n_threads)}
        else:
            found = {"cpu": search(query, patterns, n_threads)} if is_cpu else _on_gpu(query, patterns)
        for engine, (intervals, seconds) in found.items():
            if part is fm_index.parts[0]:
                if not (intervals.lo < intervals.hi).all():
                    raise FmxError(
                        f"{path}: reads drawn from the text were not found: please report this error"
                    )
                if is_cpu and part.method == "backward":
                    seconds += _seconds_to_locate(part, intervals.lo, n_threads)
            spent[engine] = spent.get(engine, 0) + seconds
    return {engine: patterns.length.size / seconds for engine, seconds in spent.items()}


def _seconds_to_locate(part: FMIndex, rows: np.ndarray, n_threads: int) -> float:
    """Return the seconds to locate rows of a part with n_threads."""
    locate, ones = Locator(part.sa, part.layout, 0).locate, np.ones(rows.size, np.int64)
    pieces = [(rows[a:b], ones[a:b]) for a, b in spans(rows.size, n_threads)]
    run_all(locate, pieces, n_threads)  # compiles
    return timing.best(lambda: run_all(locate, pieces, n_threads))


def draw(fm_index: AnyIndex, n: int, length: int) -> Patterns:
    """Draw n strings from the first part of an index, packed."""
    blocks = fm_index.parts[0].reference.blocks
    block, offset = places(blocks, length, n, np.random.default_rng(1))
    words, _ = store.read_array(
        str(fm_index.path), fm_index.meta, part_arrays(fm_index.meta, 0)["text_words"]
    )
    return cut(ONE_CORE, words, blocks.text_start[block] + offset, length)


def _on_gpu(query: Any, patterns: Patterns) -> dict:
    """Return {engine: (Intervals, seconds by events)}; reads and index are on the device."""
    from ..machines import gpu
    from ..measure import gpu_timing
    from ..search.gpu import gpu_search
    from ..search.hits import Intervals

    spent = {}
    with gpu.errors():
        on_gpu = gpu_search.bring(query, None), gpu_search.upload(patterns)
        for engine in engines.CUDA:
            try:
                launch = engines.prepare(engine, query)
            except UnsupportedError:
                continue
            found = Intervals(*(gpu.zeros(patterns.length.size, np.uint32) for _ in Intervals._fields))
            seconds = gpu_timing.seconds(partial(launch, *on_gpu, found))
            spent[engine] = Intervals(*map(gpu.to_host, found)), seconds
    return spent


# Results of earlier runs, kept beside the compiled code.


class KeptResults:
    """The results of one device by key, in <cache>/fmx/tune/DEVICE.json.

    A file that is unreadable or was changed counts as empty.
    """

    def __init__(self, device: str) -> None:
        name = re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-").lower()
        base = private.base()
        self.path = base / "tune" / f"{name}.json" if base else None
        self._results: dict = {}
        try:
            checksum, results = json.loads(self.path.read_text()) if self.path else ("", {})
            if checksum == _checksum(results):
                self._results = results
        except (OSError, ValueError, TypeError, RecursionError):  # no such file, or another content
            pass

    def get(self, key: str) -> dict | None:
        """Return the kept result of a key, if any."""
        return self._results.get(key)

    def keep(self, key: str, result: dict) -> dict:
        """Keep a result, with the date."""
        self._results[key] = result = {**result, "date": time.strftime("%Y-%m-%d")}
        if self.path:
            data = json.dumps([_checksum(self._results), self._results], indent=1) + "\n"
            private.write(self.path.parent, self.path.name, data.encode(), alone=False)
        return result


def _checksum(results: dict) -> str:
    return hashlib.sha256(json.dumps(results).encode()).hexdigest()[:16]


# The answer as text: a table of choices, and the commands of the best.


def text(answer: dict) -> str:
    """Format an answer."""
    lines = [f"machine     {device}" for device in answer["devices"]]
    what = f"{answer['index']}, " if answer["index"] else ""
    bases = f"{answer['n_bases']:,} bases"
    is_timed = any(row["speed"] for row in answer["rows"])
    strand = ", searched on one strand only (fmx search searches both)" if is_timed else ""
    lines.append(f"reference   {what}{bases}; reads of {answer['length']} bases{strand}")
    lines += ["", _line("method", "engine", "sa-rate", "memory MB", "million reads/s" if is_timed else "")]
    for row in answer["rows"]:
        million = row["speed"] / 1e6
        speed = (f"{million:,.1f}" if million < 100 else f"{million:,.0f}") if million else ""
        size = f"{row['n_bytes'] / 1e6:,.0f}" if row["n_bytes"] >= 1e6 else f"{row['n_bytes'] / 1e6:.1g}"
        lines.append(_line(row["way"], row["engine"], row["sa_rate"], size, speed))
    lines += ["", *_commands(answer)]
    if "kept" in answer:
        lines.append(f"measured {answer['date']}; remove {answer['kept']} to measure again")
    return "\n".join(map(shown, lines))


def _line(way: str, engine: str, sa_rate: object, size: str, speed: str) -> str:
    return f"{way:<20}{engine:<20}{sa_rate:>7}{size:>10}{speed:>17}".rstrip()


def _commands(answer: dict) -> list:
    """Return the commands to index and search by the first row."""
    best = answer["rows"][0]
    verify = best["way"] == "verify"
    way = "--method verify" if verify else f"--layout {best['way']}"
    search = f"fmx search {way} --engine {best['engine']}"
    if answer["index"]:
        return [f"to search:  {search} -x {answer['index']} READS"]
    layout = "" if verify else f" --layout {best['way']}"
    rate = "" if best["sa_rate"] == 1 else f" --sa-rate {best['sa_rate']}"
    return [f"to index:   fmx index{layout}{rate} REFERENCE", f"to search:  {search} READS"]
