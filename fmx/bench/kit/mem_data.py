"""What fmx bench mem works on: the workloads of the paper's table 1, their reference and their queries."""

from typing import NamedTuple

import numpy as np

from ...errors import FmxError
from ...index.reference import read_fasta
from ...measure.random_text import make_text

CHANGED = 0.01  # share of a query's symbols that differ from the reference
_LETTERS = np.frombuffer(b"NACGT", np.uint8)  # by text code
_LINE = 10_000  # queries written at a time


class Workload(NamedTuple):
    """Queries of ``length`` bases and three least lengths of a match (table 1: configurations 1 to 3)."""

    length: int
    leasts: tuple


WORKLOADS = {
    "HS1": Workload(200, (25, 50, 100)),
    "HS2": Workload(700, (50, 100, 200)),
    "MONO": Workload(120, (20, 40, 80)),
    "SUIS": Workload(36, (15, 20, 30)),
}


def write_reference(path, n, seed=1) -> None:
    """A random reference of n bases, a part of it copies of other parts, as FASTA."""
    with open(path, "wb") as file:
        file.write(b">random\n" + _LETTERS[make_text(n, seed)[:-1]].tobytes() + b"\n")


def write_queries(fasta, n_bases, length, path, seed=2) -> int:
    """Queries of a reference, n_bases in all, as FASTA: half of them reversed, some symbols changed."""
    reference, text = read_fasta(fasta)
    rooms = np.maximum(reference.blocks.length - length + 1, 0)
    edges = np.concatenate([[0], np.cumsum(rooms)])
    if edges[-1] == 0:
        raise FmxError(f"{fasta}: no block of {length} bases to draw queries from")
    rng, n = np.random.default_rng(seed), max(1, n_bases // length)
    with open(path, "wb") as file:
        for start in range(0, n, _LINE):
            draw = rng.integers(0, edges[-1], min(_LINE, n - start))
            block = np.searchsorted(edges, draw, "right") - 1
            place = reference.blocks.text_start[block] + draw - edges[block]
            codes = text[place[:, None] + np.arange(length)]
            changed = rng.random(codes.shape) < CHANGED
            codes[changed] = (codes[changed] + rng.integers(0, 3, int(changed.sum()))) % 4 + 1
            reverse = rng.random(draw.size) < 0.5
            codes[reverse] = 5 - codes[reverse, ::-1]
            letters = _LETTERS[codes]
            file.write(b"".join(b">%d\n%s\n" % (start + i, row.tobytes()) for i, row in enumerate(letters)))
    return n
