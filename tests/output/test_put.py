"""What is put into a buffer: numbers as Python writes them, and rooms that suffice."""

import re
from typing import Any, NamedTuple

import naive
import numpy as np
import pytest
from cached import compiled
from hypothesis import example, given
from hypothesis import strategies as st

from fmx.index.reference import make_blocks
from fmx.input.chunks import Chunk
from fmx.input.reads import ReadBatch, parse
from fmx.output import put
from fmx.output.records import REVERSE, put_group_of_read, put_head, put_record, widest

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


@compiled
def _write_read(batch, reverse, out):
    at = put.byte(out, put.query(out, np.int64(0), batch, 0), put.TAB)
    at = put.byte(out, put.letters(out, at, batch, 0, reverse), put.TAB)
    return put.qualities(out, at, batch, 0, reverse)


CODES = "ACGTURYSWKMBDHVN"


@pytest.mark.parametrize("letters", ["ACGTUacgtu", "AAC", "G", CODES, CODES.lower(), "ACGT.ACCJXZ"])
@pytest.mark.parametrize("name", ["r1", ""])
def test_letters_and_qualities_are_those_of_the_strand(name, letters):
    batch = read_of(f"{name} comment" if name else "", letters)
    qualities = "".join(chr(33 + i) for i in range(len(letters)))
    known = re.sub(f"[^{CODES}]", "N", naive.plain(letters))
    for reverse, expected in (
        (False, [name or "*", known, qualities]),
        (True, [name or "*", naive.reverse_complement(known), qualities[::-1]]),
    ):
        out = np.zeros(200, np.uint8)
        found = bytes(out[: _write_read(batch, reverse, out)]).decode()
        assert found.split("\t") == expected
        assert not out[len(found) :].any()


def read_of(head, letters) -> ReadBatch:
    """One read of FASTQ, with qualities that tell its places apart."""
    qualities = "".join(chr(33 + i) for i in range(len(letters)))
    data = np.frombuffer(bytearray(f"@{head}\n{letters}\n+\n{qualities}\n".encode()), np.uint8)
    return parse(Chunk("reads.fq", data, True, 1, 1))


class _Tagged(NamedTuple):
    """A form whose heads of one row, or records of one strand and number, are as long as they are made."""

    names: Any
    blocks: Any
    tags: Any
    reverse: bool
    number: int
    row: int = -1


@put_record.register(_Tagged)
def _put_tagged(form, out, at, batch, record):
    at = put.name(out, put.query(out, at, batch, record.query), form.names, record.contig)
    if (record.flag & REVERSE > 0) == form.reverse and record.number == form.number:
        at = put.text(out, at, form.tags)
    return put.padded(out, put.field(out, at, record.start), record.total)


@put_head.register(_Tagged)
def _put_head(form, out, at, batch, row):
    return put.text(out, at, form.tags) if row == form.row else at


@pytest.mark.parametrize(
    "where", [(False, 1), (False, 2), (True, 1), (True, 2), (False, 0, 0), (False, 0, 1)]
)
@pytest.mark.parametrize("n", [0, 3, 500])
def test_a_new_tag_makes_its_own_room(n, where):
    one = np.array([0])
    blocks = make_blocks(one, one, one, np.array([9]))
    names = put.make_names(["a", "longest", "long"])
    form = _Tagged(names, blocks, put.as_bytes("t" * n), *where)
    rest = len("*") + len("longest") + len("\t") + 2 * put.DIGITS
    assert widest(form) == (max(n, rest) if form.number == 0 else n + rest)
    assert max(len(str(x)) for x in (2**64 - 1, -(2**63))) == put.DIGITS


@compiled
def _write_group(batch, most, out):
    return put_group_of_read(out, np.int64(0), batch, 0, most)


@pytest.mark.parametrize(
    ("head", "group"),
    [
        ("r\tRG:Z:ab", "ab"),
        ("r\tRG:Z:ab\tCB:Z:x", "ab"),
        ("r\tRG:Z:abc", "abc"),
        ("r\tRG:Z:abcd", ""),  # longer than any of the header
        ("r\tRG:Z:a b", "a"),
        ("r\tRG:Z:!~\x7f", "!~"),
        ("r\tRG:Z:", ""),
        ("r\tCB:Z:x\tRG:Z:ab", ""),  # not right behind the name
        ("r RG:Z:ab", ""),
        ("r\tRG:i:1", ""),
        ("r", ""),
    ],
)
def test_a_read_names_its_group_right_behind_its_name(head, group):
    out = np.zeros(20, np.uint8)
    n = _write_group(read_of(head, "ACGT"), 3, out)
    assert bytes(out[:n]).decode() == group


def test_a_record_at_the_end_of_the_data_names_no_group():
    whole = read_of("r\tRG:Z:ab", "A")
    for stop in range(len("@r"), len("@r\tRG:Z:") + 1):
        out = np.zeros(20, np.uint8)
        assert _write_group(whole._replace(data=whole.data[:stop].copy()), 3, out) == 0
