"""What is put into a buffer: numbers as Python writes them."""

import numpy as np
from cached import compiled
from hypothesis import example, given
from hypothesis import strategies as st

from fmx.output import put

BORDER = st.builds(lambda n, less: 10**n - less, st.integers(0, 18), st.integers(0, 1))
COUNT = st.integers(0, 2**63 - 1) | st.integers(0, 10**9) | BORDER


@compiled
def _write(x, share, out):
    at = put.field(out, put.number(out, np.int64(0), x), x)
    at = put.byte(out, put.signed(out, put.byte(out, at, put.TAB), -x), put.TAB)
    at = put.byte(out, put.padded(out, at, x), put.TAB)
    return put.share(out, at, share)


@given(x=COUNT, share=st.floats(0, 1))
@example(x=0, share=0.0000005)
@example(x=10**8 - 1, share=1.0)
@example(x=2**63 - 1, share=0.9999995)
def test_numbers_are_those_of_python(x, share):
    out = np.zeros(200, np.uint8)
    n = _write(x, share, out)
    assert bytes(out[:n]).decode() == f"{x}\t{x}\t{-x if x else 0}\t{x:8d}\t{share:.6f}"
