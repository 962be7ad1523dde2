"""What is put into a buffer: numbers as Python writes them, and rooms that suffice."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kept import compiled

from fmx.index.reference import make_blocks
from fmx.output import put
from fmx.output.records import put_record, widest

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


@given(matches=st.integers(0, 2**21), more=st.integers(0, 2**21))
def test_shares_of_whole_numbers_are_rounded_half_to_even(matches, more):
    for length in (matches + more, 128 * ((matches + more) // 128)):
        if matches <= length and length:
            out = np.zeros(200, np.uint8)
            n = _write(0, matches / length, out)
            assert bytes(out[:n]).split(b"\t")[-1].decode() == f"{matches / length:.6f}"


@given(odd=st.integers(0, 63))
def test_ties_go_to_the_even_digit(odd):
    out, share = np.zeros(200, np.uint8), (2 * odd + 1) / 128
    n = _write(0, share, out)
    assert bytes(out[:n]).split(b"\t")[-1].decode() == f"{share:.6f}"


class _Tagged(NamedTuple):
    """A form whose records are as long as they are made."""

    names: Any
    blocks: Any
    tags: Any


@put_record.register(_Tagged)
def _put_tagged(form, out, at, batch, record):
    at = put.name(out, put.query(out, at, batch, record.query), form.names, record.contig)
    at = put.field(out, put.text(out, at, form.tags), record.start)
    return put.padded(out, at, record.total)


@pytest.mark.parametrize("n", [0, 3, 500])
def test_a_new_tag_makes_its_own_room(n):
    one = np.array([0])
    blocks = make_blocks(one, one, one, np.array([9]))
    names = put.make_names(["a", "longest", "long"])
    form = _Tagged(names, blocks, put.as_bytes("t" * n))
    assert widest(form) == len("*") + len("longest") + n + len("\t") + 2 * put.DIGITS
    assert max(len(str(x)) for x in (2**64 - 1, -(2**63))) == put.DIGITS
