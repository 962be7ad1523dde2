"""Draws align-*.svg from align-h200.json: python docs/figures/align_plots.py"""

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "fmx"
from matplotlib import pyplot as plt  # noqa: E402

HERE = Path(__file__).parent
ROWS = json.loads((HERE / "align-h200.json").read_text())["rows"]
NAMES = {"tiled": "TiledDScan", "dscan": "DScan", "rscan": "RScan", "lazy": "LazyRScan", "packed": "packed"}


def rows(part, **wanted):
    return [r for r in ROWS if r["part"] == part and all(r.get(k) == v for k, v in wanted.items())]


def finish(figure, axes, name, x, y, title):
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(HERE / f"align-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def lengths():
    figure, axes = plt.subplots(figsize=(6, 4))
    for kernel, name in NAMES.items():
        best: dict = {}
        for r in rows("kernels", name=kernel):
            best[r["length"]] = max(best.get(r["length"], 0), r["gcells_per_s"])
        axes.loglog(*zip(*sorted(best.items()), strict=True), "o-", label=name)
    axes.set_xticks([256, 512, 1024, 2048], ["256", "512", "1024", "2048"])
    finish(figure, axes, "lengths", "bases a sequence", "Gcells/s", "Kernels by length, one H200")


def batches():
    figure, axes = plt.subplots(figsize=(6, 4))
    for kernel in ("tiled", "dscan", "rscan"):
        found = [(r["pairs"], r["pairs_per_s"]) for r in rows("batches", name=kernel)]
        axes.loglog(*zip(*found, strict=True), "o-", label=NAMES[kernel])
    finish(figure, axes, "batches", "pairs in a batch", "pairs/s", "Matrix kernels by batch, 1,536 bases")


def slices():
    figure, axes = plt.subplots(figsize=(6, 4))
    for block in (32, 128, 256, 512):
        found = [(r["k"], r["pairs_per_s"]) for r in rows("slices", name="lazy", block=block)]
        axes.plot(*zip(*found, strict=True), "o-", label=f"LazyRScan, {block} threads a block")
    finish(figure, axes, "slices", "columns in a slice (k)", "pairs/s", "LazyRScan by slice, 1,536 bases")


lengths()
batches()
slices()
