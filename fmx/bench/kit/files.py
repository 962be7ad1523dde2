"""Files to measure with: a folder, plain copies, and reads of a reference, seeded, half of them reversed."""

import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from isal import igzip

from ...index.reference import read_fasta
from ...input.streams import Source
from ...measure.texts import letters, places
from ...measure.timing import Run

FASTQ, FASTA = "@{number}:{name}:{place}:{strand}\n{letters}\n+\n{quality}\n", ">{number}\n{letters}\n"
_AT_ONCE = 50_000  # reads


@contextmanager
def work_folder(path=None):
    """The folder to work in: ``path``, which is kept, or a temporary one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(path or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def write_plain(paths, target) -> Path:
    """All files, one after the other, as one that is not compressed: some tools read nothing else."""
    buffer = np.empty(1 << 22, np.uint8)
    with open(target, "wb") as file:
        for path in paths:
            with Source(path) as source:
                while n := source.readinto(buffer):
                    file.write(buffer[:n].data)
    return target


def write_reads(fasta, n, length, path, form=FASTQ, changed=0.0) -> int:
    """Write n reads of a reference, a share of whose symbols is changed; n.

    ``form`` says what of a read is written: number, name of the contig, 0-based place, strand, letters,
    quality.  Raises FmxError if no block of the reference is that long.
    """
    reference, text = read_fasta(fasta)
    blocks, rng = reference.blocks, np.random.default_rng(1)
    record = {"quality": "I" * length}
    with open(path, "w") as file:
        for start in range(0, n, _AT_ONCE):
            block, offset = places(blocks, length, min(_AT_ONCE, n - start), rng)
            codes = text[(blocks.text_start[block] + offset)[:, None] + np.arange(length)]
            if changed:
                other = rng.random(codes.shape) < changed
                codes[other] = (codes[other] + rng.integers(0, 3, int(other.sum()))) % 4 + 1
            reverse = rng.random(block.size) < 0.5
            codes[reverse] = 5 - codes[reverse, ::-1]
            starts = blocks.contig_start[block] + offset
            for i, read in enumerate(letters(codes)):
                record.update(number=start + i, place=starts[i], strand="-" if reverse[i] else "+")
                record.update(name=reference.names[blocks.contig[block[i]]], letters=read.tobytes().decode())
                file.write(form.format_map(record))
    return n


def write_pairs(fasta, n, sizes, paths) -> None:
    """Write the mates of n fragments of a reference, which point towards each other, to two files of FASTQ.

    ``sizes``: letters of a mate, and of a fragment.  Raises FmxError if no block is that long.
    """
    length, insert = sizes
    fragments = paths[0].with_suffix(".txt")
    write_reads(fasta, n, insert, fragments, "{letters}\n")
    complement, quality = str.maketrans("ACGT", "TGCA"), "I" * length
    with open(fragments) as lines, open(paths[0], "w") as one, open(paths[1], "w") as two:
        for i, line in enumerate(lines):
            mates = line[:length], line[-2 : -length - 2 : -1].translate(complement)
            for file, letters in zip((one, two), mates, strict=True):
                file.write(f"@p{i}\n{letters}\n+\n{quality}\n")
    fragments.unlink()


# A screen to measure with: a random library, reads of its guides behind a stagger, errors, and the truth.

LENGTH, READ = 20, 75  # letters of a guide, of a read
BEFORE, BEHIND = b"TTGTGGAAAGGACGAAACACCG", b"GTTTTAGAGCTAGAAATAGCAAGTTAAAATAAGGCTAGTCCGTTATCAACTTGAAAAAGTGGC"
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_READS_AT_ONCE = 1 << 17  # reads
_QUALITIES = np.frombuffer(b"FFFFFFFFFFFF:,", np.uint8)


class Screen(NamedTuple):
    """``library``: its path; ``reads``: paths, a sample each; ``counts`` int64[2, n_samples, n_guides]: reads
    whose guide was read without an error, and with one at most."""

    library: object
    reads: list
    counts: np.ndarray


def simulate(folder, n_guides, n_reads, n_samples, stagger=0, errors=0.003, seed=1) -> Screen:
    """Write a screen: n_reads of 75 letters in all, up to ``stagger`` random letters before the primer, a
    share ``errors`` of letters replaced."""
    rng = np.random.default_rng(seed)
    guides = np.unique(rng.integers(0, 4, (n_guides + n_guides // 100 + 1, LENGTH), np.uint8), axis=0)
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
                records, n_wrong = _records(rng, guides, drawn, stagger, errors)
                file.write(records)
                for most in (0, 1):
                    counts[most, sample] += np.bincount(drawn[n_wrong <= most], minlength=n_guides)
                left -= n
        reads.append(path)
    return Screen(library, reads, counts)


def _records(rng, guides, drawn, stagger, errors):
    """(FASTQ of reads of the guides ``drawn``, errors in the guide of each)."""
    n = drawn.size
    whole = np.concatenate(
        [
            rng.integers(0, 4, (n, stagger), np.uint8), np.broadcast_to(_codes(BEFORE), (n, len(BEFORE))),
            guides[drawn], np.broadcast_to(_codes(BEHIND), (n, len(BEHIND))),
        ], axis=1,
    )  # fmt: skip
    skipped = rng.integers(0, stagger + 1, n)
    codes = np.take_along_axis(whole, skipped[:, None] + np.arange(READ), axis=1)
    wrong = rng.random(codes.shape, np.float32) < errors
    codes[wrong] = (codes[wrong] + rng.integers(1, 4, int(wrong.sum()), np.uint8)) % 4
    start = stagger + len(BEFORE) - skipped
    n_wrong = np.take_along_axis(wrong, start[:, None] + np.arange(LENGTH), axis=1).sum(axis=1)
    qualities = _QUALITIES[rng.integers(0, _QUALITIES.size, codes.shape, np.uint8)]
    names = np.char.mod("@X:1:%012d", rng.integers(0, 10**12, n)).astype("S17").view(np.uint8).reshape(n, 17)
    line, plus = np.full((n, 1), 10, np.uint8), np.broadcast_to(np.frombuffer(b"\n+\n", np.uint8), (n, 3))
    return np.concatenate([names, line, _LETTERS[codes], plus, qualities, line], axis=1).tobytes(), n_wrong


def _codes(letters):
    return np.searchsorted(_LETTERS, np.frombuffer(letters, np.uint8)).astype(np.uint8)


# Timing calls of functions, in turn, in this process.


def medians(calls: dict, n_runs: int) -> dict:
    """{name: Run} of {name: (function, *arguments)}: each once uncounted, then all in turn n_runs times."""
    runs: dict = {name: [] for name in calls}
    for number in range(n_runs + 1):
        for name, (function, *arguments) in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            function(*arguments)
            if number:
                runs[name].append(Run(time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: Run(statistics.median(run.wall for run in own), statistics.median(run.cpu for run in own))
        for name, own in runs.items()
    }
