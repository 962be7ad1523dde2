"""Every job of building an index, compiled for a GPU without one: what the code must not hold."""

import cases
import numpy as np
import pytest
import synthetic
from ptx import check_lean, code_of

from fmx import dna
from fmx.index import bwt, layouts, positions, suffix_array, tables
from fmx.index.layouts import cofi, entries
from fmx.input.reads import Patterns
from fmx.machines import jobs

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
BYTES, ROWS, WORDS, NUMBERS = (np.zeros(2, kind) for kind in (np.uint8, np.uint32, np.uint64, np.int64))
TABLE, ZERO, KEY = np.zeros((2, 4), np.int64), np.int64(0), np.uint64(0)
PATTERNS = Patterns(WORDS, NUMBERS, NUMBERS)
CHOICES = (
    suffix_array.InRange(WORDS, KEY, KEY),
    suffix_array.Tied(WORDS, ZERO, ROWS),
    entries.WithoutSymbol(BYTES),
    positions.SampledRows(ROWS, BYTES),
)
LAYOUTS = {layouts.REGISTRY[name.family].types[name.k, name.d]: name for name in cases.all_layouts()}
JOBS = (
    suffix_array.PackKeys(BYTES, WORDS),
    suffix_array.FirstKeys(WORDS, ROWS, WORDS),
    suffix_array.RankKeys(ROWS, ROWS, ROWS, ZERO, ZERO, ROWS, WORDS),
    suffix_array.PlaceSorted(WORDS, ROWS, ZERO, ROWS, ROWS, ROWS),
    *(jobs.CountChosen(choice, NUMBERS) for choice in CHOICES),
    *(jobs.PickChosen(choice, NUMBERS, ROWS) for choice in CHOICES),
    bwt.Transform(BYTES, ROWS, 2, BYTES),
    bwt.CountCodes(BYTES, TABLE),
    dna.PackText(BYTES, WORDS),
    tables.FindStarts(BYTES, ROWS, 13, ROWS),
    positions.Mark(positions.SampledRows(ROWS, BYTES), NUMBERS, WORDS),
    bwt.Invert(ROWS, ROWS),
    cofi.FindChanges(BYTES, ROWS, 15, ROWS),
    synthetic.Cut(WORDS, ROWS, PATTERNS),
    synthetic.Randomize(BYTES, KEY),
    synthetic.Repeat(BYTES, KEY),
    *(
        bwt.FillRuns(cls(*({"entries": WORDS, "k": name.k}.get(f, ROWS) for f in cls._fields)), BYTES, TABLE)
        for cls, name in LAYOUTS.items()
        if name.family != "cofi"
    ),
)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{type(job).__name__} {type(job[0]).__name__}")
def test_code_of_every_job(job):
    from fmx.machines.gpu_jobs import do_kernel

    check_lean(code_of(do_kernel, (job, ZERO, ZERO), (8, 0)))
