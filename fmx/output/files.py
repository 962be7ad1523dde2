"""Output files that appear complete, or are written directly: devices, pipes and standard output.

And which files unchanged reads are written to.
"""

import os
import re
import resource
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..codecs.bgzf import BGZF_END
from ..errors import OutputError, cannot_write, shown
from ..input.streams import STANDARD
from ..system import PLACE, DraftFile, widen

_INDEXES = ".bai", ".csi", ".crai"  # of BAM and CRAM


class OutputFile:
    """An open file, which appears whole at ``path`` with ``commit``; ``file``: the open binary file.

    Devices, pipes and '-' (standard output) are written directly, and so are files ``in_folder``, a draft
    already.  ``stack`` closes the file; a draft without ``commit`` is removed.  ``commit`` also removes the
    index of an older file at ``path``.  Raises OutputError.
    """

    def __init__(self, path: str, stack: ExitStack, in_folder: bool = False) -> None:
        self.path, self.in_folder, self._stack = path, in_folder, stack
        self._drafts: list[DraftFile] = []
        with named_output(path):
            if path == STANDARD:
                self.file: BinaryIO = sys.stdout.buffer
            elif in_folder or _is_special(path):
                descriptor = None if in_folder else _descriptor_of(path)
                place = path if descriptor is None else os.dup(descriptor)
                self.file = open(place, "xb" if in_folder else "wb")  # noqa: SIM115
                stack.callback(self._close)
            else:
                self._drafts.append(stack.enter_context(DraftFile(path)))
                self.file = self._drafts[0].file
        self.is_regular = bool(self._drafts or in_folder)
        if not self.is_regular:
            widen(self.file)

    def _close(self) -> None:
        with suppress(OSError):  # data that a full device did not accept
            self.file.close()

    @property
    def draft(self) -> str | None:
        """Path of the draft; None if the file is a device, a pipe or standard output."""
        return str(self._drafts[0].path) if self._drafts else self.path if self.in_folder else None

    def companion(self, suffix: str) -> str:
        """Return the path of a draft that appears with the file, under its name with a suffix."""
        if self.in_folder:
            return f"{self.path}{suffix}"
        self._drafts.append(self._stack.enter_context(DraftFile(f"{self._drafts[0].final}{suffix}")))
        return str(self._drafts[-1].path)

    def write(self, piece: Any) -> None:
        with named_output(self.path):
            self.file.write(piece)

    def complete(self) -> None:
        """Write all pieces to disk."""
        with named_output(self.path):
            self.file.flush()
            for draft in self._drafts:
                draft.complete()

    def commit(self) -> set[Path]:
        """Rename the complete drafts to their final names; return their folders, to be synced to disk."""
        with named_output(self.path):
            for suffix in _INDEXES if self._drafts else ():
                with suppress(FileNotFoundError):
                    os.unlink(f"{self._drafts[0].final}{suffix}")
            for draft in self._drafts:
                draft.commit()
        return {draft.final.parent for draft in self._drafts}


def _is_special(path: str) -> bool:
    """Whether a path exists and is not a regular file, or names an open descriptor.  Raises OSError."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) or _descriptor_of(path) is not None
    except FileNotFoundError:
        return False


def _descriptor_of(path: str) -> int | None:
    """The open descriptor that a path such as /dev/stdout or /dev/fd/3 names; keeps its append mode."""
    while os.path.islink(path):
        folder = os.path.realpath(os.path.dirname(path))
        if folder == f"/proc/{os.getpid()}/fd":
            return int(os.path.basename(path))
        path = os.path.join(folder, os.readlink(path))
    return None


@contextmanager
def named_output(path: str) -> Iterator[None]:
    """Turn system errors while writing an output into OutputError, except for a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write("standard output" if path == STANDARD else path, error) from error


# Files of unchanged reads: a read has a destination, and a destination is a file, or two for mates.


class ReadsFile(NamedTuple):
    """A file of the unchanged reads with destination ``number``, perhaps compressed.

    ``mate``: of pairs, mates 1 or 2; 0: both in turn.  ``name``: unique in a run; ``option``: in messages.
    """

    number: int
    is_gzip: bool
    mate: int
    name: str
    option: str

    @property
    def end(self) -> bytes:
        """Bytes after the last piece."""
        return BGZF_END if self.is_gzip else b""


def _is_gzip(path: str) -> bool:
    """Return whether an output file of reads is to be compressed, by its name."""
    return path.lower().endswith(".gz")


def _of_mates(path: str | Path) -> tuple:
    """Return the names for mates 1 and mates 2: clean.fq.gz becomes clean_1.fq.gz and clean_2.fq.gz."""
    folder, name = os.path.split(path)
    stem, dot, suffix = name.partition(".")
    return tuple(os.path.join(folder, f"{stem}_{mate}{dot}{suffix}") for mate in (1, 2))


TARGET = "{target}"  # in the name of an output: replaced by the name of a target
_AMBIGUOUS = "ambiguous"  # instead, for reads of several targets
_OTHERS, _SHARDS = 64, 8  # other files that are open; shards at a time in a process


@dataclass(frozen=True)
class ReadsOutput:
    """Paths for unchanged reads with a reported hit (``mapped``) and without, or None; ``has_mates``: mates
    go to two files.

    The first have destination 0, the others 1.  With TARGET in ``mapped``, ``targets`` replace it, each of
    which is a destination: contigs, ``by_group`` groups, or guides; then _AMBIGUOUS, for reads of several
    targets, unless these go ``to_each``.
    """

    mapped: str | None = field(default=None, metadata=PLACE)
    unmapped: str | None = field(default=None, metadata=PLACE)
    has_mates: bool = False
    by_group: bool = False
    to_each: bool = False
    targets: tuple[str, ...] = ()

    @property
    def is_by_target(self) -> bool:
        """Whether each target has a file."""
        return TARGET in (self.mapped or "")

    def of_targets(self, names: Iterable[str]) -> "ReadsOutput":
        """Return the output for targets with these names, made fit for file names.

        Raises OutputError if two become one, or if there are more than files can be open.
        """
        targets: dict[str, str] = {}
        for name in [*names, *([] if self.to_each else [_AMBIGUOUS])]:
            target = re.sub(r"^$|^\.|[/\0-\x1f\x7f]", "_", name)
            if target in targets:
                other = "the reads of several targets" if name == _AMBIGUOUS else shown(name)
                raise OutputError(
                    f"--al {self.mapped}: {shown(targets[target])} and {other} would be written to the same "
                    f"file, with the name {shown(target)}: rename one of them"
                )
            targets[target] = name
        output = replace(self, targets=tuple(targets))
        check_number(len(output.files))
        return output

    @property
    def files(self) -> dict[str, ReadsFile]:
        """The files by path.  Raises OutputError if one has two kinds of reads."""
        files: dict[str, ReadsFile] = {}
        of_targets = [(i, f"al.{i}", target, self.mapped) for i, target in enumerate(self.targets)]
        mapped = of_targets or [(0, "al", "", self.mapped)]
        for number, name, target, path in [*mapped, (len(mapped), "un", "", self.unmapped)]:
            paths = _of_mates(path) if path and self.has_mates else filter(None, [path])
            for mate, each in enumerate(paths, int(self.has_mates)):
                which = ", ".join(filter(None, [target, ("", "first mates", "second mates")[mate]]))
                option = f"--{name[:2]} ({which})" if which else f"--{name[:2]}"
                unique = f"{name}_{mate}" if mate else name
                file = ReadsFile(number, _is_gzip(each), mate, unique, option)
                each = each.replace(TARGET, target) if target else each
                if each in files:
                    raise OutputError(
                        f"--un {each} is a file of --al {self.mapped}, too: choose another name"
                    )
                files[each] = file
        return files


def check_number(n: int) -> None:
    """Let this process have n files of reads open, for several shards.  Raises OutputError if it cannot."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if n * _SHARDS + _OTHERS <= soft or soft == resource.RLIM_INFINITY:
        return
    most = n * _SHARDS + _OTHERS if hard == resource.RLIM_INFINITY else hard
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if n + _OTHERS > soft:
        raise OutputError(
            f"--al: {n:,} files of reads are too many: this process may have {soft:,} files open; use fewer "
            "targets, such as groups of contigs, or raise the limit with 'ulimit -n'"
        )
