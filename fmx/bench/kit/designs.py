"""The papers' GPU experiments (fmx bench gpu), over a random text made on the GPU."""

from dataclasses import replace

from ...compiler.warp import WARP
from ...errors import UnsupportedError
from ...index.contracts import units
from ...index.prefix_table import PrefixTable
from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.gpu_session import GpuSession
from ...machines.threads import available_cores
from ...measure import gpu_timing, roofline, tables, texts
from ...measure.texts import Randomize, make_codes
from ...search import engines
from ...search.engines.cuda_memory import SHARED_BYTES
from ...search.gpu import gpu_search
from ...search.queries import Exact
from . import accesses, figures
from .drawn import Drawn

ONE_STEP = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", "sampled-k1-d960")
TWO_STEP = ("kstep-k2-d64", "kstep-k2-d192", "kstep-k2-d448")
ALTERNATE = ("alternate-k2-d64", "alternate-k2-d192", "alternate-k2-d448")
BVSFM = ("bvsfm-k1-d224", "bvsfm-k2-d96", "bvsfm-k2-d224", "bvsfm-k3-d224")
ALL = (*ONE_STEP, *TWO_STEP, *ALTERNATE, *BVSFM, "cofi-k15", "verify")
BY_SIZE = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", *TWO_STEP[:2], *ALTERNATE)
ON_CPU = ("sampled-k1-d64", "kstep-k2-d64", "bvsfm-k2-d96")
BLOCKS = (32, 64, 96, 128, 192, 256, 512)  # threads
N_ON_CPU = 2 * 10**6  # patterns


def _launches(query, names) -> dict:
    """The engines of these names that can search by a query, {name: Launch}."""
    launches = {}
    for name in names:
        try:
            launches[name] = engines.prepare(name, query)
        except UnsupportedError:
            continue
    return launches


def designs(drawn, names, engine_names, ceiling, with_energy) -> list:
    """A row for each layout and engine that go together."""
    rows = []
    for name in names:
        query = drawn.query(name)
        counted = accesses.count(query, drawn.patterns)
        one_kernel = not hasattr(query, "layout") or units(query.layout) == 0
        for engine, launch in _launches(query, engine_names).items():
            if one_kernel and engine != "cuda_task-naive16":
                continue
            intervals = drawn.no_intervals()
            row = {"layout": name, "engine": engine}
            row |= drawn.measured(lambda some, to, q=query, go=launch: go(q, some, to), intervals)
            row |= _accesses(query, counted, row.pop("s") / drawn.positions.size, drawn.length, ceiling)
            if with_energy:
                used, watts = gpu_timing.joules(
                    lambda q=query, go=launch, to=intervals: go(q, drawn.patterns, to)
                )
                bases = drawn.positions.size * drawn.length
                row |= {"Mbases/J": bases / used / 1e6 if used else None, "W": watts}
            rows.append(tables.tell(row))
        del query
    return rows


def by_block(drawn, names, engine_names) -> list:
    """A row for each layout and engine: Gbases/s by the threads of a block."""
    rows = []
    for name in names:
        query = drawn.query(name)
        for engine, launch in _launches(query, engine_names).items():
            row = {"layout": name, "engine": engine, "block": launch.n_threads, "wrong": 0}
            for n_threads in BLOCKS:
                if launch.warp_bytes * n_threads <= SHARED_BYTES * WARP:
                    go = replace(launch, n_threads=n_threads)
                    measured = drawn.measured(lambda some, to, q=query, go=go: go(q, some, to))
                    row |= {str(n_threads): measured["Gbases/s"], "wrong": row["wrong"] + measured["wrong"]}
            rows.append(tables.tell(row))
        del query
    return rows


def _accesses(query, counted, seconds, length, ceiling) -> dict:
    """LF mappings and accesses a second, and the share of what the GPU can fetch; ``seconds`` a pattern."""
    steps = (length - query.prefix.q) // query.layout.k if hasattr(query, "layout") else 0
    fetched = counted.per_pattern / seconds
    return {
        "G LF/s": 2 * steps / seconds / 1e9 if steps else None,
        "entry B": counted.entry,
        "at every B": 16 * min(counted.apart, -(-counted.entry // 16)),
        "G entries/s": fetched / 1e9,
        "% of ceiling": 100 * fetched / ceiling(counted.entry, counted.n_bytes, counted.apart),
    }


def _speed(drawn, query, launch, n, ceiling, counted) -> dict:
    """Bases and accesses a second of the search of the first n patterns."""
    some, intervals = texts.some(drawn.patterns, 0, n), drawn.no_intervals()
    seconds = gpu_timing.seconds(lambda: launch(query, some, intervals)) / n
    row = {"Gbases/s": drawn.length / seconds / 1e9}
    return row | _accesses(query, counted, seconds, drawn.length, ceiling)


def by_threads(drawn, names, engine_names, ceiling) -> list:
    """Throughput against the number of threads under way."""
    rows = []
    for name in names:
        query = drawn.query(name)
        counted = accesses.count(query, drawn.patterns)
        for engine, launch in _launches(query, engine_names).items():
            for exponent in range(9, 22):
                n = (1 << exponent) // launch.threads_per_pattern
                if n <= drawn.positions.size:
                    row = {"layout": name, "engine": engine, "threads": 1 << exponent}
                    rows.append(row | _speed(drawn, query, launch, n, ceiling, counted))
        del query
    return rows


def by_size(make_drawn, sizes, names, engine, ceiling) -> list:
    """Throughput against the length of the reference."""
    rows = []
    for n_bases in sizes:
        drawn = make_drawn(n_bases)
        for name in names:
            query = drawn.query(name)
            launch, counted = engines.prepare(engine, query), accesses.count(query, drawn.patterns)
            row = {"layout": name, "engine": engine, "reference Mb": n_bases / 1e6}
            rows.append(row | _speed(drawn, query, launch, drawn.positions.size, ceiling, counted))
        del drawn, query
    return rows


def on_cpu(drawn, n_threads) -> list:
    """Bases a second of the same searches by this machine's CPU, for some layouts."""
    n, rows = min(N_ON_CPU, drawn.positions.size), []
    some = texts.some(gpu_search.download(drawn.patterns), 0, n)
    prefix = PrefixTable(gpu.to_host(drawn.prefix.pairs), drawn.prefix.q)
    for name in ON_CPU:
        query = Exact(prefix, gpu_search.download(drawn.layout(name)))
        _, seconds = texts.search(query, some, n_threads)
        row = {"layout": name, "engine": "cpu", "threads": n_threads}
        rows.append(row | {"Gbases/s": n * drawn.length / seconds / 1e9})
    return rows


def run(given):
    """The experiments that are asked for; ``given`` {option of the command: value}."""
    name, asked = gpu_timing.open_gpu(given["device"]), given["experiment"]
    output, bases = given["output"], given["bases"]

    def make_drawn(n_bases):
        backend = Gpu(GpuSession(given["device"]))
        codes = make_codes(backend, Randomize, n_bases + 1)
        return Drawn(backend, codes, given["queries"], given["length"], given["prefix"])

    def keep(experiment, rows):
        figures.keep(output, experiment, name, rows)

    with gpu.errors():
        ceiling = roofline.Ceiling()
        if set(asked) - {"sizes"}:
            drawn = make_drawn(bases)
            if "designs" in asked:
                layouts, engine_names = given["names"] or ALL, given["engines"] or engines.CUDA
                keep("designs", designs(drawn, layouts, engine_names, ceiling, given["energy"]))
            if "blocks" in asked:
                layouts, engine_names = given["names"] or ALL, given["engines"] or engines.CUDA
                keep("blocks", by_block(drawn, layouts, engine_names))
            if "threads" in asked:
                layouts = given["names"] or ONE_STEP[:1]
                keep("threads", by_threads(drawn, layouts, engines.CUDA, ceiling))
            if "cpu" in asked:
                keep("cpu", on_cpu(drawn, available_cores()))
            del drawn
        if "sizes" in asked:
            sizes = [bases // 16, bases // 8, bases // 4, bases // 2, bases, 2 * bases]
            keep("sizes", by_size(make_drawn, sizes, BY_SIZE, "cuda_full", ceiling))
