"""A program that only mypy reads: the types of results, and arguments that must be refused."""

from pathlib import Path
from typing import assert_type

import numpy as np

import fmx

index = fmx.open("genome.fmx")
with fmx.build(["a.fa", "b.fa"], Path("x.fmx")) as other:
    other.close()
hits = index.search({"a": "ACGT"}, strands="forward", k=None)
assert_type(index, fmx.Index)
assert_type(hits, fmx.Table)
assert_type(hits["position"], np.ndarray)
assert_type(hits[hits["reverse"]], fmx.Table)
assert_type(hits[1:], fmx.Table)
assert_type(hits.names["read"][3], str)
assert_type(hits.names["read"][hits["read"]], list[str])
assert_type(index.count(["ACGT"]), np.ndarray)
assert_type(next(index.search_chunks(Path("reads.fq"))), fmx.Table)
assert_type(index.groups, list[str] | None)
index.search(["ACGT"], strands="minus")  # type: ignore[arg-type]
index.search_pairs("1.fq", "2.fq", orientation="rr")  # type: ignore[arg-type]
index.mem("q.fa", unique="query")  # type: ignore[arg-type]
fmx.open("genome.fmx", method="zzz")  # type: ignore[arg-type]
fmx.pairwise(["A"], engine="cuda_full")  # type: ignore[arg-type]
fmx.build("a.fa", engine="both")  # type: ignore[arg-type]
index.search(5)  # type: ignore[arg-type]
index.search(["ACGT"], k="3")  # type: ignore[arg-type]
print(fmx.serach)  # type: ignore[attr-defined]
