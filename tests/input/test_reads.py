"""Reads: packed words are the letters."""

import os
import platform
import subprocess
import sys

import cases
import numpy as np
import pytest
from conftest import ROOT

from fmx.errors import InputError
from fmx.input import reads
from fmx.input.chunks import literal_fasta


@pytest.mark.parametrize("n", [*range(1, 70), 95, 96, 97, 100, 127, 128, 129, 1000])
def test_packed_words_are_the_letters_and_their_reverse_complement(n):
    rng = np.random.default_rng(n)
    sequences = ["".join(rng.choice(list("ACGTacgtUu"), n)) for _ in range(3)]
    batch = cases.batch_of(sequences)
    patterns = reads.pack(batch)
    for r, sequence in enumerate(sequences):
        codes = ["ACGT".index(letter) for letter in sequence.upper().replace("U", "T")]
        for row, expected in ((2 * r, codes), (2 * r + 1, [3 - code for code in reversed(codes)])):
            assert patterns.length[row] == n
            first = patterns.first[row]
            held = [int(patterns.words[first + i // 32]) >> (62 - 2 * (i % 32)) & 3 for i in range(n)]
            assert held == expected
            rest = int(patterns.words[first + (n - 1) // 32]) & ((1 << (64 - 2 * ((n - 1) % 32 + 1))) - 1)
            assert rest == 0


def test_strands_that_are_not_asked_for_have_no_pattern():
    batch = cases.batch_of(["ACG", "ANG", "", "TT"])
    assert reads.pack(batch, reads.FORWARD).length.tolist() == [3, 0, 0, 0, 0, 0, 2, 0]
    assert reads.pack(batch, reads.REVERSE).length.tolist() == [0, 3, 0, 0, 0, 0, 0, 2]


def test_given_sequences_cannot_smuggle_in_records():
    for bad in ("AC\n>x\nGT", "AC>GT", b"A\n"):
        with pytest.raises(InputError, match=r"record 2"):
            literal_fasta(["ACGT", bad])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the machine code of another processor")
def test_lines_are_counted_in_whole_registers(tmp_path):
    """On processors with AVX-512, too, and not by loads of a byte each."""
    program = (
        "from fmx.input.chunks import count; f = count.made; f.compile('(uint8[::1], int64, boolean)'); "
        "print(*f.inspect_asm().values())"
    )
    target = {"NUMBA_CPU_NAME": "sapphirerapids", "NUMBA_CPU_FEATURES": "", "FMX_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, **target},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "vpcmpeqb" in done.stdout
    assert "vpinsrb" not in done.stdout
