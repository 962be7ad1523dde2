"""Langarita et al. 2020: COFI, the compressed sparse FM-index."""

from ....index.layouts import parse_name
from ..cpu_search import BVSFM_INTENSITY, search_intensity
from .chacon import HUMAN

BASE, K = "bvsfm-k2-d64", 15


def _gigabytes(layout):
    return lambda found: parse_name(layout, HUMAN).bytes_per_symbol(HUMAN) * HUMAN / 1e9


def _columns(found) -> list:
    return [row for row in found.rows("genome-columns") if "columns" in row]


def _least(row) -> int:
    """Elements of the shortest column of a row."""
    return int(row["elements"].split("-")[0])


def _share(found, from_, to=10**12) -> float:
    """% of the steps of error-free reads: as many go to a column as it has elements."""
    rows = _columns(found)
    some = [row["share of all elements"] for row in rows if from_ <= _least(row) < to]
    return 100 * sum(some)


def _small(found) -> float:
    """% of the columns that have 0 to 16 elements."""
    rows = _columns(found)
    return (
        100 * sum(row["columns"] for row in rows if _least(row) <= 16) / sum(row["columns"] for row in rows)
    )


def _intensity(found) -> float:
    return sum(row["share of all elements"] * row["LF per byte"] for row in _columns(found))


def _switch(name):
    return lambda found: found.most("search-switches", "on / off", switch=name)


def _slots(found) -> dict:
    return {row["patterns"]: row["cofi"] for row in found.rows("search-interleaving")}


def _speed(found, layout, table="search-layouts") -> float:
    return found.most(table, "Gbases/s", layout=layout)


def _cofi(found, table="search-layouts") -> float:
    """Gbases/s of COFI at its default k."""
    return max(row["Gbases/s"] for row in found.rows(table) if row["layout"].startswith("cofi"))


def _on_gpu(found, layout, column="Gbases/s") -> float:
    return found.most("designs", column, layout=layout)


def _threads(found) -> int:
    """Threads of the search by all cores, as its machine is told."""
    return int(found.tables["cores"].device.split(" threads;")[0].split()[-1])


VALUES = {
    "figure 5": {
        "bvSFM, k = 2, d = 64, human": _gigabytes(BASE),
        "bvSFM, k = 3, d = 64, human": _gigabytes("bvsfm-k3-d64"),
        "counters that say something, k = 5, d = 64": lambda found: 100 * 64 / 4**5,
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
        "largest columns that COFI reads with fewer bytes than bvSFM": lambda found: max(
            n for n in (2**i for i in range(20)) if search_intensity(K, n) > BVSFM_INTENSITY
        ),
    },
    "figure 11": {
        "error-free reads: steps to columns above 1,024": lambda found: _share(found, 1025),
        "error-free reads: steps to empty columns": lambda found: _share(found, 0, 1),
    },
    "figure 12": {"search intensity over bvSFM's": lambda found: _intensity(found) / BVSFM_INTENSITY},
    "figure 13": {
        "best number of sequences under way, COFI": lambda found: max(
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
        "COFI over bvSFM (k = 2, d = 64), CPU": lambda found: _cofi(found) / _speed(found, BASE),
        "COFI over bvSFM (k = 2, d = 96), GPU": lambda found: (
            _on_gpu(found, "cofi-k15") / _on_gpu(found, "bvsfm-k2-d96")
        ),
        "seed and verify over bvSFM, CPU": lambda found: _speed(found, "verify") / _speed(found, BASE),
    },
    "figure 18": {
        "COFI, of the memory's ceiling, GPU": lambda found: _on_gpu(found, "cofi-k15", "% of ceiling")
    },
    "table 4": {
        "bvSFM, a thread": lambda found: 2 * _speed(found, BASE, "cores") / _threads(found),
        "COFI, a thread": lambda found: 2 * _cofi(found, "cores") / _threads(found),
        "bvSFM, whole machine": lambda found: 2 * _speed(found, BASE, "cores"),
        "COFI, whole machine": lambda found: 2 * _cofi(found, "cores"),
    },
}
