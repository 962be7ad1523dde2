"""Reads that are refused, by what is wrong with them, and what a command says of them."""

import gzip

import cases
import numpy as np
from texts import numbered, random_letters

GENOME = numbered([random_letters(700, "g1"), random_letters(300, "g2") + "NNN" + random_letters(50, "g3")])


GOOD = cases.fastq([(f"r{i}", GENOME[0][1][7 * i : 7 * i + 30]) for i in range(50)])


def complaint(result, code=1) -> str:
    """The one line that a command says that failed, or that is wrong (code 2)."""
    assert result.code == code, result.err
    assert "Traceback" not in result.err
    assert result.out == b"" or code == 1
    (line,) = [line for line in result.err.splitlines() if "compiling" not in line]
    assert line.startswith("fmx: error: ")
    return line


def cut_gzip(data: bytes) -> bytes:
    whole = gzip.compress(data)
    return whole[: len(whole) * 2 // 3]


def flipped_gzip(data: bytes) -> bytes:
    whole = bytearray(gzip.compress(data))
    whole[-6] ^= 1  # of the checksum
    return bytes(whole)


def broken_gzip(data: bytes) -> bytes:
    whole = gzip.compress(data)
    return whole[:12] + b"\xff\xff\xff" + whole[15:]


BAD_READS = {
    "truncated gzip": (cut_gzip(GOOD), ["gzip stream", "truncated"]),
    "gzip without its end": (gzip.compress(GOOD)[:-8], ["gzip stream", "truncated"]),
    "damaged gzip": (flipped_gzip(GOOD), ["gzip stream", "damaged"]),
    "damaged in the middle": (broken_gzip(GOOD), ["gzip stream", "damaged"]),
    "junk after gzip": (gzip.compress(GOOD) + b"junk" * 9, ["gzip stream", "damaged"]),
    "second gzip member truncated": (gzip.compress(GOOD) + cut_gzip(GOOD), ["gzip stream"]),
    "no gzip after its magic bytes": (b"\x1f\x8b" + b"junk" * 20, ["gzip stream"]),
    "truncated in a name": (GOOD + b"@last", ["record 51", "truncated FASTQ"]),
    "truncated in a sequence": (GOOD + b"@last\nACG", ["record 51", "truncated FASTQ"]),
    "truncated before the plus": (GOOD + b"@last\nACG\n", ["record 51", "truncated FASTQ"]),
    "truncated after the plus": (GOOD + b"@last\nACG\n+\n", ["record 51", "truncated FASTQ"]),
    "truncated in a quality": (GOOD[:-3], ["record 50", "bases but", "damaged or cut off"]),
    "quality too long": (
        b"@a\nACGT\n+\nIIIII\n" + GOOD,
        ["record 1", "4 bases but 5 qualities; the file is damaged or cut off"],
    ),
    "quality too short": (GOOD + b"@a\nACGT\n+\nIII\n" + GOOD, ["record 51", "4 bases but 3 qualities"]),
    "no plus line": (b"@a\nACGT\nACGT\nIIII\n" + GOOD, ["record 1", "third line"]),
    "a stray line": (GOOD + b"stray\n" + GOOD, ["record 51", "'@'"]),
    "a letter that is none": (GOOD + b"@a\nAC1T\n+\nIIII\n", ["record 51", "not a base"]),
    "a quality that is none": (GOOD + b"@a\nACGT\n+\nII\x07I\n", ["record 51", "quality"]),
    "a name too long for SAM": (b"@" + b"n" * 255 + b"\nA\n+\nI\n", ["record 1", "254"]),
    "neither FASTA nor FASTQ": (b"read\tACGT\n", ["record 1", "'@' (FASTQ) or '>' (FASTA)", "'r'"]),
    "a letter that is none in FASTA": (b">a\nACGT\n>b\nAC-GT\n", ["record 2", "not a base"]),
    "binary junk": (np.random.default_rng(1).bytes(5000), ["record 1", "at its start"]),
    "binary junk after '@'": (b"@" + np.random.default_rng(2).bytes(5000), ["record 1"]),
    "binary junk after '>'": (b">" + np.random.default_rng(3).bytes(5000), ["record 1"]),
}
