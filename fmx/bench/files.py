"""Input files for measurements: a folder, uncompressed copies, and reproducible reads of a reference."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..align.sequences import Sequences
from ..index.fasta import read_fasta
from ..input.streams import Source
from ..measure.texts import letters, places

FASTQ, FASTA = "@{number}:{name}:{place}:{strand}\n{letters}\n+\n{quality}\n", ">{number}\n{letters}\n"
LENGTH = 1536  # mean length of the 16S genes of Truong et al. 2014
_AT_ONCE = 50_000  # reads
_N_OF_CHANGED = 1 / 30  # fraction of changed symbols that become N


@contextmanager
def work_folder(path: str | Path | None = None) -> Iterator[Path]:
    """Yield the folder to work in: ``path``, which is kept, or a temporary one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(path or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def write_plain(paths: Iterable[str | Path], target: Path) -> Path:
    """Write all files, one after the other, to one uncompressed file, for tools that read nothing else.

    Return it.
    """
    buffer = np.empty(1 << 22, np.uint8)
    with open(target, "wb") as file:
        for path in paths:
            with Source(path) as source:
                while n := source.readinto(buffer):
                    file.write(buffer[:n].data)
    return target


def write_reads(
    fasta: str | Path, n: int, length: int, path: str | Path, form: str = FASTQ, changed: float = 0.0,
    with_n: bool = True,
) -> int:  # fmt: skip
    """Write n reads of a reference, with a fraction ``changed`` of the symbols replaced; return n.

    ``with_n``: whether some of these become N. ``form``: format of a read: number, name of the contig,
    0-based place, strand, letters, quality. Raises FmxError if no block of the reference is that long.
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
            if changed and with_n:
                codes[rng.random(codes.shape) < changed * _N_OF_CHANGED] = 0
            contigs, starts = blocks.contig[block].tolist(), (blocks.contig_start[block] + offset).tolist()
            all_letters, strands = letters(codes).tobytes().decode(), np.where(reverse, "-", "+").tolist()
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

    ``sizes``: bases of a mate and of a fragment; a fraction ``changed`` of the symbols is replaced. Raises
    FmxError if no block is that long.
    """
    length, insert = sizes
    fragments = paths[0].with_suffix(".txt")
    write_reads(fasta, n, insert, fragments, "{letters}\n", changed)
    complement, quality = str.maketrans("ACGT", "TGCA"), "I" * length
    with open(fragments) as lines, open(paths[0], "w") as one, open(paths[1], "w") as two:
        for i, line in enumerate(lines):
            mates = line[:length], line[-2 : -length - 2 : -1].translate(complement)
            for file, letters in zip((one, two), mates, strict=True):
                file.write(f"@p{i}\n{letters}\n+\n{quality}\n")
    fragments.unlink()


def random_sequences(n: int, length: int, seed: int = 1) -> Sequences:
    """Return n random sequences of one length."""
    codes = np.random.default_rng(seed).integers(0, 4, n * length).astype(np.uint8)
    return Sequences(codes, np.arange(n + 1, dtype=np.int64) * length)
