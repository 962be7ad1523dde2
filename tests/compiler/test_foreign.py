"""C functions that compiled code calls by their addresses."""

import ctypes.util

import numpy as np

from fmx.compiler import primitives
from fmx.compiler.functions import compiled


@compiled
def lowest_that_differs(memcmp, a, b, n):
    here, there = primitives.address_of(a, 1), primitives.address_of(b, 2)
    return primitives.call_c(memcmp, here, there, n, 0)


def test_compiled_code_calls_what_python_calls():
    (memcmp,) = primitives.addresses(ctypes.util.find_library("c"), "memcmp")
    a, b = np.arange(9, dtype=np.int16), np.arange(-1, 8, dtype=np.int16)
    for n, expected in ((2, 0), (12, 0), (14, 0)):
        assert lowest_that_differs(memcmp, a, b, n) == expected
    b[5] += 1
    for n in (6, 7, 8, 14):
        found = lowest_that_differs(memcmp, a, b, n)
        assert (found < 0) == (n > 6)
        assert np.sign(found) == np.sign(lowest_that_differs.function(memcmp, a, b, n))
