"""BAM and CRAM as reads: FASTQ made by pysam's samtools, with the read group of each in its header line.

Secondary and supplementary records are left out, and reads stand as the sequencer gave them.
"""

import importlib.util
import os
import tempfile
import zlib

from ..errors import InputError
from . import samtools
from .bgzf import BGZF_END

ARGUMENTS = ["fastq", "-n", "-T", "RG"]  # names without /1 and /2


def is_alignments(head) -> bool:
    """Is a file that begins with these bytes BAM or CRAM?"""
    if head[:4] == b"CRAM":
        return True
    if head[:2] != b"\x1f\x8b":
        return False
    try:
        return zlib.decompressobj(31).decompress(head, 4) == b"BAM\1"
    except zlib.error:
        return False


def read_groups(path) -> list:
    """The @RG lines of a BAM or CRAM file.  Raises InputError."""
    import pysam

    loud = pysam.set_verbosity(0)
    try:
        with pysam.AlignmentFile(path, check_sq=False) as file:
            lines = str(file.header).splitlines()
    except (OSError, ValueError) as error:
        raise InputError(path, "header", f"damaged ({error}); transfer it again") from error
    finally:
        pysam.set_verbosity(loud)
    return [line for line in lines if line.startswith("@RG\t")]


class Alignments:
    """What a file holds as FASTQ, once it is read from."""

    def __init__(self, path):
        self._path, self._child, self._said = path, None, None

    def check(self) -> None:
        """Raise InputError where it cannot be read as far as one can see without reading it."""
        if importlib.util.find_spec("pysam") is None:
            what = f"reads in BAM and CRAM need pysam: pip install {samtools.EXTRA}"
            raise InputError(self._path, "", what)
        if not os.path.isfile(self._path):
            raise InputError(self._path, "", "BAM and CRAM are read from files: pipe in 'samtools fastq'")
        with open(self._path, "rb") as file:
            is_bam = file.read(2) == BGZF_END[:2]
            file.seek(max(0, os.path.getsize(self._path) - len(BGZF_END)))
            if is_bam and file.read() != BGZF_END:
                raise InputError(self._path, "", "truncated: no end-of-file block of BGZF; transfer it again")

    def readinto(self, view) -> int:
        """Write FASTQ into ``view``; the number of bytes, 0 at the end.  Raises InputError."""
        if self._child is None:
            self.check()
            self._said = tempfile.TemporaryFile()  # noqa: SIM115
            arguments = [*ARGUMENTS, os.path.abspath(self._path)]
            self._child = samtools.start(
                arguments, stdin=samtools.NOTHING, stdout=samtools.PIPE, stderr=self._said
            )
        n = self._child.stdout.readinto(view)
        if n == 0 and (code := self._child.wait()):
            what = f"truncated or damaged ({samtools.said(self._said, code)}); transfer it again"
            raise InputError(self._path, "", what)
        return n

    def close(self) -> None:
        """End what reads it."""
        if self._child:
            self._child.kill()
            self._child.wait()
            self._child.stdout.close()
            self._said.close()
