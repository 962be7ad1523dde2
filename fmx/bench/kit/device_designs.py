"""The papers' GPU experiments (fmx bench gpu) on this device, over a random text made there."""

import click

from ...errors import UnsupportedError
from ...index.contracts import lanes
from ...index.prefix_table import make_prefix_table
from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.gpu_session import GpuSession
from ...machines.threads import available_cores
from ...measure import gpu_timing as runs
from ...measure import roofline
from ...measure.texts import Randomize
from ...search import engines, gpu_search
from . import device_accesses as accesses
from . import device_index as indexes
from . import device_text

ONE_STEP = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", "sampled-k1-d960")
TWO_STEP = ("kstep-k2-d64", "kstep-k2-d192", "kstep-k2-d448")
ALTERNATE = ("alternate-k2-d64", "alternate-k2-d192", "alternate-k2-d448")
BVSFM = ("bvsfm-k1-d224", "bvsfm-k2-d96", "bvsfm-k2-d224", "bvsfm-k3-d224")
ALL = (*ONE_STEP, *TWO_STEP, *ALTERNATE, *BVSFM, "cofi-k15", "verify")
BY_SIZE = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", *TWO_STEP[:2], *ALTERNATE)


class Bench:
    """One random text on the device, patterns drawn from it, and queries over it."""

    def __init__(self, n_bases, n_patterns, length, q):
        self.machine, self.length, self.n_patterns = Gpu(GpuSession()), length, n_patterns
        self.text = device_text.make_text(self.machine, Randomize, n_bases + 1)
        self.row_of = device_text.rows_of(self.machine, self.text)
        drawn = device_text.make_patterns(self.machine, self.text, n_patterns, length)
        self.patterns, self.positions = drawn
        self.prefix = make_prefix_table(self.machine, self.text.codes, self.text.sa, q)
        self.intervals = gpu_search.Intervals(*(gpu.zeros(n_patterns, "uint32") for _ in range(2)))

    def query(self, name):
        """The query of a layout's name, or 'verify'."""
        s = min(15, max(4, self.text.n.bit_length() // 2))
        if name == "verify":
            return indexes.verify(self.machine, self.text, s)
        return indexes.exact(self.prefix, indexes.make_layout(self.machine, self.text, name))

    def search(self, launch, query, n=None):
        """A function that starts the search of the first n patterns."""
        patterns = indexes.first_patterns(self.patterns, n) if n else self.patterns
        return lambda: launch(query, patterns, self.intervals)

    def check(self, launch, query) -> int:
        """Search with empty arrays for the answers; the number of wrong ones."""
        for array in self.intervals:
            gpu.fill_zero(array)
        self.search(launch, query)()
        found = (self.patterns, self.positions, self.intervals)
        return device_text.count_wrong(self.machine, self.text, self.row_of, *found)


def designs(bench, names, engine_names, ceiling, with_energy, say) -> list:
    """A row for each layout and engine that go together."""
    rows = []
    for name in names:
        query = bench.query(name)
        counted = accesses.count(query, bench.patterns)
        one_kernel = not hasattr(query, "layout") or lanes(query.layout) == 0
        for engine in engine_names:
            try:
                launch = engines.prepare(engine, query)
            except UnsupportedError:
                continue
            if one_kernel and engine != "cuda_task-naive16":
                continue
            wrong = bench.check(launch, query)
            spent = runs.seconds(bench.search(launch, query))
            bases = bench.n_patterns * bench.length / spent
            row = {"layout": name, "engine": engine, "wrong": wrong, "Gbases/s": bases / 1e9}
            row |= _accesses(bench, query, counted, bench.n_patterns, spent, ceiling)
            if with_energy:
                used, watts = runs.joules(bench.search(launch, query))
                row |= {
                    "Mbases/J": bench.n_patterns * bench.length / used / 1e6 if used else None, "W": watts,
                }  # fmt: skip
            rows.append(row)
            say(runs.markdown([row]).splitlines()[-1])
        del query
    return rows


def _accesses(bench, query, counted, n_patterns, spent, ceiling) -> dict:
    """LF mappings and accesses a second, and the latter as a share of what the device can fetch."""
    steps = (bench.length - query.prefix.q) // query.layout.k if hasattr(query, "layout") else 0
    fetched = n_patterns * counted.per_pattern / spent
    return {
        "G LF/s": 2 * steps * n_patterns / spent / 1e9 if steps else None,
        "entry B": counted.entry,
        "at every B": 16 * min(counted.apart, -(-counted.entry // 16)),
        "G entries/s": fetched / 1e9,
        "% of ceiling": 100 * fetched / ceiling(counted.entry, counted.n_bytes, counted.apart),
    }


def by_threads(bench, names, engine_names, ceiling) -> list:
    """Throughput against the number of threads under way."""
    rows = []
    for name in names:
        query = bench.query(name)
        counted = accesses.count(query, bench.patterns)
        for engine in engine_names:
            try:
                launch = engines.prepare(engine, query)
            except UnsupportedError:
                continue
            for exponent in range(9, 22):
                n = (1 << exponent) // launch.threads_per_pattern
                if n > bench.n_patterns:
                    break
                spent = runs.seconds(bench.search(launch, query, n))
                row = {"layout": name, "engine": engine, "threads": 1 << exponent}
                row["Gbases/s"] = n * bench.length / spent / 1e9
                rows.append(row | _accesses(bench, query, counted, n, spent, ceiling))
    return rows


def by_size(make_bench, sizes, names, engine, ceiling) -> list:
    """Throughput against the length of the reference."""
    rows = []
    for n_bases in sizes:
        bench = make_bench(n_bases)
        for name in names:
            query = bench.query(name)
            spent = runs.seconds(bench.search(engines.prepare(engine, query), query))
            row = {"layout": name, "engine": engine, "reference Mb": n_bases / 1e6}
            row["Gbases/s"] = bench.n_patterns * bench.length / spent / 1e9
            counted = accesses.count(query, bench.patterns)
            rows.append(row | _accesses(bench, query, counted, bench.n_patterns, spent, ceiling))
        del bench, query
    return rows


def run(output, bases, queries, length, prefix, experiment, names, engine_names, energy):
    """The whole of it; the arguments are the command's."""
    name = runs.require_device()

    def say(line):
        click.echo(line, err=True)

    def make_bench(n_bases):
        return Bench(n_bases, queries, length, prefix)

    def keep(experiment, rows):
        runs.save(output, experiment, name, rows)
        draw(f"{output}/", experiment, rows, name)

    with gpu.errors():
        ceiling = None if experiment == ("cpu",) else roofline.Ceiling()
        bench = make_bench(bases)
        if "designs" in experiment:
            rows = designs(bench, names or ALL, engine_names or engines.CUDA, ceiling, energy, say)
            keep("designs", rows)
        if "threads" in experiment:
            rows = by_threads(bench, ONE_STEP[:1], engines.CUDA, ceiling)
            keep("threads", rows)
        if "cpu" in experiment:
            from . import host_runs

            runs.save(output, "cpu", name, host_runs.table(bench, available_cores()))
        del bench
        if "sizes" in experiment:
            sizes = [bases // 16, bases // 4, bases // 2, bases, 2 * bases]
            rows = by_size(make_bench, sizes, BY_SIZE, "cuda_full", ceiling)
            keep("sizes", rows)


def draw(prefix, name, rows, device_name) -> None:
    """The figures of an experiment's rows, in files whose names begin with ``prefix``."""
    if name == "designs":
        for family, members in (("sampled", ONE_STEP), ("kstep", TWO_STEP), ("alternate", ALTERNATE)):
            some = [{**row, "d": _d(row)} for row in rows if row["layout"] in members]
            if some:
                title = f"{family}: throughput against d, {device_name}"
                _draw(f"{prefix}{family}.png", some, "engine", "d", "d (symbols)", title)
    elif name == "threads":
        title = f"Throughput against threads under way, d = 64, {device_name}"
        _draw(f"{prefix}threads.png", rows, "engine", "threads", "threads", title)
    else:
        title = f"Throughput against the reference's length, cuda_full, {device_name}"
        _draw(f"{prefix}sizes.png", rows, "layout", "reference Mb", "reference (Mb)", title)


def _d(row) -> int:
    return int(row["layout"].split("-d")[1])


def _draw(path, rows, label, x, x_label, title):
    lines: dict = {}
    for row in rows:
        xs, ys = lines.setdefault(row[label], ([], []))
        xs.append(row[x])
        ys.append(row["Gbases/s"])
    runs.plot(path, lines, x_label, "Gbases / s", title)
