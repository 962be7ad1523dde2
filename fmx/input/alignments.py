"""Reads BAM and CRAM with pysam's samtools, in a separate process to isolate its signals and streams."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Self

import numpy as np

from ..codecs.bgzf import BGZF_END
from ..errors import InputError, n_of

_CHILD = """
import sys, pysam
command = getattr(pysam, sys.argv[1])
try:
    command(*sys.argv[2:], catch_stdout=False)
    sys.stderr.write(command.get_messages() or "")
except pysam.SamtoolsError as error:
    sys.exit(str(error).split("stderr=")[-1].strip("\\\\n '"))
"""
PIPE, NOTHING = subprocess.PIPE, subprocess.DEVNULL
PACKAGE = "pysam"  # name for pip


def start(arguments: Sequence[str], **streams: Any) -> subprocess.Popen:
    """Start samtools with these arguments."""
    return subprocess.Popen([sys.executable, "-c", _CHILD, *arguments], start_new_session=True, **streams)


def last_message(stderr: BinaryIO, code: int) -> str:
    """Return the last line of the messages of samtools, which pysam stores in a temporary file."""
    stderr.seek(0)
    lines = stderr.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with code {code}; is {tempfile.gettempdir()} full?"


# Reads of BAM and CRAM as FASTQ from samtools, with the read group of each in its header line.
#
# Secondary and supplementary records are left out, and reads are in their original orientation.

# The last container of CRAM, by its major version; 2.0 has none (CRAM specification, section 9).
_CRAM_ENDS = {
    2: bytes.fromhex("0b000000ffffffff0fe0454f460000000001000001000606010001000100"),
    3: bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"),
}
_MOST_END = len(_CRAM_ENDS[3])

_ARGUMENTS = ["fastq", "-n"]  # names without /1 and /2


class AlignmentsPath(str):
    """The path of reads in BAM or CRAM; ``reference``: FASTA to decode CRAM, or None; ``tags``: to keep."""

    reference: str | None
    tags: str

    def __new__(cls, path: str, reference: str | None = None, tags: str = "RG") -> Self:
        named = super().__new__(cls, path)
        named.reference, named.tags = reference, tags
        return named

    def __getnewargs__(self) -> tuple[str, str | None, str]:  # type: ignore[override]
        """The arguments that copy it, in this process or another."""
        return str(self), self.reference, self.tags


class Alignments:
    """The reads of ``raw``, a binary file in BAM or CRAM, as FASTQ.

    ``path``: its name; ``options``: perhaps an AlignmentsPath.  If it is a pipe, a thread reads it to its end
    and feeds samtools.
    """

    def __init__(self, path: str, raw: Any, options: object = None) -> None:
        self._path, self._raw, self._options = path, raw, options
        self._child: Any = None  # samtools, and a file with its messages, once started
        self._messages: Any = None
        self._is_cram, self._end = False, BGZF_END
        if (head := raw.peek(6)[:6]).startswith(b"CRAM"):
            major = int.from_bytes(head[4:5]) if head[4:] != b"\2\0" else 0
            self._is_cram, self._end = True, _CRAM_ENDS.get(major, b"")
        self._feeder: threading.Thread | None = None
        self._tail, self._n_lines = b"", 0  # last bytes of a pipe; lines of FASTQ

    def check(self) -> None:
        """Raise InputError for faults that can be found without reading the file."""
        if importlib.util.find_spec("pysam") is None:
            what = f"reads in BAM and CRAM need pysam: pip install {PACKAGE}"
            raise InputError(self._path, "", what)
        if os.path.isfile(self._path):
            with open(self._path, "rb") as file:
                file.seek(max(0, os.path.getsize(self._path) - len(self._end)))
                self._check_end(file.read())

    def read_groups(self) -> list[str]:
        """Return the @RG lines of a file.  Raises InputError."""
        self.check()
        with tempfile.TemporaryFile() as messages:
            arguments = ["view", "-H", os.path.abspath(self._path)]
            child = start(arguments, stdin=NOTHING, stdout=PIPE, stderr=messages)
            header = child.communicate()[0].decode(errors="replace")
            if code := child.returncode:
                what = last_message(messages, code).split("\\n")[0]
                raise InputError(self._path, "header", f"damaged ({what}); copy or download it again")
        return [line for line in header.splitlines() if line.startswith("@RG\t")]

    def _check_end(self, tail: bytes) -> None:
        tail = tail[-len(self._end) :]
        if self._is_cram:  # Java and C code differ in 4 bits (cram_check_EOF of htslib)
            tail = tail[:8] + bytes(byte & 15 for byte in tail[8:9]) + tail[9:]
        if self._end and tail != self._end:
            what = f"the {'CRAM' if self._is_cram else 'BGZF'} end-of-file marker is missing"
            raise InputError(self._path, "", f"truncated: {what}; copy or download it again")

    def readinto(self, view: np.ndarray) -> int:
        """Write FASTQ into ``view``; return the number of bytes, 0 at the end.  Raises InputError."""
        if self._child is None:
            self.check()
            self._start()
        n = self._child.stdout.readinto(view)
        self._n_lines += int(np.count_nonzero(np.frombuffer(view[:n], np.uint8) == ord("\n")))
        if n > 0:
            return n
        # Did samtools fail, not read the end, or lose reads?
        if code := self._child.wait():
            what, remedy = last_message(self._messages, code).split("\n")[0], "copy or download it again"
            if self._is_cram:
                remedy += ", or give the reference that it was compressed with: --reference FASTA"
            raise InputError(self._path, "", f"truncated or damaged ({what}); {remedy}")
        if self._feeder:
            self._feeder.join()
            self._check_end(self._tail)
        self._messages.seek(0)
        n_reads = re.search(rb"processed (\d+) reads", self._messages.read())
        if n_reads and (n_lost := int(n_reads[1]) - self._n_lines // 4) > 0:
            have = n_of(n_lost, "read has", "reads have")
            what = f"{have} the same name as the read before, and samtools fastq leaves out such reads"
            raise InputError(self._path, "", f"{what}: make names unique")
        return 0

    def _start(self) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        reference = getattr(self._options, "reference", None)
        arguments = [*_ARGUMENTS, "-T", getattr(self._options, "tags", "RG")]
        arguments += ["--reference", os.path.abspath(reference)] if reference else []
        is_file = os.path.isfile(self._path)
        streams = {"stdin": NOTHING if is_file else PIPE, "stderr": self._messages}
        arguments.append(os.path.abspath(self._path) if is_file else "-")
        self._child = start(arguments, stdout=PIPE, **streams)
        if not is_file:
            self._feeder = threading.Thread(target=self._feed, args=(self._child.stdin,), daemon=True)
            self._feeder.start()

    def _feed(self, pipe: BinaryIO) -> None:
        """Send the input to samtools, which may end before it."""
        with suppress(OSError, ValueError), pipe:
            while piece := self._raw.read(1 << 20):
                self._tail = (self._tail + piece)[-_MOST_END:]
                pipe.write(piece)

    def close(self) -> None:
        """End samtools."""
        if self._child:
            self._child.kill()
            self._child.wait()
            self._child.stdout.close()
            self._messages.close()
