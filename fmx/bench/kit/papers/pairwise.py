"""Truong et al. 2014: pairwise alignments on GPUs and clusters of them."""


def _speed(part, name, column="pairs_per_s", **wanted):
    return lambda found: found.most("pairwise", column, part=part, name=name, **wanted)


def _ratio(above, below):
    return lambda found: above(found) / below(found)


def _table_5(name):
    return _speed("table 5", name)


def _lazy(block, k):
    return _speed("slices", "lazy", block=block, k=k)


def _best_k(found) -> int:
    return found.row_of_most("pairwise", "pairs_per_s", part="slices", name="lazy")["k"]


def _flat(found) -> float:
    """The slowest over the fastest batch of DScan from 128 pairs on."""
    rows = [row for row in found.rows("pairwise", part="batches", name="dscan") if row["pairs"] >= 128]
    speeds = [row["pairs_per_s"] for row in rows]
    return min(speeds) / max(speeds)


def _gpus(found, n) -> float:
    return found.most("gpus-pairwise", "M pairs/s", GPUs=n)


def _cluster(name):
    return lambda found: found.most("nodes", "pairs/s", cluster=name)


PINNED, TWO = _speed("copies", "pinned"), _speed("copies", "double-buffered")
TILED_1 = _speed("batches", "tiled", pairs=1)

VALUES = {
    "figure 6b": {"time saved by two buffers": lambda found: 100 * (1 - PINNED(found) / TWO(found))},
    "figure 8": {
        "TiledDScan, 64 pairs at a time over one": _ratio(_speed("batches", "tiled", pairs=64), TILED_1),
        "DScan with 64 pairs over TiledDScan with one": _ratio(_speed("batches", "dscan", pairs=64), TILED_1),
    },
    "figure 9": {
        "RScan, 512 bases, over TiledDScan with one pair": _ratio(
            _speed("kernels", "rscan", "gcells_per_s", length=512),
            _speed("batches", "tiled", "gcells_per_s", pairs=1),
        )
    },
    "figure 10a": {
        "pinned over pageable memory": _ratio(PINNED, _speed("copies", "pageable")),
        "two buffers over one": _ratio(TWO, PINNED),
        "DScan with its matrices copied": TWO,
    },
    "figure 10b": {"DScan, slowest over fastest of 128 to 2,048 pairs": _flat},
    "table 4": {
        **{
            f"{block} threads, k = {k}": _lazy(block, k)
            for block, k in ((128, 18), (256, 18), (512, 18), (256, 8), (64, 37), (256, 37), (32, 75))
        },
        "best k": _best_k,
    },
    "figure 11": {
        "LazyRScan, best": _speed("slices", "lazy"),
        "the packed kernel, best": _speed("slices", "packed"),
    },
    "table 5": {
        "CPU": _table_5("CPU, every pair traced"),
        "DScan as the filter": _table_5("DScan"),
        "LazyRScan as the filter": _table_5("LazyRScan"),
        "the packed kernel as the filter": _table_5("LazyRScan packed"),
        "LazyRScan over the CPU": _ratio(_table_5("LazyRScan"), _table_5("CPU, every pair traced")),
    },
    "figure 14": {"four GPUs over one": lambda found: _gpus(found, 4) / _gpus(found, 1)},
    "figure 15": {"four unlike nodes": _cluster("four unlike nodes")},
    "figure 16": {"six alike nodes": _cluster("six alike nodes")},
}
