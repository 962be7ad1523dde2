"""FASTA read by spans: the same reference, and the same message, wherever the borders of spans lie."""

import gzip

import naive
import numpy as np
import pytest
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from output_of import bgzf

from fmx.errors import InputError
from fmx.index import fasta
from fmx.input.spans import read_whole
from fmx.input.streams import Source

SEQUENCES = st.text("ACGTacgtuNRYn.", min_size=1, max_size=60)
HEADERS = st.text("xyz019", min_size=1, max_size=4)
LINE_ENDS = st.sampled_from(["\n", "\r\n"])


def lines_of(sequence, widths):
    """A sequence in lines of these widths, in turn; one of 0 is blank."""
    lines, i = [], 0
    while sequence:
        width = widths[i % len(widths)]
        lines.append(sequence[:width] or "\t ")
        sequence, i = sequence[max(width, 0) :], i + 1
    return lines


@examples(40)
@given(st.lists(SEQUENCES, min_size=1, max_size=4), st.lists(st.integers(1, 9)), LINE_ENDS, st.booleans())
def test_any_file_in_spans_of_any_size(sequences, widths, line_end, ends):
    contigs = [(f"c{i}", sequence) for i, sequence in enumerate(sequences)]
    if not any(naive.blocks(sequence) for sequence in sequences):
        contigs.append(("last", "A"))
    lines = []
    for name, sequence in contigs:
        lines += [f">{name} of >any", *lines_of(sequence, [*widths, 0, 7])]
    data = (line_end.join(lines) + line_end * ends).encode()
    for size in (1, 2, 3, 5, 7, 64):
        for n_threads in (1, 3):
            found, text = fasta.read_fasta(data, n_threads, size=size)
            assert found.names == [name for name, _ in contigs]
            assert found.lengths.tolist() == [len(sequence) for _, sequence in contigs]
            assert "".join("$ACGT"[code] for code in text) == naive.text_of(contigs)
            assert found.blocks.length.tolist() == [
                len(letters) for _, sequence in contigs for _, letters in naive.blocks(sequence)
            ]


BAD = {
    b"": "is empty",
    b"\n \n": "is empty",
    b">x\nAC1GT\n>y\nA-C\n": r"line 2: '1' is not a base",
    b">x\r\nAC\r\nA1\r\n": r"line 3: '1' is not a base",
    b">x\nACGT\n\n>y\nAC\nG>T\n": r"line 6: '>' is not a base",
    b"\n\n >x\nA\n": r"line 3: expected '>' at the start of a FASTA file, found '>'",
    b"@r\nACGT\n+\nIIII\n": r"line 1: .*looks like FASTQ",
    b"\n\nACGT\n>x\nA\n": r"line 3: expected '>' at the start",
    b">x\nAC\rGT\n": r"line 2: CR inside a line",
    b">x\nAC\n>\nACGT\n": "contig number 2: expected a name",
    b">x\nAC\n>y\n>z\nA\n": "contig y: it has no sequence",
    b">x\nAC\n>y z\nA\n>x a\nT\n": r"contig x occurs twice \(a name ends at the first space\); contig names",
    b">x\nNNN\n": "has no A, C, G or T",
}


@pytest.mark.parametrize("data", BAD)
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_messages_do_not_depend_on_spans(data, size):
    for n_threads in (1, 3):
        with pytest.raises(InputError, match=BAD[data]):
            fasta.read_fasta(data, n_threads, size=size)


DATA = b">x\n" + b"ACGTTGCANACGTAC\n" * 9000


@pytest.mark.parametrize("kind", ["plain", "gzip", "BGZF", "BGZF, then gzip", "bytes"])
@pytest.mark.parametrize("size", [100, 70_000, 1 << 23])
def test_the_bytes_of_every_kind_of_input(kind, size, tmp_path):
    made = {
        "plain": lambda: DATA,
        "gzip": lambda: gzip.compress(DATA),
        "BGZF": lambda: bgzf(DATA),
        "BGZF, then gzip": lambda: bgzf(DATA[:100_000]) + gzip.compress(DATA[100_000:]),
        "bytes": lambda: DATA,
    }[kind]()
    (tmp_path / "x").write_bytes(made)
    with Source(made if kind == "bytes" else tmp_path / "x") as source:
        np.testing.assert_array_equal(read_whole(source, 3, size=size), np.frombuffer(DATA, np.uint8))
