"""Reads as they came, for --al and --un: those with a reported hit, and those without.

A record of FASTQ is copied as it is, one of FASTA with its sequence on one line.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..compiler.primitives import copy_bytes
from ..input.deflate import deflate
from ..input.gzipped import BGZF_END
from .put import LINE


class Aside(bytes):
    """A piece of output for the file number ``place`` beside the main one."""

    place = 0


class Taker(NamedTuple):
    """Whether reads with a hit are taken, or those without, and whether what is taken is compressed."""

    with_hit: bool
    is_gzip: bool

    @property
    def end(self) -> bytes:
        """What stands after the last piece."""
        return BGZF_END if self.is_gzip else b""


def split(takers, batch, is_fastq, is_hit):
    """Yield an Aside for each Taker, in order, that takes one of a batch of reads (uncut) at least.

    ``is_hit`` bool[n_reads].
    """
    for place, taker in enumerate(takers):
        wanted = is_hit == taker.with_hit
        if wanted.any():
            out = np.empty(batch.data.size, np.uint8)
            out = out[: _copy(batch, is_fastq, wanted, out)]
            piece = Aside(deflate(out) if taker.is_gzip else out.tobytes())
            piece.place = place
            yield piece


@compiled
def _copy(batch, is_fastq, wanted, out):
    """The records of the wanted reads into ``out`` uint8[n]; how many bytes that is."""
    at, n_reads = np.int64(0), wanted.size
    for r in range(n_reads):
        if wanted[r]:
            begin = batch.name_start[r] - 1
            if is_fastq:
                end = batch.name_start[r + 1] - 1 if r + 1 < n_reads else batch.data.size
            else:
                end = batch.start[r] + batch.length[r]
            copy_bytes(out, at, batch.data, begin, end - begin)
            at += end - begin
            if not is_fastq and batch.length[r] > 0:
                out[at] = LINE
                at += 1
    return at
