"""Chunks and reads: any size of chunk gives the same records; packed words are the letters."""

import os
import platform
import subprocess
import sys

import cases
import numpy as np
import pytest
from conftest import ROOT
from texts import TEXTS, reads_of

from fmx.errors import InputError
from fmx.input import reads
from fmx.input.chunks import literal_fasta
from fmx.input.spans import read_chunks

SIZES = [1, 2, 3, 5, 7, 11, 64, 1000, 1 << 21]
SEQUENCES = reads_of(TEXTS["IUPAC"])
RECORDS = [(f"read{i}", sequence) for i, sequence in enumerate(SEQUENCES)]
FILES = {
    "FASTQ": cases.fastq(RECORDS),
    "FASTQ with CRLF": cases.fastq(RECORDS).replace(b"\n", b"\r\n"),
    "FASTQ without final newline": cases.fastq([*RECORDS, ("last", "A")])[:-1],
    "FASTQ with blank lines at the end": cases.fastq(RECORDS) + b"\n" * 9,
    "FASTA": cases.fasta(RECORDS),
    "FASTA in short lines": cases.fasta(RECORDS, width=3),
    "FASTA with CRLF": cases.fasta(RECORDS, width=5).replace(b"\n", b"\r\n"),
    "FASTA with blank lines": cases.fasta(RECORDS, width=5).replace(b"\n>", b"\n\n>"),
    "FASTA without final newline": cases.fasta(RECORDS)[:-1],
}


def records(path, chunk_size) -> list:
    """(name, sequence, quality or None) of every read of a file."""
    found = []
    for chunk in read_chunks([path], chunk_size):
        batch = reads.parse(chunk)
        assert batch.length.size <= chunk.n_bound
        assert batch.length.size == 0 or chunk.number == len(found) + 1
        data = batch.data.tobytes().decode()
        for r in range(batch.length.size):
            start, n, quality = batch.start[r], batch.length[r], batch.quality_start[r]
            name = data[batch.name_start[r] : batch.name_start[r] + batch.name_length[r]]
            found.append(
                (name, data[start : start + n], None if quality < 0 else data[quality : quality + n])
            )
            assert batch.searchable[r] == (n > 0 and set(found[-1][1].upper()) <= set("ACGTU"))
    return found


@pytest.mark.parametrize("name", FILES)
def test_every_chunk_size_gives_the_same_records(name, tmp_path):
    (tmp_path / "reads").write_bytes(FILES[name])
    expected = [*RECORDS, ("last", "A")] if name == "FASTQ without final newline" else RECORDS
    for size in SIZES:
        found = records(tmp_path / "reads", size)
        assert [record[:2] for record in found] == expected
        for _, sequence, quality in found:
            if name.startswith("FASTA"):
                assert quality is None
            else:
                assert quality == "".join(chr(33 + i % 94) for i in range(len(sequence)))


@pytest.mark.parametrize("chunk_size", SIZES)
@pytest.mark.parametrize("format_of", [cases.fastq, cases.fasta])
def test_an_error_names_its_record_whatever_the_chunk(format_of, chunk_size):
    data = format_of([*RECORDS[:20], ("bad", "AC!T"), *RECORDS[20:]])
    with pytest.raises(InputError, match=r"record 21: the sequence contains a character that is not a base"):
        records(data, chunk_size)


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
@pytest.mark.parametrize("processor", ["sapphirerapids", "znver3"])
def test_lines_are_counted_in_whole_registers(processor, tmp_path):
    """On processors with AVX-512, too, and not by loads of a byte each."""
    program = (
        "from fmx.input.chunks import count; f = count.made; f.compile('(uint8[::1], int64, boolean)'); "
        "print(*f.inspect_asm().values())"
    )
    target = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "FMX_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, **target},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "vpcmpeqb" in done.stdout
    assert "vpinsrb" not in done.stdout
