"""Measured values for the papers on the FM-index: Chacón et al. 2014 and 2015, Langarita et al. 2020."""

from ...index.layouts import parse_name
from ..search import BVSFM_INTENSITY, search_intensity
from .facts import MeasuredTables, Value

HUMAN = 3 * 10**9  # bases
TASK, MEMORY = "cuda_task-improved", "cuda_memory"


def _speed(found: MeasuredTables, layout: str, *engines: str, table: str = "designs") -> float:
    """Gbases/s of the fastest engine whose name starts with one of ``engines``."""
    rows = [row for row in found.rows(table, layout=layout) if row["engine"].startswith(engines or "cuda")]
    return max(row["Gbases/s"] for row in rows)


def _full(found: MeasuredTables, layout: str, table: str = "designs") -> float:
    return _speed(found, layout, "cuda_full", table=table)


def _best_engine(layout: str) -> Value:
    def best(found: MeasuredTables) -> str:
        name = found.row_of_most("designs", "Gbases/s", layout=layout)["engine"]
        return name.removeprefix("cuda_").split("-")[0].replace("task", "task-parallel")

    return best


def _speed_of(found: MeasuredTables, layout: str, table: str = "search-layouts") -> float:
    """Gbases/s of a layout in a table of CPU searches."""
    return found.most(table, "Gbases/s", layout=layout)


def _over_cpu(found: MeasuredTables) -> list:
    return [
        _speed(found, f"sampled-k1-d{d}") / _speed_of(found, f"sampled-k1-d{d}", "cores")
        for d in (64, 192, 448, 960)
    ]


def _lf(found: MeasuredTables) -> list:
    return [found.most("designs", "G LF/s", layout=f"sampled-k1-d{d}") for d in (64, 192, 448, 960)]


def _at_most_threads(found: MeasuredTables, layout: str, engine: str) -> float:
    return max(found.rows("threads", layout=layout, engine=engine), key=lambda row: row["threads"])[
        "Gbases/s"
    ]


def _ratio_of_threads(layout: str, engine: str, base: str) -> Value:
    return lambda found: _at_most_threads(found, layout, engine) / _at_most_threads(found, layout, base)


def _enough_threads(found: MeasuredTables) -> int:
    rows = found.rows("threads", layout="sampled-k1-d64", engine="cuda_full")
    most = max(row["Gbases/s"] for row in rows)
    return min(row["threads"] for row in rows if row["Gbases/s"] >= 0.9 * most)


def _of_its_best(found: MeasuredTables, engine: str, n_threads: int | None = None) -> float:
    rows = found.rows("threads", layout="sampled-k1-d64", engine=engine)
    n_threads = n_threads or max(row["threads"] for row in rows)
    at = next(row["Gbases/s"] for row in rows if row["threads"] == n_threads)
    return at / max(row["Gbases/s"] for row in rows)


def _by_size(found: MeasuredTables, layout: str) -> list:
    """Gbases/s from the smallest reference to the largest."""
    rows = sorted(found.rows("sizes", layout=layout), key=lambda row: row["reference Mb"])
    return [row["Gbases/s"] for row in rows]


def _at_700(found: MeasuredTables) -> float:
    """Speed of d = 192 divided by that of d = 64, at the size nearest to 700 Mb."""

    def near(layout: str) -> dict:
        return min(found.rows("sizes", layout=layout), key=lambda row: abs(row["reference Mb"] - 700))

    return near("sampled-k1-d192")["Gbases/s"] / near("sampled-k1-d64")["Gbases/s"]


def _best_of_largest(found: MeasuredTables) -> str:
    largest = max(row["reference Mb"] for row in found.rows("sizes"))
    return found.row_of_most("sizes", "Gbases/s", **{"reference Mb": largest})["layout"]


def _bandwidth(found: MeasuredTables, d: int) -> float:
    """GB/s of the fastest engine."""
    row = found.row_of_most("designs", "Gbases/s", layout=f"sampled-k1-d{d}")
    return row["G entries/s"] * row["entry B"]


def _random(found: MeasuredTables, entry: int, column: str = "G entries/s") -> list:
    """A column of the roofline of entries fetched by groups, from the smallest memory to the largest."""
    rows = [
        row for row in found.rows("roofline") if row["entry B"] == entry and row["threads"] == entry // 16
    ]
    return [row[column] for row in sorted(rows, key=lambda row: row["footprint GB"])]


def _gigabytes(layout: str) -> Value:
    return lambda found: parse_name(layout, HUMAN).bytes_per_symbol(HUMAN) * HUMAN / 1e9


def _entry(layout: str) -> Value:
    return lambda found: 16 * parse_name(layout, HUMAN).units


def _instructions(layout: str, engine: str, k: int = 1) -> Value:
    return lambda found: found.most("counters", "instructions", layout=layout, engine=engine) / k


def _energy(*families: str) -> Value:
    return lambda found: max(
        row["Mbases/J"] for row in found.rows("energy") if row["layout"].startswith(families)
    )


COOPERATIVE = {
    "figure 1": {
        "speed at 2 to 3 Gb over that at 60 to 100 Mb (d = 64)": lambda found: (
            _by_size(found, "sampled-k1-d64")[-1] / _by_size(found, "sampled-k1-d64")[0]
        ),
        "LF operations per second, queries of 100 bases over 32": lambda found: (
            found.most("designs", "G LF/s", layout="sampled-k1-d64", engine=TASK)
            / found.most("short", "G LF/s")
        ),
        "entry size, d = 64": _entry("sampled-k1-d64"),
        "entry size, d = 448": _entry("sampled-k1-d448"),
    },
    "figure 3": {
        "GPU, slowest d": lambda found: min(_lf(found)),
        "GPU, fastest d": lambda found: max(_lf(found)),
        "GPU over CPU, smallest": lambda found: min(_over_cpu(found)),
        "GPU over CPU, largest": lambda found: max(_over_cpu(found)),
    },
    "figure 4": {
        "improved over naive": _ratio_of_threads("sampled-k1-d64", TASK, "cuda_task-naive"),
        "improved over naive with 16-byte loads": _ratio_of_threads(
            "sampled-k1-d64", TASK, "cuda_task-naive16"
        ),
        "threads for nine tenths of the best full-cooperative speed": _enough_threads,
    },
    "figure 5": {
        "best engine, d = 64": _best_engine("sampled-k1-d64"),
        "improved over full-cooperative, d = 448": lambda found: (
            _speed(found, "sampled-k1-d448", TASK) / _full(found, "sampled-k1-d448")
        ),
        "memory-cooperative over full-cooperative, d = 448": lambda found: (
            _speed(found, "sampled-k1-d448", MEMORY) / _full(found, "sampled-k1-d448")
        ),
    },
    "figure 7": {
        "improved over full-cooperative, most threads": _ratio_of_threads(
            "sampled-k1-d448", TASK, "cuda_full"
        ),
        "memory-cooperative over full-cooperative, most threads": _ratio_of_threads(
            "sampled-k1-d448", MEMORY, "cuda_full"
        ),
    },
    "figure 8": {
        "bandwidth, d = 192 over d = 64": lambda found: _bandwidth(found, 192) / _bandwidth(found, 64),
        "bandwidth, d = 448 over d = 192": lambda found: _bandwidth(found, 448) / _bandwidth(found, 192),
        "bandwidth, d = 448": lambda found: _bandwidth(found, 448),
    },
}

K_STEP = {
    "figure 2": {
        "2-step, d = 64, human": _gigabytes("kstep-k2-d64"),
        "2-step, d = 192, human": _gigabytes("kstep-k2-d192"),
        "alternate counters, d = 64, human": _gigabytes("alternate-k2-d64"),
        "alternate counters, d = 192, human": _gigabytes("alternate-k2-d192"),
    },
    "figure 3": {
        "rate of 64-byte entries over 32-byte entries": lambda found: (
            _random(found, 64)[-1] / _random(found, 32)[-1]
        ),
        "rate of 128-byte entries over 32-byte entries": lambda found: (
            _random(found, 128)[-1] / _random(found, 32)[-1]
        ),
        "rate of 32-byte entries, largest memory over 0.25 GB": lambda found: (
            _random(found, 32)[-1] / _random(found, 32)[0]
        ),
    },
    "figure 5": {
        "best design of the paper, GPU": lambda found: _speed(found, "alternate-k2-d64"),
        "best GPU over best CPU": lambda found: (
            _speed(found, "alternate-k2-d64")
            / max(
                _speed_of(found, name, "cores")
                for name in ("sampled-k1-d64", "kstep-k2-d64", "alternate-k2-d64")
            )
        ),
        "two steps over one, GPU": lambda found: (
            _speed(found, "alternate-k2-d64") / _speed(found, "sampled-k1-d192")
        ),
        "two steps over one, CPU": lambda found: (
            _speed_of(found, "kstep-k2-d64", "cores") / _speed_of(found, "sampled-k1-d64", "cores")
        ),
        "bvSFM, k = 3, GPU": lambda found: _speed(found, "bvsfm-k3-d224"),
        "seed and verify, GPU": lambda found: _speed(found, "verify"),
    },
    "figure 6": {
        "full-cooperative, 4,096 threads over its best": lambda found: _of_its_best(found, "cuda_full", 4096),
        "improved, most threads over its best": lambda found: _of_its_best(found, TASK),
    },
    "figure 7": {f"best engine, d = {d}": _best_engine(f"sampled-k1-d{d}") for d in (64, 192, 448)},
    "figure 8": {
        "d = 192 over d = 64, 700 Mb": _at_700,
        "d = 448 over d = 64, 3 Gb": lambda found: (
            _by_size(found, "sampled-k1-d448")[-1] / _by_size(found, "sampled-k1-d64")[-1]
        ),
    },
    "figure 9": {
        "best layout for the largest reference": _best_of_largest,
        "alternate counters over 2-step, d = 192, largest reference": lambda found: (
            _by_size(found, "alternate-k2-d192")[-1] / _by_size(found, "kstep-k2-d192")[-1]
        ),
    },
    "table 2": {
        **{f"task-parallel, d = {d}": _instructions(f"sampled-k1-d{d}", "improved") for d in (64, 192, 448)},
        **{f"full-cooperative, d = {d}": _instructions(f"sampled-k1-d{d}", "full") for d in (64, 192, 448)},
        **{
            f"2-step, alternate counters, d = {d}": _instructions(f"alternate-k2-d{d}", "full", 2)
            for d in (64, 192)
        },
    },
    "figure 10": {
        "128-byte entries, largest over smallest footprint": lambda found: (
            _random(found, 128)[-1] / _random(found, 128)[0]
        ),
        "128-byte entries, bandwidth at 2 GB": lambda found: _random(found, 128, "GB/s")[3],
    },
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


def _share(found: MeasuredTables, from_: int, to: int = 10**12) -> float:
    """% of the steps of error-free reads, which meet each column in proportion to its elements."""
    rows = _columns(found)
    some = [row["share of all elements"] for row in rows if from_ <= _least(row) < to]
    return 100 * sum(some)


def _small(found: MeasuredTables) -> float:
    """% of the columns with 0 to 16 elements."""
    rows = _columns(found)
    return (
        100 * sum(row["columns"] for row in rows if _least(row) <= 16) / sum(row["columns"] for row in rows)
    )


def _intensity(found: MeasuredTables) -> float:
    return sum(row["share of all elements"] * row["LF per byte"] for row in _columns(found))


def _switch(name: str) -> Value:
    return lambda found: found.most("search-switches", "on / off", switch=name)


def _slots(found: MeasuredTables) -> dict:
    return {row["patterns"]: row["cofi"] for row in found.rows("search-interleaving")}


def _cofi(found: MeasuredTables, table: str = "search-layouts") -> float:
    """Gbases/s of COFI at its default k."""
    return max(row["Gbases/s"] for row in found.rows(table) if row["layout"].startswith("cofi"))


def _threads(found: MeasuredTables) -> int:
    """Threads of the search by all cores, from the description of its machine."""
    return int(found.tables["cores"].device.split(" threads;")[0].split()[-1])


COFI = {
    "figure 5": {
        "bvSFM, k = 2, d = 64, human": _gigabytes(BASE),
        "bvSFM, k = 3, d = 64, human": _gigabytes("bvsfm-k3-d64"),
        "informative counters, k = 5, d = 64": lambda found: 100 * 64 / 4**5,
    },
    "figure 7": {
        "changes, human": lambda found: 4 * HUMAN / 1e9,
        "offsets, k = 15": lambda found: 4 * (4**K + 1) / 1e9,
        "COFI, k = 15, human": _gigabytes("cofi-k15"),
    },
    "figure 8": {"columns of 0 to 16 elements": _small},
    "figure 10": {
        "bvSFM": lambda found: BVSFM_INTENSITY,
        "COFI, k = 15, columns of 2 to 16": lambda found: search_intensity(K, 16),
        "largest column that COFI reads in fewer bytes than bvSFM": lambda found: max(
            n for n in (2**i for i in range(20)) if search_intensity(K, n) > BVSFM_INTENSITY
        ),
    },
    "figure 11": {
        "error-free reads: steps to columns above 1,024": lambda found: _share(found, 1025),
        "error-free reads: steps to empty columns": lambda found: _share(found, 0, 1),
    },
    "figure 12": {"search intensity over bvSFM's": lambda found: _intensity(found) / BVSFM_INTENSITY},
    "figure 13": {
        "best number of interleaved sequences, COFI": lambda found: max(
            (speed, n) for n, speed in _slots(found).items()
        )[1],
        "64 over 1, COFI": lambda found: _slots(found)[64] / _slots(found)[1],
    },
    "figure 14": {
        "prefetching, COFI": _switch("cofi: prefetch"),
        "prefetching, bvSFM": _switch("bvsfm-k2-d64: prefetch"),
    },
    "figure 15": {"conditional moves, COFI": _switch("cofi: conditional moves")},
    "figure 16": {
        "COFI over bvSFM (k = 2, d = 64), CPU": lambda found: _cofi(found) / _speed_of(found, BASE),
        "COFI over bvSFM (k = 2, d = 96), GPU": lambda found: (
            _speed_of(found, "cofi-k15", "designs") / _speed_of(found, "bvsfm-k2-d96", "designs")
        ),
        "seed and verify over bvSFM, CPU": lambda found: _speed_of(found, "verify") / _speed_of(found, BASE),
    },
    "figure 18": {
        "COFI, share of the memory ceiling, GPU": lambda found: found.most(
            "designs", "% of ceiling", layout="cofi-k15"
        )
    },
    "table 4": {
        "bvSFM, per thread": lambda found: 2 * _speed_of(found, BASE, "cores") / _threads(found),
        "COFI, per thread": lambda found: 2 * _cofi(found, "cores") / _threads(found),
        "bvSFM, whole machine": lambda found: 2 * _speed_of(found, BASE, "cores"),
        "COFI, whole machine": lambda found: 2 * _cofi(found, "cores"),
    },
}
