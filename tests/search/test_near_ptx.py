"""Kernels of near matches, compiled for two GPUs without one: what the code must not hold."""

import numpy as np
import pytest
from cover import covered
from ptx import check_lean, code_of

from fmx.index.positions import FullSA
from fmx.index.reference import make_blocks
from fmx.input.reads import Patterns, ReadBatch
from fmx.input.sets import ReadSets, Sets
from fmx.output import hits_gpu, put
from fmx.output.formats.sam import SamHits
from fmx.search.hits import Intervals, SARows
from fmx.search.near.matches import NearHits, PartText, WordBatch
from fmx.search.queries.near import Pieces, Words

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
from fmx.search.gpu import gpu_hits, gpu_near
from fmx.search.gpu.gpu_parts import compare_kernel

BYTES, FLAGS, ROWS = (np.zeros(1, kind) for kind in (np.uint8, np.bool_, np.uint32))
NUMBERS, WORDS = (np.zeros(1, kind) for kind in (np.int64, np.uint64))
BLOCKS = make_blocks(*[np.zeros(1, np.int64)] * 3, np.array([9]))
TEXT = PartText(FullSA(ROWS), FullSA(ROWS), WORDS, BLOCKS, 1, 0)
BATCH, PATTERNS = ReadBatch(BYTES, *[NUMBERS] * 5, FLAGS), Patterns(WORDS, NUMBERS, NUMBERS)
SETS, READS = (
    Sets(BYTES, WORDS, WORDS, NUMBERS, NUMBERS, NUMBERS),
    ReadSets(BYTES, NUMBERS, FLAGS, WORDS, NUMBERS, NUMBERS),
)
PIECES, RULES = Pieces(NUMBERS, NUMBERS), gpu_near.NearRules(2, 3, 1, True, True)
FOUND = gpu_near.NearFound(SARows(FullSA(ROWS), FullSA(ROWS), ROWS, ROWS), ROWS, ROWS, *[NUMBERS] * 4, READS)
HITS = NearHits(NUMBERS, NUMBERS, FLAGS, NUMBERS, NUMBERS, NUMBERS)
CHOSEN = gpu_hits.SelectedHits(HITS, NUMBERS, NUMBERS)
SELECTION, FORM = (
    gpu_hits.SelectionRules(1, 2, -1, False, True),
    SamHits(put.make_names(["a"]), BLOCKS, True, 15, BYTES, 3),
)


def sought(sets):
    return WordBatch(sets, PIECES, 2, NUMBERS, NUMBERS)


KERNELS = {
    "compare sets": (compare_kernel, (TEXT, sought(SETS), ROWS, NUMBERS, 0, NUMBERS)),
    "compare reads": (compare_kernel, (TEXT, sought(READS), ROWS, NUMBERS, 0, NUMBERS)),
    "begin": (gpu_near.begin_kernel, (BATCH, PATTERNS, RULES, READS, FLAGS)),
    "plan": (gpu_near.plan_kernel, (BATCH, FOUND, NUMBERS, 2, PIECES)),
    "spell": (gpu_near.spell_kernel, (READS, PIECES, 0, 1, Words(PATTERNS, NUMBERS, NUMBERS))),
    "sizes": (gpu_near.sizes_kernel, (Intervals(ROWS, ROWS), NUMBERS)),
    "collect": (
        gpu_near.collect_kernel,
        (NUMBERS, (0, 0, 1), NUMBERS, NUMBERS, True, FOUND, NUMBERS),
    ),
    "choose": (gpu_near.choose_kernel, (BATCH, FOUND, TEXT, RULES, -1, CHOSEN)),
    "strata": (gpu_near.strata_kernel, (FOUND, 1, NUMBERS)),
    "count": (gpu_hits.count_kernel, (BATCH, FOUND, SELECTION, CHOSEN, NUMBERS, NUMBERS)),
    "tally": (gpu_hits.tally_kernel, (FOUND, BLOCKS, CHOSEN, NUMBERS)),
    "SAM": (
        hits_gpu.write_kernel,
        (FORM, BATCH, HITS, hits_gpu.ALL, True, hits_gpu.Loose(NUMBERS, NUMBERS, BYTES)),
    ),
}
CODES = [(name, capability) for name in KERNELS for capability in [(9, 0), (8, 0)]]


@pytest.mark.parametrize(("name", "capability"), covered(CODES, set), ids=str)
def test_code_keeps_to_registers_and_calls_nothing(name, capability):
    check_lean(code_of(*KERNELS[name], capability))
