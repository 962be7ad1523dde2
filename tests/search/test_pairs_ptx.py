"""Kernels of pairs, compiled for two GPUs without one: what the code must not hold."""

import numpy as np
import pytest
from cover import covered
from ptx import check_lean, code_of

from fmx.index.positions import FullSA
from fmx.index.reference import make_blocks
from fmx.input.reads import ReadBatch
from fmx.output import put
from fmx.output.formats.sam import SamGaps
from fmx.search.hits import Hits, Located, SARows
from fmx.search.pairs import ProperPairs, Rule

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
from fmx.output import hits_gpu
from fmx.search.gpu import gpu_hits, gpu_pairs

BYTES, FLAGS, ROWS = (np.zeros(1, kind) for kind in (np.uint8, np.bool_, np.uint32))
NUMBERS = np.zeros(1, np.int64)
BLOCKS = make_blocks(*[np.zeros(1, np.int64)] * 3, np.array([9]))
BATCH = ReadBatch(BYTES, *[NUMBERS] * 5, FLAGS)
BOTH, LOCATED = (BATCH, BATCH), Located(NUMBERS, NUMBERS, NUMBERS)
FOUND = SARows(FullSA(ROWS), FullSA(ROWS), ROWS, ROWS)
PROPER = ProperPairs(*[NUMBERS] * 3, FLAGS, *[NUMBERS] * 5, 0, NUMBERS, NUMBERS)
HITS = Hits(NUMBERS, NUMBERS, FLAGS, NUMBERS)
TABLES = gpu_pairs.PairTables(NUMBERS, PROPER, HITS, NUMBERS, NUMBERS)
RULE, RULES = Rule(False, True, 1, 2), gpu_hits.SelectionRules(1, 2, -1, False, False)
PAIRS = hits_gpu.pairs_of(BATCH, TABLES)
SIDES = LOCATED, LOCATED
FORM = SamGaps(put.make_names(["a"]), BLOCKS, True, 15, BYTES, 3, NUMBERS)
LOOSE = hits_gpu.Loose(NUMBERS, NUMBERS, BYTES)
KERNELS = {
    "names": (gpu_pairs.names_kernel, (BOTH, NUMBERS)),
    "occur": (gpu_pairs.occur_kernel, (FOUND, NUMBERS, NUMBERS)),
    "locate": (gpu_pairs.locate_kernel, (FOUND, NUMBERS, NUMBERS, LOCATED)),
    "pair": (gpu_pairs.pair_kernel, (BOTH, SIDES, RULE, BLOCKS, RULES, TABLES)),
    "sum": (gpu_pairs.sum_kernel, (BATCH, 1, TABLES, NUMBERS)),
    "choose": (gpu_pairs.choose_kernel, (BATCH, BOTH, SIDES, RULE, -1, FOUND, TABLES)),
    "room": (hits_gpu.measure_kernel, (PAIRS, 3, True, NUMBERS)),
    "SAM": (hits_gpu.write_kernel, (FORM, PAIRS, True, LOOSE)),
    "gather": (hits_gpu.gather_kernel, (FORM, PAIRS, LOOSE, BYTES)),
}
CODES = [(name, capability) for name in KERNELS for capability in [(9, 0), (8, 0)]]


@pytest.mark.parametrize(("name", "capability"), covered(CODES, set), ids=str)
def test_code_keeps_to_registers_and_calls_nothing(name, capability):
    code = code_of(*KERNELS[name], capability)
    if name.startswith("choose"):  # the heads of its lists are in memory of its own
        code = code.replace(".local", "")
    check_lean(code)
