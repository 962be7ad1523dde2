"""The kernel that compares rows with the text, compiled for two GPUs without one: what it must not hold."""

import numpy as np
import pytest
from ptx import check_lean, code_of

from fmx.index.positions import FullSA
from fmx.index.reference import make_blocks
from fmx.input.sets import Sets
from fmx.search.near.matches import PartText, WordBatch
from fmx.search.queries.near import Pieces

pytest.importorskip("numba_cuda", reason="pip install 'fmx-mapper[cuda]'")
from fmx.search.gpu.gpu_parts import compare_kernel

ROWS, NUMBERS, WORDS = (np.zeros(1, kind) for kind in (np.uint32, np.int64, np.uint64))
BLOCKS = make_blocks(*[np.zeros(1, np.int64)] * 3, np.array([9]))
TEXT = PartText(FullSA(ROWS), FullSA(ROWS), WORDS, BLOCKS, 1, 0)
SETS = Sets(WORDS, WORDS, WORDS, NUMBERS, NUMBERS, NUMBERS)
SOUGHT = WordBatch(SETS, Pieces(NUMBERS, NUMBERS), 2, NUMBERS, NUMBERS)


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
def test_code_keeps_to_registers_and_calls_nothing(capability):
    check_lean(code_of(compare_kernel, (TEXT, SOUGHT, ROWS, NUMBERS, 0, NUMBERS), capability))
