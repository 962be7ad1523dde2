"""Records as an array, and matrices; output/ writes records as text.

PHYLIP  a square matrix: number of sequences, then a line each, name and values
npz     arrays ``queries``, ``targets`` (names) and ``values``
"""

import numpy as np

from ..errors import UnsupportedError

PAIR = np.dtype(
    [("query", "i8"), ("target", "i8"), ("score", "i8"), ("identity", "f8"), ("length", "i8"),
     ("matches", "i8")]
)  # fmt: skip


def as_rows(job, records) -> np.ndarray:
    """Records as an array of PAIR, with scores in place of H."""
    rows = np.empty(records.h.size, PAIR)
    for name in ("query", "target", "identity", "length", "matches"):
        rows[name] = getattr(records, name)
    rows["score"] = scores_of(job, records)
    return rows


def scores_of(job, records) -> np.ndarray:
    """The scores of Records, int64[n]."""
    letters = job.queries.lengths()[records.query] + job.targets.lengths()[records.target]
    return job.scoring.score(records.h, letters)


class Matrix:
    """A matrix filled chunk by chunk: int64 scores or float64 identities."""

    def __init__(self, job, scores):
        self._job = job
        self.dtype = np.dtype(np.int64 if scores else np.float64)
        shape = job.queries.starts.size - 1, job.targets.starts.size - 1
        try:
            self.values = np.zeros(shape, self.dtype)
        except (MemoryError, ValueError) as error:
            raise UnsupportedError(
                f"a matrix of {shape[0]} x {shape[1]} does not fit into memory; write a table"
            ) from error

    def put(self, chunk, values):
        """Values of a chunk, in the order of its pairs."""
        at = 0
        for query in range(*chunk):
            first = self._job.first_target(query)
            n = self.values.shape[1] - first
            self.values[query, first:] = values[at : at + n]
            if self._job.half:
                self.values[first:, query] = values[at : at + n]
            at += n

    def write(self, file, form, query_names, target_names):
        """Write as npz, or as PHYLIP (one set of sequences only)."""
        if form == "npz":
            names = {"queries": np.array(query_names, str), "targets": np.array(target_names, str)}
            np.savez(file, allow_pickle=False, **names, values=_narrow(self.values))
            return
        file.write(f"{len(query_names)}\n".encode())
        for name, row in zip(query_names, self.values.tolist(), strict=True):
            cells = (str(x) for x in row) if self.dtype.kind == "i" else (f"{x:.6f}" for x in row)
            file.write(f"{name} {' '.join(cells)}\n".encode())


def _narrow(values):
    """Scores as int32 where they fit: half the bytes."""
    if values.dtype == np.int64 and values.size and abs(values).max() < 2**31:
        return values.astype(np.int32)
    return values
