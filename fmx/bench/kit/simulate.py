"""Error-free reads of a reference, for benchmarks: seeded, half of them from the reverse strand."""

import numpy as np

from ...errors import FmxError
from ...index.reference import read_fasta

_LETTERS = np.frombuffer(b"NACGT", np.uint8)  # by text code


def write_reads(fasta, n, length, path, seed=1) -> int:
    """Write n reads as FASTQ; a name holds number, contig, 0-based position and strand."""
    reference, text = read_fasta(fasta)
    blocks = reference.blocks
    rooms = np.maximum(blocks.length - length + 1, 0)
    if rooms.sum() == 0:
        raise FmxError(f"{fasta}: no block of {length} bases to draw reads from")
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[0], np.cumsum(rooms)])
    with open(path, "wb") as file:
        for start in range(0, n, 50_000):
            draw = rng.integers(0, edges[-1], min(50_000, n - start))
            block = np.searchsorted(edges, draw, "right") - 1
            offset = draw - edges[block]
            codes = text[(blocks.text_start[block] + offset)[:, None] + np.arange(length)]
            reverse = rng.random(draw.size) < 0.5
            codes[reverse] = 5 - codes[reverse, ::-1]
            letters = _LETTERS[codes].tobytes().decode()
            quality = "I" * length
            lines = []
            for i in range(draw.size):
                name = reference.names[blocks.contig[block[i]]]
                place = blocks.contig_start[block[i]] + offset[i]
                strand = "-" if reverse[i] else "+"
                sequence = letters[i * length : (i + 1) * length]
                lines.append(f"@{start + i}:{name}:{place}:{strand}\n{sequence}\n+\n{quality}\n")
            file.write("".join(lines).encode())
    return n
