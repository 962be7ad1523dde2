"""Draws figures from the tables of fmx bench gpu: python docs/figures/gpu_plots.py"""

import json
from pathlib import Path

from fmx.bench.kit import designs

HERE = Path(__file__).parent


def table(name):
    found = json.loads((HERE / f"gpu-{name}.json").read_text())
    return found["rows"], found["device"]


for name in ("designs", "sizes", "threads"):
    designs.draw(f"{HERE}/gpu-", name, *table(name))
