"""PTX of each kernel: code of a GPU, without one."""

import pytest


def signatures():
    """(name, kernel, signature) of every kernel."""
    from numba import types

    from fmx.align.cuda import lazy, packed
    from fmx.align.cuda.batch import Batch
    from fmx.bench.kit import dscan, rscan, tiled

    byte, word, number, index = (t[::1] for t in (types.uint8, types.uint32, types.int32, types.int64))
    batch = types.NamedTuple((byte, index, byte, index, number, number, number), Batch)
    doubles = types.NamedTuple((word, index, byte, index, number, number, number), packed.Doubles)
    n = types.int64
    return {
        "tiled": (tiled.tiled_kernel, (batch, index, number, n, n, n, n)),
        "dscan": (dscan.dscan_kernel, (batch, index, number, n)),
        "rscan": (rscan.rscan_kernel, (batch, index, number, n, n)),
        "lazy": (lazy.lazy_kernel, (batch, number, number, n, n)),
        "packed": (packed.packed_kernel(), (doubles, types.uint32, word, word, n)),
    }


@pytest.mark.parametrize("name", ["tiled", "dscan", "rscan", "lazy", "packed"])
def test_kernels_compile_to_ptx(name):
    from fmx.compiler.cuda import compile_to_ptx

    ptx = compile_to_ptx(*signatures()[name])
    assert ".visible .entry" in ptx
    assert ".f64" not in ptx
    assert ".local" not in ptx  # rows and selectors stay in registers
    if name == "packed":
        assert ptx.count("prmt.b32") == ptx.count("add.u16x2") == 48
        assert ptx.count("max.u16x2") == 96
