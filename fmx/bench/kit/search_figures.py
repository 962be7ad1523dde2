"""The questions of fmx bench search, each a table (Markdown) and a figure."""

import math
from itertools import pairwise

import numpy as np

from ...index.layouts import cofi, parse_name
from ...measure.timing import pyplot
from .unprefetched import Unprefetched

plt = pyplot()

COMPARED = (
    "sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", "sampled-k1-d960", "kstep-k2-d64",
    "kstep-k3-d63", "alternate-k1-d64", "alternate-k2-d64", "alternate-k2-d192", "bvsfm-k1-d64",
    "bvsfm-k2-d64", "bvsfm-k2-d96", "bvsfm-k2-d224", "bvsfm-k3-d96", "cofi",
)  # fmt: skip
OVER_SIZES = ("sampled-k1-d64", "alternate-k2-d64", "bvsfm-k2-d64", "cofi")
SLOTS = (1, 2, 4, 8, 16, 32, 64)
BLOCK, ALPHA_BVSFM = 64, 1.088  # bytes of a cache block; cache misses of a bvSFM step (section 6)


def layouts(experiment, folder) -> str:
    """Every layout and seed and verify on one reference."""
    rows, names = [], []
    for name in COMPARED:
        parsed = parse_name(name, experiment.text.size)
        speed = experiment.time(experiment.backward(experiment.layout(name)))
        rows.append((speed, f"{parsed.bytes_per_symbol(experiment.text.size):.2f}"))
        names.append(str(parsed))
    rows.append((experiment.time(experiment.verify), "4.25 and the seed table"))
    names.append("seed and verify")
    figure, axes = plt.subplots(figsize=(8, 5))
    axes.barh(names[::-1], [speed.gigabases for speed, _ in rows[::-1]])
    axes.set_xlabel("Gbases/s")
    axes.set_title(f"Search by layout, {experiment.n / 1e6:.0f} Mb reference")
    _save(figure, folder / "search-layouts")
    base = dict(zip(names, rows, strict=True))["bvsfm-k2-d64"][0].gigabases
    lines = [
        f"### Layouts, reference of {experiment.n / 1e6:.0f} Mb\n",
        "| layout | bytes a base | Gbases/s | GLFOP/s | Mreads/s | times bvsfm-k2-d64 |",
        "|---|---|---|---|---|---|",
    ]
    for name, (speed, size) in zip(names, rows, strict=True):
        lines.append(
            f"| {name} | {size} | {speed.gigabases:.3f} | {speed.lf_operations:.3f} | "
            f"{speed.n_reads / speed.seconds / 1e6:.2f} | {speed.gigabases / base:.2f} |"
        )
    both = experiment.time(experiment.verify, parts=experiment.both_strands)
    lines.append(f"\nBoth strands, seed and verify: {both.n_reads / both.seconds / 1e6:.2f} Mreads/s")
    return "\n".join(lines)


def sizes(megabases, experiment_of, folder) -> str:
    """Throughput against reference size."""
    table = {}
    for size in sorted(megabases, key=lambda size: (size == megabases[-1], size)):  # the last one is kept
        experiment = experiment_of(size)
        table[size] = [
            experiment.time(experiment.backward(experiment.layout(n))).gigabases for n in OVER_SIZES
        ]
        table[size].append(experiment.time(experiment.verify).gigabases)
    table = dict(sorted(table.items()))
    names = [*OVER_SIZES, "seed and verify"]
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for i, name in enumerate(names):
        axes.plot(list(table), [row[i] for row in table.values()], marker="o", label=name)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="reference, Mb",
        ylabel="Gbases/s",
        title="Search by reference size",
    )
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    _save(figure, folder / "search-sizes")
    lines = [
        "### Reference size, Gbases/s\n",
        f"| Mb | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    lines += [f"| {size} | {' | '.join(f'{x:.3f}' for x in row)} |" for size, row in table.items()]
    return "\n".join(lines)


def switches(experiment, folder) -> str:
    """Interleaving, prefetching, conditional moves, the bounded second search: each off and on."""
    bvsfm, columns = experiment.layout("bvsfm-k2-d64"), experiment.layout("cofi")
    queries = {"bvsfm-k2-d64": experiment.backward(bvsfm), "cofi": experiment.backward(columns)}
    queries["seed and verify"] = experiment.verify
    slots = {name: [experiment.time(query, n).gigabases for n in SLOTS] for name, query in queries.items()}
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for name, row in slots.items():
        axes.plot(SLOTS, row, marker="o", label=name)
    axes.set(xscale="log", xlabel="patterns interleaved", ylabel="Gbases/s", title="Sequence interleaving")
    axes.set_xticks(SLOTS, [str(n) for n in SLOTS])
    axes.legend()
    _save(figure, folder / "search-interleaving")
    lines = [
        "### Interleaving, Gbases/s\n",
        f"| patterns | {' | '.join(map(str, SLOTS))} |",
        "|---" * 8 + "|",
    ]
    lines += [f"| {name} | {' | '.join(f'{x:.3f}' for x in row)} |" for name, row in slots.items()]
    off = {
        "bvsfm-k2-d64: prefetch": (Unprefetched(bvsfm, bvsfm.k), bvsfm),
        "cofi: prefetch": (Unprefetched(columns, columns.k), columns),
        "cofi: conditional moves": (cofi.CofiBranching(*columns), columns),
        "cofi: second search bounded": (cofi.CofiWhole(*columns), columns),
    }
    lines += ["\n### Switches, Gbases/s\n", "| switch | off | on | on / off |\n|---|---|---|---|"]
    for name, (without, with_it) in off.items():
        slow = experiment.time(experiment.backward(without)).gigabases
        fast = experiment.time(experiment.backward(with_it)).gigabases
        lines.append(f"| {name} | {slow:.3f} | {fast:.3f} | {fast / slow:.2f} |")
    return "\n".join(lines)


def steps(experiment, folder) -> str:
    """COFI for every k that fits the reference, against bvSFM with k = 2, d = 64."""
    base = experiment.time(experiment.backward(experiment.layout("bvsfm-k2-d64"))).gigabases
    ks = [k for k in range(2, 16) if 4**k <= 16 * experiment.text.size]
    speeds = [experiment.time(experiment.backward(experiment.layout(f"cofi-k{k}"))).gigabases for k in ks]
    figure, axes = plt.subplots(figsize=(7, 4.5))
    axes.plot(ks, [speed / base for speed in speeds], marker="o")
    axes.axhline(1.39, linestyle="--", color="grey")
    axes.text(ks[0], 1.42, "paper, Skylake: 1.39", color="grey")
    axes.set_xticks(ks)
    axes.set(xlabel="k", ylabel="times bvsfm-k2-d64", title=f"COFI, {experiment.n / 1e6:.0f} Mb reference")
    _save(figure, folder / "search-cofi")
    lines = [
        f"### COFI against bvsfm-k2-d64 ({base:.3f} Gbases/s)\n",
        "| k | Gbases/s | times |\n|---|---|---|",
    ]
    lines += [f"| {k} | {x:.3f} | {x / base:.2f} |" for k, x in zip(ks, speeds, strict=True)]
    return "\n".join(lines)


def search_intensity(k, n_elements) -> float:
    """LF operations per byte brought from memory by COFI (equations 6 and 7)."""
    if n_elements <= 1:
        misses = n_elements
    elif n_elements <= 16:
        misses = 2
    else:
        misses = math.ceil(math.log2(n_elements) - 2)
    return 2 * k / ((1.0625 + misses) * BLOCK)


def columns(experiment, folder) -> str:
    """Column sizes of COFI and the search intensity that follows from them."""
    layout = experiment.layout("cofi")
    sizes = np.diff(np.asarray(layout.offsets, np.int64))
    edges = [0, 1, 2, *(2**i + 1 for i in range(2, 25))]
    counts, _ = np.histogram(sizes, edges)
    weights, _ = np.histogram(sizes, edges, weights=sizes)
    labels = [str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in pairwise(edges)]
    used = [i for i, n in enumerate(counts) if n]
    k_bvsfm = 2 * 2 / (ALPHA_BVSFM * BLOCK)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    left.bar([labels[i] for i in used], [counts[i] for i in used])
    left.set(
        yscale="log", xlabel="elements of a column", ylabel="columns", title=f"Column sizes, k = {layout.k}"
    )
    left.tick_params(axis="x", rotation=60)
    right.bar([labels[i] for i in used], [search_intensity(layout.k, edges[i]) for i in used])
    right.axhline(k_bvsfm, linestyle="--", color="grey", label="bvsfm-k2-d64")
    right.set(xlabel="elements of a column", ylabel="LF per byte", title="Search intensity")
    right.tick_params(axis="x", rotation=60)
    right.legend()
    _save(figure, folder / "search-columns")
    lines = [
        f"### Columns of COFI, k = {layout.k} (search intensity of bvsfm-k2-d64: {k_bvsfm:.3f})\n",
        "| elements | columns | share of all elements | LF per byte |\n|---|---|---|---|",
    ]
    for i in used:
        share = weights[i] / max(sizes.sum(), 1)
        lines.append(
            f"| {labels[i]} | {counts[i]:,} | {share:.3f} | {search_intensity(layout.k, edges[i]):.3f} |"
        )
    return "\n".join(lines)


def _save(figure, path) -> None:
    figure.tight_layout()
    figure.savefig(path.with_suffix(".svg"))
    figure.savefig(path.with_suffix(".png"), dpi=110)
    plt.close(figure)
