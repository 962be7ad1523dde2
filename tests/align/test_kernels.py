"""PTX of each kernel: code of a GPU, without one."""

import numpy as np
import pytest
from ptx import check_lean, code_of


def signatures():
    """(name, kernel, arguments) of every kernel."""
    import paper_kernels

    from fmx.align import gpu
    from fmx.align.gpu import Batch

    byte, word, number, index = (np.zeros(1, t) for t in (np.uint8, np.uint32, np.int32, np.int64))
    batch = Batch(byte, index, byte, index, number, number, number)
    doubles, n = gpu.Doubles(word, index, byte, index, number, number, number), 1
    return {
        "tiled": (paper_kernels.tiled_kernel, (batch, index, number, n, n, n, n)),
        "dscan": (paper_kernels.dscan_kernel, (batch, index, number, n)),
        "rscan": (paper_kernels.rscan_kernel, (batch, index, number, n, n)),
        "lazy": (gpu.lazy_kernel, (batch, number, number, n, n)),
        "packed": (gpu.packed_kernel(), (doubles, np.uint32(1), word, word, n)),
    }


@pytest.mark.parametrize("name", ["tiled", "dscan", "rscan", "lazy", "packed"])
def test_kernels_compile_to_ptx(name):
    ptx = code_of(*signatures()[name], (9, 0))
    assert ".visible .entry" in ptx
    check_lean(ptx)  # rows and selectors stay in registers
    if name == "packed":
        assert ptx.count("prmt.b32") == ptx.count("add.u16x2") == 48
        assert ptx.count("max.u16x2") == 96
