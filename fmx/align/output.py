"""Records as text, and matrices.

    TSV     query target score identity length matches [cigar], a header line first
    PAF     the twelve columns, then AS:i score, id:f identity, cg:Z path
    PHYLIP  a square matrix: number of sequences, then a line each, name and values
    npz     arrays ``queries``, ``targets`` (names) and ``values``

A path's letters are those of SAM: = match, X mismatch, I letter of the query only, D of the target only.
"""

import numpy as np

from ..errors import UnsupportedError

_OPERATIONS = "=XID"


def cigar(records, r) -> str:
    """The path of record r."""
    runs = records.runs[records.first_run[r] : records.first_run[r + 1]].tolist()
    return "".join(f"{run >> 2}{_OPERATIONS[run & 3]}" for run in runs)


PAIR = np.dtype(
    [("query", "i8"), ("target", "i8"), ("score", "i8"), ("identity", "f8"), ("length", "i8"),
     ("matches", "i8")]
)  # fmt: skip


def as_rows(job, records) -> np.ndarray:
    """Records as an array of PAIR, with scores in place of H."""
    rows = np.empty(records.h.size, PAIR)
    for name in ("query", "target", "identity", "length", "matches"):
        rows[name] = getattr(records, name)
    letters = job.queries.lengths()[records.query] + job.targets.lengths()[records.target]
    rows["score"] = job.scoring.score(records.h, letters)
    return rows


def header(with_cigar) -> bytes:
    """First line of a TSV."""
    return b"query\ttarget\tscore\tidentity\tlength\tmatches" + (b"\tcigar\n" if with_cigar else b"\n")


class Rows:
    """Turns Records into bytes of one format; ``names`` of the queries and of the targets."""

    def __init__(self, job, names, form, with_cigar):
        self._job, self._form, self._with_cigar = job, form, with_cigar
        self._names = names
        self._lengths = job.queries.lengths(), job.targets.lengths()

    def __call__(self, records) -> bytes:
        line = self._paf if self._form == "paf" else self._tsv
        rows = as_rows(self._job, records).tolist()
        return "".join(line(records, r, row) for r, row in enumerate(rows)).encode()

    def _tsv(self, records, r, row):
        query, target, score, identity, length, matches = row
        tail = f"\t{cigar(records, r)}\n" if self._with_cigar else "\n"
        names = f"{self._names[0][query]}\t{self._names[1][target]}"
        return f"{names}\t{score}\t{identity:.6f}\t{length}\t{matches}{tail}"

    def _paf(self, records, r, row):
        query, target, score, identity, length, matches = row
        m, n = int(self._lengths[0][query]), int(self._lengths[1][target])
        tail = f"\tcg:Z:{cigar(records, r)}\n" if self._with_cigar else "\n"
        return (
            f"{self._names[0][query]}\t{m}\t0\t{m}\t+\t{self._names[1][target]}\t{n}\t0\t{n}\t"
            f"{matches}\t{length}\t255\tAS:i:{score}\tid:f:{identity:.6f}{tail}"
        )


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
