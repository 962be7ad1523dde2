"""Measured values for the papers on the FM-index: Chacón et al. 2014 and 2015, Langarita et al. 2020."""

from cpu_search import BVSFM_INTENSITY, search_intensity
from facts import MeasuredTables, MissingError, Value, value

TASK, MEMORY, FULL = "cuda_task-improved", "cuda_memory", "cuda_full"
_DS = (64, 192, 448, 960)


@value
def _speed(found: MeasuredTables, layout: str, *engines: str) -> float:
    """Gbases/s of the fastest engine of a GPU whose name starts with one of ``engines``."""
    rows = [
        row for row in found.rows("designs", layout=layout) if row["engine"].startswith(engines or "cuda")
    ]
    return max(row["Gbases/s"] for row in rows)


@value
def _best_engine(found: MeasuredTables, layout: str) -> str:
    name = found.row_of_most("designs", "Gbases/s", layout=layout)["engine"]
    return name.removeprefix("cuda_").split("-")[0].replace("task", "task-parallel")


@value
def _most(found: MeasuredTables, table: str, column: str, **wanted: object) -> float:
    """The largest value of a column in the rows of a table with the values ``wanted``."""
    return found.most(table, column, **wanted)


@value
def _on_cpu(found: MeasuredTables, layout: str, table: str = "search-layouts") -> float:
    """Gbases/s of layouts whose name starts with ``layout``, in a table of CPU searches."""
    speeds = [row["Gbases/s"] for row in found.rows(table) if row["layout"].startswith(layout)]
    if not speeds:
        raise MissingError(table, layout)
    return max(speeds)


def _over_cpu(found: MeasuredTables) -> list:
    names = [f"sampled-k1-d{d}" for d in _DS]
    return [(_speed(name) / _most("cores", "Gbases/s", layout=name)).of(found) for name in names]


def _lf(found: MeasuredTables) -> list:
    return [found.most("designs", "G LF/s", layout=f"sampled-k1-d{d}") for d in _DS]


@value
def _at_most_threads(found: MeasuredTables, layout: str, engine: str) -> float:
    rows = found.rows("threads", layout=layout, engine=engine)
    return max(rows, key=lambda row: row["threads"])["Gbases/s"]


@value
def _enough_threads(found: MeasuredTables) -> int:
    rows = found.rows("threads", layout="sampled-k1-d64", engine="cuda_full")
    most = max(row["Gbases/s"] for row in rows)
    return min(row["threads"] for row in rows if row["Gbases/s"] >= 0.9 * most)


@value
def _of_its_best(found: MeasuredTables, engine: str, n_threads: int | None = None) -> float:
    rows = found.rows("threads", layout="sampled-k1-d64", engine=engine)
    n_threads = n_threads or max(row["threads"] for row in rows)
    at = next(row["Gbases/s"] for row in rows if row["threads"] == n_threads)
    return at / max(row["Gbases/s"] for row in rows)


@value
def _at_size(found: MeasuredTables, d: int, megabases: float, family: str = "sampled-k1") -> float:
    """Gbases/s of the reference whose size is nearest to ``megabases``."""
    rows = found.rows("sizes", layout=f"{family}-d{d}")
    return min(rows, key=lambda row: abs(row["reference Mb"] - megabases))["Gbases/s"]


SMALLEST, LARGEST = 0.0, float(10**9)  # sizes of references in Mb


@value
def _best_of_largest(found: MeasuredTables) -> str:
    largest = max(row["reference Mb"] for row in found.rows("sizes"))
    return found.row_of_most("sizes", "Gbases/s", **{"reference Mb": largest})["layout"]


@value
def _bandwidth(found: MeasuredTables, d: int) -> float:
    """GB/s of the fastest engine."""
    row = found.row_of_most("designs", "Gbases/s", layout=f"sampled-k1-d{d}")
    return row["G entries/s"] * row["entry B"]


@value
def _random(found: MeasuredTables, entry: int, number: int = -1) -> float:
    """G entries/s of the roofline, fetched by groups; ``number``: of the memory, the smallest is 0."""
    rows = found.rows("roofline", **{"entry B": entry, "threads": entry // 16})
    return sorted(rows, key=lambda row: row["footprint GB"])[number]["G entries/s"]


@value
def _instructions(found: MeasuredTables, layout: str, engine: str, k: int = 1) -> float:
    return found.most("counters", "instructions", layout=layout, engine=engine) / k


@value
def _energy(found: MeasuredTables, *families: str) -> float:
    return max(row["Mbases/J"] for row in found.rows("energy") if row["layout"].startswith(families))


COOPERATIVE = {
    "figure 1": {
        "speed at 2 to 3 Gb over that at 60 to 100 Mb (d = 64)": (
            _at_size(64, LARGEST) / _at_size(64, SMALLEST)
        ),
        "LF operations per second, queries of 100 bases over 32": (
            _most("designs", "G LF/s", layout="sampled-k1-d64", engine=TASK) / _most("short", "G LF/s")
        ),
    },
    "figure 3": {
        "GPU, slowest d": Value(lambda found: min(_lf(found))),
        "GPU, fastest d": Value(lambda found: max(_lf(found))),
        "GPU over CPU, smallest": Value(lambda found: min(_over_cpu(found))),
        "GPU over CPU, largest": Value(lambda found: max(_over_cpu(found))),
    },
    "figure 4": {
        **{
            f"improved over {words}": _at_most_threads("sampled-k1-d64", TASK)
            / _at_most_threads("sampled-k1-d64", engine)
            for words, engine in (
                ("naive", "cuda_task-naive"), ("naive with 16-byte loads", "cuda_task-naive16"),
            )
        },
        "threads for nine tenths of the best full-cooperative speed": _enough_threads(),
    },
    "figure 5": {"best engine, d = 64": _best_engine("sampled-k1-d64")},
    "figure 7": {
        f"{words} over full-cooperative, most threads": _at_most_threads("sampled-k1-d448", engine)
        / _at_most_threads("sampled-k1-d448", FULL)
        for words, engine in (("improved", TASK), ("memory-cooperative", MEMORY))
    },
    "figure 8": {
        "bandwidth, d = 192 over d = 64": _bandwidth(192) / _bandwidth(64),
        "bandwidth, d = 448 over d = 192": _bandwidth(448) / _bandwidth(192),
        "bandwidth, d = 448": _bandwidth(448),
    },
}  # fmt: skip

_ALTERNATE = _speed("alternate-k2-d64")
K_STEP = {
    "figure 3": {
        "rate of 64-byte entries over 32-byte entries": _random(64) / _random(32),
        "rate of 128-byte entries over 32-byte entries": _random(128) / _random(32),
        "rate of 32-byte entries, largest memory over 0.25 GB": _random(32) / _random(32, 0),
    },
    "figure 5": {
        "best design of the paper, GPU": _ALTERNATE,
        "best GPU over best CPU": Value(
            lambda found: (
                _ALTERNATE.of(found)
                / max(
                    found.most("cores", "Gbases/s", layout=name)
                    for name in ("sampled-k1-d64", "kstep-k2-d64", "alternate-k2-d64")
                )
            )
        ),
        "two steps over one, GPU": _ALTERNATE / _speed("sampled-k1-d192"),
        "two steps over one, CPU": _on_cpu("kstep-k2-d64", "cores") / _on_cpu("sampled-k1-d64", "cores"),
        "seed and verify, GPU": _speed("verify"),
    },
    "figure 6": {
        "full-cooperative, 4,096 threads over its best": _of_its_best(FULL, 4096),
        "improved, most threads over its best": _of_its_best(TASK),
    },
    "figure 7": {f"best engine, d = {d}": _best_engine(f"sampled-k1-d{d}") for d in (64, 192, 448)},
    "figure 8": {
        "d = 192 over d = 64, 700 Mb": _at_size(192, 700) / _at_size(64, 700),
        "d = 448 over d = 64, 3 Gb": _at_size(448, LARGEST) / _at_size(64, LARGEST),
    },
    "figure 9": {
        "best layout for the largest reference": _best_of_largest(),
        "alternate counters over 2-step, d = 192, largest reference": (
            _at_size(192, LARGEST, "alternate-k2") / _at_size(192, LARGEST, "kstep-k2")
        ),
    },
    "table 2": {
        **{f"task-parallel, d = {d}": _instructions(f"sampled-k1-d{d}", "improved") for d in (64, 448)},
        **{f"full-cooperative, d = {d}": _instructions(f"sampled-k1-d{d}", "full") for d in (64, 448)},
        "2-step, alternate counters, d = 64": _instructions("alternate-k2-d64", "full", 2),
    },
    "figure 10": {"128-byte entries, largest over smallest footprint": _random(128) / _random(128, 0)},
    "figure 11": {
        "best 1-step design": _energy("sampled"),
        "best 2-step design": _energy("kstep", "alternate"),
    },
}


# Langarita et al. 2020: COFI, the compressed sparse FM-index.

BASE, K = "bvsfm-k2-d64", 15


def _columns(found: MeasuredTables) -> list:
    return [row for row in found.rows("genome-columns") if "columns" in row]


def _least(row: dict) -> int:
    """Smallest number of elements of the columns of a row."""
    return int(row["elements"].split("-")[0])


@value
def _share(found: MeasuredTables, from_: int, to: int = 10**12) -> float:
    """% of the steps of error-free reads, which meet each column in proportion to its elements."""
    rows = _columns(found)
    return 100 * sum(row["share of all elements"] for row in rows if from_ <= _least(row) < to)


@value
def _small(found: MeasuredTables) -> float:
    """% of the columns with 0 to 16 elements."""
    rows = _columns(found)
    n_small = sum(row["columns"] for row in rows if _least(row) <= 16)
    return 100 * n_small / sum(row["columns"] for row in rows)


@value
def _intensity(found: MeasuredTables) -> float:
    """Search intensity divided by that of bvSFM."""
    rows = _columns(found)
    return sum(row["share of all elements"] * row["LF per byte"] for row in rows) / BVSFM_INTENSITY


@value
def _slots(found: MeasuredTables) -> dict:
    return {row["patterns"]: row["cofi"] for row in found.rows("search-interleaving")}


def _switch(name: str) -> Value:
    return _most("search-switches", "on / off", switch=name)


@value
def _lf_on_cores(found: MeasuredTables, layout: str, is_per_thread: bool) -> float:
    """G LF/s of a search by all cores; per thread by the description of its machine."""
    speed = 2 * _on_cpu(layout, "cores").of(found)
    n_threads = int(found.tables["cores"].device.split(" threads;")[0].split()[-1])
    return speed / n_threads if is_per_thread else speed


COFI = {
    "figure 8": {"columns of 0 to 16 elements": _small()},
    "figure 10": {
        "bvSFM": Value(lambda found: BVSFM_INTENSITY),
        "largest column that COFI reads in fewer bytes than bvSFM": Value(
            lambda found: max(
                n for n in (2**i for i in range(20)) if search_intensity(K, n) > BVSFM_INTENSITY
            )
        ),
    },
    "figure 11": {
        "error-free reads: steps to columns above 1,024": _share(1025),
        "error-free reads: steps to empty columns": _share(0, 1),
    },
    "figure 12": {"search intensity over bvSFM's": _intensity()},
    "figure 13": {
        "best number of interleaved sequences, COFI": Value(
            lambda found: max((speed, n) for n, speed in _slots().of(found).items())[1]
        ),
    },
    "figure 14": {"prefetching, COFI": _switch("cofi: prefetch")},
    "figure 15": {"conditional moves, COFI": _switch("cofi: conditional moves")},
    "figure 16": {
        "COFI over bvSFM (k = 2, d = 64), CPU": _on_cpu("cofi") / _on_cpu(BASE),
        "COFI over bvSFM (k = 2, d = 96), GPU": _speed("cofi-k15") / _speed("bvsfm-k2-d96"),
        "seed and verify over bvSFM, CPU": _on_cpu("verify") / _on_cpu(BASE),
    },
    "figure 18": {
        "COFI, share of the memory ceiling, GPU": _most("designs", "% of ceiling", layout="cofi-k15")
    },
    "table 4": {
        f"{words}, {place}": _lf_on_cores(layout, place == "per thread")
        for place in ("per thread", "whole machine")
        for words, layout in (("bvSFM", BASE), ("COFI", "cofi"))
    },
}
