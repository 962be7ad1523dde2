"""Reads: packed words are the letters; what is cut off, is neither searched nor written."""

import os
import platform
import subprocess
import sys

import cases
import naive
import numpy as np
import pytest
from conftest import ROOT
from texts import numbered, random_letters

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


# Trimming.

GENOME = numbered([random_letters(600, "trimmed")])
LETTERS = GENOME[0][1]
SEQUENCES = [
    "NN" + LETTERS[10:40] + "GGN", "TTT" + naive.reverse_complement(LETTERS[50:81]).lower(), LETTERS[100:109],
    "ACGTN", "", LETTERS[200:206], LETTERS[300:400], "NNN" + LETTERS[7:9],
]  # fmt: skip
RECORDS = [(f"r{i}", sequence) for i, sequence in enumerate(SEQUENCES)]
CASES = {
    "--trim5 2 --trim3 3": (lambda x: x[2 : max(2, len(x) - 3)], 0),
    "--start 4 --length 20": (lambda x: x[3:23], 0),
    "--trim3 1 --length 6 --min-length 6": (lambda x: x[: max(0, len(x) - 1)][:6], 6),
    "--min-length 9": (lambda x: x, 9),
    "--trim5 1000": (lambda x: "", 0),
}


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("kind", ["FASTQ", "FASTA"])
def test_reads_are_written_as_they_were_cut(options, kind, folder, index_of, command):
    (folder / "r").write_bytes(cases.fastq(RECORDS) if kind == "FASTQ" else cases.fasta(RECORDS, 13))
    kept, least = CASES[options]
    result = command("search", "-q", "-a", "-x", index_of(GENOME), "r", *options.split())
    assert (result.code, result.err) == (0, "")
    qualities = [line.decode() for line in cases.fastq(RECORDS).splitlines()[3::4]]
    expected = []
    for (name, sequence), quality in zip(RECORDS, qualities, strict=True):
        letters, quality = kept(sequence), kept(quality)
        hits = naive.locate(GENOME, letters) if letters and len(letters) >= least else []
        for number, (_, position, reverse) in enumerate(hits):
            spelled = naive.reverse_complement(letters) if reverse else letters.upper()
            quality_here = quality[::-1] if reverse else quality
            read = (spelled, quality_here) if number == 0 else ("*", "*")
            expected.append([name, str(position + 1), *read, f"NH:i:{len(hits)}"])
        if not hits:
            expected.append([name, "0", letters.upper() or "*", quality or "*", "NH:i:0"])
    if kind == "FASTA":
        expected = [[*row[:3], "*", row[4]] for row in expected]
    assert [[row[0], row[3], *row[9:12]] for row in result.records] == expected


def test_what_is_cut_off_is_looked_at_all_the_same(folder, index_of, command):
    (folder / "r.fa").write_bytes(b">a\nACGT\n>b\nAC-GTTTTT\n")
    result = command("search", "-x", index_of(GENOME), "r.fa", "--trim5", "5", "-o", "out.sam")
    assert (result.code, sorted(path.name for path in folder.iterdir())) == (1, ["r.fa"])
    assert "r.fa: record 2: the sequence contains a character that is not a base" in result.err
