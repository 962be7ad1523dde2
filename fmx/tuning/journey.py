"""The run of `fmx tune`: measure the device, predict every choice, try the first three, keep the best.

A trial on a sample corrects the prediction for the whole reference: the predicted search time is multiplied
by measured over predicted time of the sample.  So the model accounts for memory, and the trial for everything
else.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FmxError, UnsupportedError, shown
from ..index.arrays import part_arrays, part_sizes
from ..index.building.journey import build_index
from ..index.disk import store
from ..index.disk.store import read_meta
from ..index.fm_index import FMIndex, load
from ..index.plan import IndexOptions, available_memory
from ..index.reference import MAX_SYMBOLS
from ..index.sparse.table import parse_sparse
from ..input.reads import Patterns
from ..machines.gpu_session import GpuSession
from ..machines.jobs import ONE_CORE
from ..machines.places import Device, choose_place
from ..machines.progress import Progress
from ..measure import timing
from ..measure.texts import cut, places, random_fasta, search, search_both
from ..search import engines
from ..search.mapping import make_query
from . import choices
from .choices import Choice, Prediction, SearchPlace
from .rates import Store, measure_cpu, measure_gpu

N_READS = {"cpu": 200_000, "cuda": 4_000_000}  # per thread of the CPU, per GPU


def reads_per_second(path: str | Path, choice: Choice, length: int, n_threads: int) -> dict:
    """Return {engine: reads per second} for reads of ``length`` bases, one strand, in the index at ``path``.

    On a GPU, every engine that can run is tried, whatever the choice names.  Raises FmxError if a read is not
    found or no contig is that long.
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
            if part is fm_index.parts[0] and not (intervals.lo < intervals.hi).all():
                raise FmxError(f"{path}: reads drawn from the text were not found: please report this error")
            spent[engine] = spent.get(engine, 0) + seconds
    return {engine: patterns.length.size / seconds for engine, seconds in spent.items()}


def draw(fm_index: FMIndex, n: int, length: int) -> Patterns:
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
        form = gpu_search.choose([query], gpu.free_bytes())
        on_gpu = gpu_search.bring(query, form), gpu_search.upload(patterns)
        for engine in engines.CUDA:
            try:
                launch = engines.prepare(engine, query)
            except UnsupportedError:
                continue
            found = Intervals(*(gpu.zeros(patterns.length.size, np.uint32) for _ in Intervals._fields))
            seconds = gpu_timing.seconds(partial(launch, *on_gpu, found))
            spent[engine] = Intervals(*map(gpu.to_host, found)), seconds
    return spent


# Rank the choices and try the best.

SAMPLE = {"cpu": 20_000_000, "cuda": 100_000_000}  # bases of the text for trials
N_TRIED, N_SHOWN = 3, 10


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
        return (
            f"{what}, reads of {self.length}, memory {self.memory}, {self.engine}, {self.n_threads} threads"
        )


def tune(question: Question, progress: Progress, plan_only: bool = False) -> dict:
    """Return the answer that ``text`` formats; trials of an earlier run are reused.

    Raises UnsupportedError if no index fits, DeviceError if a GPU is requested and there is none.
    """
    meta = read_meta(question.index) if question.index else None
    sizes = part_sizes(meta) if meta else _parts_of(question.n_bases)
    places, stores, note = _places(question, progress)
    store = stores[-1]  # the GPU's, if there is one
    key = question.key(meta)
    if not plan_only and (known := store.result(key)):
        return {**known, "kept": str(store.path)}

    def offered(kind: str) -> Iterator[Choice]:
        return choices.of_index(meta, kind) if meta else choices.every(max(sizes), kind)

    predicted = choices.ranked(sizes, question.length, places, offered)[:N_SHOWN]
    if not predicted:
        allowed = ", ".join(f"{place.memory / 1e9:.2f} GB ({place.kind})" for place in places)
        raise UnsupportedError(f"no index of {sum(sizes):,} symbols fits into {allowed}: raise --max-memory")
    rows = [_row(found) for found in predicted]
    about = {"index": str(question.index) if question.index else None, "length": question.length}
    devices = [place.rates.device for place in places]
    answer = about | {"devices": devices, "note": note, "n_text": sum(sizes), "rows": rows}
    if plan_only:
        return answer
    for found, row in zip(predicted[:N_TRIED], rows, strict=False):
        _try(question, sizes, found, row, progress)
    tried = [row for row in rows if "corrected" in row]
    rows.sort(key=lambda row: -row["corrected"] if row in tried else 0)
    return store.keep_result(key, answer)


def _parts_of(n_bases: int) -> list:
    """Return the part sizes of a text of that many bases in contigs far smaller than a part."""
    n_parts = -(-n_bases // MAX_SYMBOLS)
    return [n_bases // n_parts] * n_parts


def _places(question: Question, progress: Progress) -> tuple:
    """Return (the requested SearchPlaces, their Stores, a note on the memory of the CPU)."""
    places, stores, note = [], [], ""
    if question.engine != "cuda":
        device = f"{timing.machine()}, {question.n_threads} threads"
        stores.append(Store(device))
        with progress.stage("rates of this CPU"):
            rates = stores[-1].rates(lambda: measure_cpu(device, question.n_threads))
        most = max(rates.table[64])
        note = f"{1e-6 / rates.seconds(64, most):.0f} M lines/s from {most / 1e9:.1f} GB"
        places.append(SearchPlace("cpu", rates, question.memory or available_memory() // 2))

    def on_gpu(sessions: list[GpuSession]) -> None:
        (session,) = sessions
        stores.append(Store(session.name))
        with progress.stage("rates of the GPU"):
            rates = stores[-1].rates(lambda: measure_gpu(session.name))
        places.append(SearchPlace("cuda", rates, session.memory))

    where = Device(question.engine, memory=question.memory)
    choose_place(where, on_gpu, lambda: None, lambda place: progress.say(f"measured {place}"))
    return places, stores, note


def _row(found: Prediction) -> dict:
    return asdict(found.choice) | {"n_bytes": found.n_bytes, "predicted": found.reads}


def _try(question: Question, sizes: list[int], found: Prediction, row: dict, progress: Progress) -> None:
    """Search a sample, or the given index, and correct the prediction by the measured rate."""
    with progress.stage(f"trying {row['way']}"):
        if question.index:
            tried_sizes = sizes
            rates = reads_per_second(question.index, found.choice, question.length, question.n_threads)
        else:
            n = min(sum(sizes), SAMPLE[found.place.kind])
            tried_sizes = [n + 1]
            rates = _on_sample(question, found.choice, n)
    engine = max(rates, key=lambda name: rates[name])
    sample = choices.predict(tried_sizes, question.length, found.choice, found.place)
    whole = replace(found, search=found.search / sample.search / rates[engine])
    row.update(
        engine=engine, sample=sum(tried_sizes), sample_predicted=1 / sample.search,
        sample_measured=rates[engine], corrected=whole.reads,
    )  # fmt: skip


def _on_sample(question: Question, choice: Choice, n: int) -> dict:
    layout = "bvsfm-k2-d224" if choice.way == "verify" else choice.way
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.fmx"
        options = IndexOptions([layout], choice.sa_rate, choice.prefix_length)
        build_index(random_fasta(n), path, options, question.n_threads)
        return reads_per_second(path, choice, question.length, question.n_threads)


# The answer as text: a table of choices, and the commands of the best.


def text(answer: dict) -> str:
    """Format an answer."""
    lines = [f"machine     {device}" for device in answer["devices"]]
    lines += [f"memory      {answer['note']}"] if answer["note"] else []
    what = answer["index"] or "a reference"
    lines.append(
        f"reference   {what}, {answer['n_text']:,} symbols; reads of {answer['length']} bases, one strand"
    )
    lines += ["", "million reads/s, searched and one hit located:", ""]
    head = ("search by", "engine", "sa-rate", "prefix", "reads MB", "predicted", "on sample", "corrected")
    lines += [_line(*cells) for cells in (head, *map(_cells, answer["rows"]))]
    lines += ["", *_commands(answer)]
    if "kept" in answer:
        lines.append(f"measured {answer['date']}; remove {answer['kept']} to measure again")
    return "\n".join(map(shown, lines))


def _line(way: str, engine: str, sa_rate: object, prefix: object, size: str, *speeds: str) -> str:
    tail = "".join(f"{speed:>15}" for speed in speeds)
    return f"{way:<20}{engine:<20}{sa_rate:>7}{prefix:>8}{size:>10}{tail}".rstrip()


def _cells(row: dict) -> list:
    cells = [row[name] for name in ("way", "engine", "sa_rate", "prefix_length")]
    cells += [f"{row['n_bytes'] / 1e6:,.0f}", _million(row["predicted"])]
    if "corrected" not in row:
        return cells
    on_sample = f"{_million(row['sample_predicted'])} > {_million(row['sample_measured'])}"
    return [*cells, on_sample, _million(row["corrected"])]


def _million(reads: float) -> str:
    return f"{reads / 1e6:,.1f}" if reads < 1e8 else f"{reads / 1e6:,.0f}"


def _commands(answer: dict) -> list:
    """Return the commands to index and search by the first row."""
    best = answer["rows"][0]
    verify = best["way"] == "verify"
    way = "--method verify" if verify else f"--layout {best['way']}"
    search = f"fmx search {way} --engine {best['engine']}"
    if answer["index"]:
        return [f"search by    {search} -x {answer['index']} READS"]
    if parse_sparse(best["way"]):
        return [f"index by     fmx index --layout {best['way']} REFERENCE", f"search by    {search} READS"]
    layout = "" if verify else f" --layout {best['way']} --sa-rate {best['sa_rate']}"
    return [
        f"index by     fmx index{layout} --prefix-length {best['prefix_length']} REFERENCE",
        f"search by    {search} READS",
    ]
