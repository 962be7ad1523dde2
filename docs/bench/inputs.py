"""Input files for measurements: references, reproducible reads and pairs of them, and screens of guides."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from isal import igzip
from synthetic import LETTERS, Repeat, make_codes, places

from fmx.align.sequences import Sequences
from fmx.index.fasta import read_fasta
from fmx.input.streams import Source
from fmx.machines.jobs import Cores

FASTQ, FASTA = "@{number}:{name}:{place}:{strand}\n{letters}\n+\n{quality}\n", ">{number}\n{letters}\n"
LENGTH = 1536  # mean length of the 16S genes of Truong et al. 2014
N_READS = 0.015  # fraction of the changed reads that hold an N, as sequencers write them
_AT_ONCE = 50_000  # reads


@contextmanager
def work_folder(path: str | Path | None = None) -> Iterator[Path]:
    """Yield the folder to work in: ``path``, which is kept, or a temporary one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(path or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def write_plain(path: str | Path, target: Path) -> Path:
    """Write a file, compressed or not, as an uncompressed one, for tools that read nothing else."""
    buffer = np.empty(1 << 22, np.uint8)
    with open(target, "wb") as file, Source(path) as source:
        while n := source.readinto(buffer):
            file.write(buffer[:n].data)
    return target


def write_reference(path: str | None, n_bases: int, folder: Path) -> Path:
    """Write an uncompressed reference: the FASTA file ``path``, or n_bases with the repeats of a genome."""
    target = folder / "reference.fa"
    if path:
        return write_plain(path, target)
    codes = make_codes(Cores(os.cpu_count() or 1), Repeat, n_bases)
    target.write_bytes(b">random\n" + LETTERS[codes].tobytes() + b"\n")
    return target


def write_reads(
    fasta: str | Path, n: int, length: int, path: str | Path, form: str = FASTQ, changed: float = 0.0
) -> int:
    """Write n reads of a reference, with a fraction ``changed`` of the bases replaced; return n.

    If any are replaced, a fraction N_READS of the reads has an N, but not in FASTA. ``form``: format of a
    read: number, name of the contig, 0-based place, strand, letters, quality. Raises FmxError if no block of
    the reference is that long.
    """
    reference, text = read_fasta(fasta)
    blocks, rng = reference.blocks, np.random.default_rng(1)
    quality = "I" * length
    with open(path, "w") as file:
        for start in range(0, n, _AT_ONCE):
            block, offset = places(blocks, length, min(_AT_ONCE, n - start), rng)
            codes = text[(blocks.text_start[block] + offset)[:, None] + np.arange(length)]
            if changed:
                other = rng.random(codes.shape) < changed
                codes[other] = (codes[other] + rng.integers(0, 3, int(other.sum()))) % 4 + 1
            reverse = rng.random(block.size) < 0.5
            codes[reverse] = 5 - codes[reverse, ::-1]
            if changed and form != FASTA:
                unknown = np.flatnonzero(rng.random(block.size) < N_READS)
                codes[unknown, rng.integers(0, length, unknown.size)] = 0
            contigs, starts = blocks.contig[block].tolist(), (blocks.contig_start[block] + offset).tolist()
            all_letters, strands = LETTERS[codes].tobytes().decode(), np.where(reverse, "-", "+").tolist()
            file.writelines(
                form.format(
                    number=start + i, name=reference.names[contigs[i]], place=starts[i], strand=strands[i],
                    letters=all_letters[i * length : (i + 1) * length], quality=quality,
                )
                for i in range(block.size)
            )  # fmt: skip
    return n


def write_pairs(
    fasta: str | Path, n: int, sizes: tuple[int, int], paths: tuple[Path, Path], changed: float = 0.0
) -> None:
    """Write the mates of n fragments of a reference, which point towards each other, to two FASTQ files.

    ``sizes``: bases of a mate and of a fragment; a fraction ``changed`` of the bases is replaced. Raises
    FmxError if no block is that long.
    """
    length, insert = sizes
    fragments = paths[0].with_suffix(".txt")
    write_reads(fasta, n, insert, fragments, "{letters}\n", changed)
    complement, quality = str.maketrans("ACGT", "TGCA"), "I" * length
    with open(fragments) as lines, open(paths[0], "w") as one, open(paths[1], "w") as two:
        for i, line in enumerate(lines):
            mates = line[:length], line[-2 : -length - 2 : -1].translate(complement)
            for file, bases in zip((one, two), mates, strict=True):
                file.write(f"@p{i}\n{bases}\n+\n{quality}\n")
    fragments.unlink()


def random_sequences(n: int, length: int, seed: int = 1) -> Sequences:
    """Return n random sequences of one length."""
    codes = np.random.default_rng(seed).integers(0, 4, n * length).astype(np.uint8)
    return Sequences(codes, np.arange(n + 1, dtype=np.int64) * length)


# A screen: a random library, reads of its guides after a stagger, errors, and the true counts.

GUIDE, READ = 20, 75  # bases
BEFORE, AFTER = b"TTGTGGAAAGGACGAAACACCG", b"GTTTTAGAGCTAGAAATAGCAAGTTAAAATAAGGCTAGTCCGTTATCAACTTGAAAAAGTGGC"
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_READS_AT_ONCE, _ERRORS = 1 << 17, 0.003  # reads; fraction of wrong bases
_QUALITIES = np.frombuffer(b"FFFFFFFFFFFF:,", np.uint8)


class Screen(NamedTuple):
    """A simulated screen: paths of its ``library`` and of its ``reads``, one per sample.

    ``counts`` int64[2, n_samples, n_guides]: reads whose guide has no error, and at most one.
    """

    library: Path
    reads: list[Path]
    counts: np.ndarray


def write_screen(folder: Path, n_guides: int, n_reads: int, n_samples: int, stagger: int) -> Screen:
    """Write a screen with n_reads of 75 bases in total.

    Up to ``stagger`` random bases precede the primer; a fraction _ERRORS of the bases is replaced.
    """
    rng = np.random.default_rng(1)
    guides = np.unique(rng.integers(0, 4, (n_guides + n_guides // 100 + 1, GUIDE), np.uint8), axis=0)
    guides = rng.permutation(guides)[:n_guides]
    library = folder / "library.csv"
    with open(library, "w") as file:
        file.write("id,sequence,gene\n")
        for i, codes in enumerate(guides):
            file.write(f"g{i},{_LETTERS[codes].tobytes().decode()},G{i // 4}\n")
    reads, counts = [], np.zeros((2, n_samples, n_guides), np.int64)
    for sample in range(n_samples):
        weight = rng.lognormal(0, 1, n_guides)
        path = folder / f"sample{sample + 1:02}.fq.gz"
        with igzip.open(path, "wb", compresslevel=1) as file:
            left = n_reads * (sample + 1) // n_samples - n_reads * sample // n_samples
            while left:
                n = min(left, _READS_AT_ONCE)
                drawn = rng.choice(n_guides, n, p=weight / weight.sum())
                records, n_wrong = _records(rng, guides[drawn], stagger)
                file.write(records)
                for most in (0, 1):
                    counts[most, sample] += np.bincount(drawn[n_wrong <= most], minlength=n_guides)
                left -= n
        reads.append(path)
    return Screen(library, reads, counts)


def _records(rng: np.random.Generator, guides: np.ndarray, stagger: int) -> tuple[bytes, np.ndarray]:
    """Return (FASTQ of a read of each of ``guides``, errors in the guide of each)."""
    n = len(guides)
    primers = [
        np.broadcast_to(np.searchsorted(_LETTERS, list(text)), (n, len(text))) for text in (BEFORE, AFTER)
    ]
    whole = np.concatenate(
        [rng.integers(0, 4, (n, stagger), np.uint8), primers[0], guides, primers[1]], axis=1
    ).astype(np.uint8)
    skipped = rng.integers(0, stagger + 1, n)
    codes = np.take_along_axis(whole, skipped[:, None] + np.arange(READ), axis=1)
    wrong = rng.random(codes.shape, np.float32) < _ERRORS
    codes[wrong] = (codes[wrong] + rng.integers(1, 4, int(wrong.sum()), np.uint8)) % 4
    start = stagger + len(BEFORE) - skipped
    n_wrong = np.take_along_axis(wrong, start[:, None] + np.arange(GUIDE), axis=1).sum(axis=1)
    qualities = _QUALITIES[rng.integers(0, _QUALITIES.size, codes.shape, np.uint8)]
    names = np.char.mod("@X:1:%012d", rng.integers(0, 10**12, n)).astype("S17").view(np.uint8).reshape(n, 17)
    line, plus = np.full((n, 1), 10, np.uint8), np.broadcast_to(np.frombuffer(b"\n+\n", np.uint8), (n, 3))
    return np.concatenate([names, line, _LETTERS[codes], plus, qualities, line], axis=1).tobytes(), n_wrong
