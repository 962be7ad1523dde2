"""Writing an index beside its final place, or additions beside its arrays; it appears complete or not at all.

A process that changes an existing index holds a lock on its folder (flock), so that a second one waits.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..errors import IndexFileError, OutputError, cannot_write
from ..machines.jobs import ONE_CORE, Array, Backend, start
from ..machines.progress import Progress
from ..system import DraftFolder, sync_names, sync_tree
from .disk import FORMAT, META, PIECE, checksum, meta_checksum, read_any_meta, read_meta

Add = Callable[..., None]  # ``add`` of an IndexSink, or for the arrays of a part
_DRAFT = re.compile(r"\.(\d+|\w+\.[0-9a-f]{16})\.partial")  # in an index: an addition of a killed run


class IndexWriter:
    """Writes an index beside its final place; ``commit`` moves it there, any other exit removes it.

    ``progress`` gets a message before waiting for another process that changes the index.
    """

    def __init__(self, path: str | os.PathLike, n_threads: int = 1, progress: Progress | None = None) -> None:
        self.path = Path(path)
        self.n_threads, self.progress = n_threads, progress
        self.arrays: dict = {}

    def __enter__(self) -> Self:
        self._opened = ExitStack()
        with self._explained("write here"):
            _refuse_unless_ours(self.path)
            self._draft = self._opened.enter_context(DraftFolder(self.path))
        return self

    def __exit__(self, *failure: Any) -> None:
        self._opened.__exit__(*failure)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(self.path, error, what) from error

    def add(self, name: str, array: Array, backend: Backend = ONE_CORE) -> None:
        """Write one array of a backend, piece by piece; a name with a slash is a file in a folder."""
        digests, dtype, shape = [], array.dtype, tuple(array.shape)
        with self._explained(f"write {name}"):
            file = self._draft.path / f"{name}.npy"
            file.parent.mkdir(exist_ok=True)
            with open(file, "wb") as out:
                header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(out, header)
                for piece in backend.pieces(array, PIECE // dtype.itemsize):
                    digest = start(self.n_threads, checksum, piece)
                    out.write(piece)  # type: ignore[arg-type]
                    digests.append(digest())
        size = array.size * dtype.itemsize
        self.arrays[name] = {"dtype": str(dtype), "shape": list(shape), "bytes": size, "checksums": digests}

    def commit(self, meta: dict) -> None:
        """Write meta.json and move the index to its place, replacing an older one."""
        self._write_meta({"format": FORMAT, **meta, "arrays": dict(sorted(self.arrays.items()))})
        with self._explained("write"), _locked(self.path, self.progress):
            _refuse_unless_ours(self.path)
            self._draft.commit()

    def _write_meta(self, meta: dict) -> None:
        meta["checksum"] = meta_checksum(meta)
        with self._explained(f"write {META}"):
            (self._draft.path / META).write_text(json.dumps(meta, indent=1) + "\n")


class IndexExtender(IndexWriter):
    """Adds arrays to an index under a lock; replacing meta.json, the last step, makes them part of it."""

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            with self._explained("change it"):
                opened.enter_context(_locked(self.path, self.progress))
            self.meta = read_meta(self.path)
            with self._explained("write here"):
                for draft in [entry.path for entry in os.scandir(self.path) if _DRAFT.fullmatch(entry.name)]:
                    shutil.rmtree(draft, ignore_errors=True)
                self._draft = opened.enter_context(DraftFolder(self.path / "added"))
            self._opened = opened.pop_all()
        return self

    def commit(self, meta: dict) -> None:
        """Move the arrays into the index and replace the entries of ``meta`` in meta.json."""
        self._write_meta({**self.meta, **meta, "arrays": {**self.meta["arrays"], **self.arrays}})
        with self._explained("write"):
            sync_tree(self._draft.path)
            files = [self.path / f"{name}.npy" for name in self.arrays]
            for file in files:
                (self._draft.path / file.relative_to(self.path)).replace(file)
            for folder in {file.parent for file in files}:
                sync_names(folder)
            (self._draft.path / META).replace(self.path / META)
            sync_names(self.path)


def _refuse_unless_ours(path: Path) -> None:
    """Raise OutputError unless the place is free, or has an index without files that fmx did not write."""
    if not path.exists():
        return
    try:
        listed = read_any_meta(path).get("arrays") or ()
    except IndexFileError as error:
        other = "remove it or choose another -o" if path.is_dir() else "choose another -o"
        raise OutputError(f"{path} exists and is not a complete fmx index; {other}") from error
    with suppress(FileNotFoundError):  # the current folder was deleted
        if Path.cwd().is_relative_to(path.resolve()):
            raise OutputError(
                f"{path}: cannot replace the current folder; change to another one, or choose another -o"
            )
    for parent, folders, files in os.walk(path):
        inside = Path(parent).relative_to(path)
        folders[:] = [name for name in folders if not _DRAFT.fullmatch(name)]
        strange = [name for name in folders if not re.fullmatch(r"part\d+", name)]
        for name in files:
            file = (inside / name).as_posix()
            array = file.removesuffix(".npy")
            if file != META and (file == array or array not in listed):
                strange.append(name)
        if strange:
            raise OutputError(
                f"{path} holds {inside / strange[0]}, which fmx did not write: move it away, "
                "or choose another -o"
            )


@contextmanager
def _locked(path: Path, progress: Progress | None) -> Iterator[None]:
    """Hold the lock of a folder, if it exists; wait for another holder.  Raises OSError."""
    descriptor = None
    try:
        while os.path.isdir(path):
            descriptor = os.open(path, os.O_RDONLY)
            with suppress(OSError):  # some shared storage has no locks
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if progress:
                        progress.say(f"{path}: waiting for another fmx that changes this index ...")
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    break
            os.close(descriptor)  # it was replaced meanwhile: lock its successor
            descriptor = None
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


# An index that is kept in memory and never written to a file.


class MemoryIndex:
    """An index in memory, with the methods of IndexWriter; fm_index.take opens it.

    After ``commit``, ``meta`` and ``arrays`` are those of an index.
    """

    def __init__(self) -> None:
        self.meta: dict = {}
        self.arrays: dict = {}

    def add(self, name: str, array: Array, backend: Backend = ONE_CORE) -> None:
        """Keep one array of a backend, read-only like arrays that are mapped from disk."""
        host_array = np.ascontiguousarray(backend.to_host(array)).view()
        host_array.flags.writeable = False
        self.arrays[name] = host_array

    def commit(self, meta: dict) -> None:
        """Keep the metadata of the index."""
        entries = {
            name: {"dtype": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
            for name, array in sorted(self.arrays.items())
        }
        self.meta = {"format": FORMAT, **meta, "arrays": entries}


IndexSink = IndexWriter | MemoryIndex


def adders(sink: IndexSink, n_parts: int, progress: Progress) -> Iterator[Add]:
    """Yield ``sink.add`` for each part in turn: in a separate folder if there are several."""
    for number in range(n_parts):
        folder = f"part{number}/" if n_parts > 1 else ""
        if folder:
            progress.say(f"part {number + 1} of {n_parts}")
        yield lambda name, array, backend=ONE_CORE, folder=folder: sink.add(folder + name, array, backend)
