"""Every job of building an index, compiled for a GPU without one: what the code must not hold."""

import numpy as np
import pytest
import synthetic
from ptx import check_lean, code_of

from fmx.index import layouts, positions, prefix_table, reference, seed_table
from fmx.index.building import bwt
from fmx.index.building.suffix_array import radix
from fmx.index.layouts import cofi, entries
from fmx.index.sparse import building_gpu
from fmx.input import dna
from fmx.input.reads import Patterns
from fmx.machines import jobs

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
BYTES, ROWS, WORDS, NUMBERS = (np.zeros(2, kind) for kind in (np.uint8, np.uint32, np.uint64, np.int64))
TABLE, ZERO, KEY = np.zeros((2, 4), np.int64), np.int64(0), np.uint64(0)
LISTED, RUN = radix.RowList(ROWS), radix.RowRange(ZERO)
PATTERNS = Patterns(WORDS, NUMBERS, NUMBERS)
BLOCKS = reference.Blocks(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, 6)
TEXT = building_gpu.Text(WORDS, BLOCKS, 9, 21, 16, 5)
ALIKE = building_gpu.Alike(WORDS, WORDS)
CHOICES = (
    building_gpu.Sampled(ROWS),
    building_gpu.InLarge(WORDS, ROWS),
    ALIKE,
    radix.InRange(WORDS, KEY, KEY),
    radix.Tied(WORDS, LISTED),
    radix.Tied(WORDS, RUN),
    entries.WithoutSymbol(BYTES),
    positions.SampledRows(ROWS, BYTES),
)
LAYOUTS = {layouts.REGISTRY[name.family].types[name.k, name.d]: name for name in layouts.all_names()}
JOBS = (
    building_gpu.FindBuckets(TEXT, ROWS, WORDS),
    building_gpu.MakeRows(TEXT, ROWS, WORDS),
    building_gpu.FindBucketStarts(WORDS, ROWS),
    building_gpu.FindGroups(WORDS, ROWS, ROWS, WORDS),
    building_gpu.ReadText(TEXT, WORDS, ROWS, ZERO, WORDS, ROWS),
    building_gpu.Take(WORDS, ROWS, WORDS),
    building_gpu.TakeRows(WORDS, ROWS, ROWS, WORDS),
    building_gpu.PutRows(WORDS, ROWS, WORDS),
    building_gpu.Narrow(ALIKE, ROWS, ROWS, ROWS, WORDS),
    dna.PackKeys(BYTES, WORDS),
    radix.FirstKeys(WORDS, ROWS, WORDS),
    radix.RankKeys(ROWS, ROWS, ROWS, ZERO, ZERO, ROWS, WORDS),
    radix.PlaceSorted(WORDS, ROWS, LISTED, ROWS, ROWS),
    radix.PlaceSorted(WORDS, ROWS, RUN, ROWS, ROWS),
    *(jobs.CountChosen(choice, NUMBERS) for choice in CHOICES),
    *(jobs.PickChosen(choice, NUMBERS, ROWS) for choice in CHOICES),
    bwt.Transform(BYTES, ROWS, 2, BYTES),
    bwt.CountCodes(BYTES, TABLE),
    dna.PackText(BYTES, WORDS),
    prefix_table.FindPairs(BYTES, ROWS, ROWS),
    seed_table.FindStarts(BYTES, ROWS, 13, ROWS),
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


def test_every_job_is_compiled_here():
    """All NamedTuples that ``do`` or ``choose`` know."""
    known = {type(job) for job in JOBS} | {type(choice) for choice in CHOICES}
    assert all(jobs.do.knows(job) for job in JOBS)
    assert all(jobs.choose.knows(choice) for choice in CHOICES)
    modules = (
        building_gpu, bwt, dna, entries, prefix_table, positions, seed_table, jobs, synthetic, cofi,
        radix,
    )  # fmt: skip
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, tuple) and value.__module__ == module.__name__:
                example = value.__new__(value, *[None] * len(value._fields))
                assert value in known or not (jobs.do.knows(example) or jobs.choose.knows(example)), value


def test_code_of_sampling():
    check_lean(code_of(building_gpu.sample_kernel, (TEXT, WORDS, 256, ROWS), (8, 0)))
