"""Merges shards into the output of one run: copies bodies, adds up tables and summaries."""

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from ..errors import OutputError
from ..index.disk import META
from ..machines.progress import Wall, Writable
from ..output.run import RunTable, beside, from_fields
from ..output.search_output import Taker
from ..report.facts import Report, added
from ..report.page import rendered
from ..system.process import available_cores
from .identity import BODY, FACTS, MANIFEST, Manifest, differing, name_of, read_manifest
from .shard import FRAME

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_AT_ONCE = 1 << 20  # bytes


def manifests(folder: str | Path) -> list:
    """The Manifests of all shards of a run, in order.  Raises OutputError if one is missing or unfit."""
    folder = Path(folder)
    try:
        names = sorted(path.name for path in folder.iterdir() if re.fullmatch(r"\d+-of-\d+", path.name))
    except NotADirectoryError as error:
        raise OutputError(f"{folder}: this is a file, not a folder of shards") from error
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}") from error
    if (folder / MANIFEST).is_file():
        raise OutputError(f"{folder}: this is one shard: name the folder of all shards, {folder.parent}")
    if (folder / META).is_file():
        raise OutputError(f"{folder} is an index, not a folder of shards")
    if not names:
        raise OutputError(
            f"{folder}: contains no shards; 'fmx search --shard 1/8 -o {folder} ...' writes the first of 8"
        )
    found = [read_manifest(folder / name) for name in names]
    counts = {shard.count for shard in found}
    if len(counts) > 1:
        listed, kept = " and ".join(map(str, sorted(counts))), [f"*-of-{n:04}" for n in sorted(counts)]
        raise OutputError(
            f"{folder}: contains shards of runs with {listed} shards: keep only the folders "
            f"{' or '.join(kept)} and delete the others"
        )
    for name, shard in zip(names, found, strict=True):
        if name != name_of(shard.number, shard.count):
            own = f"shard {shard.number} of {shard.count}"
            raise OutputError(f"{folder / name} contains {own}: it is a renamed copy; delete it")
    numbers = {shard.number for shard in found}
    if missing := [str(i) for i in range(1, found[0].count + 1) if i not in numbers]:
        last = f"{len(missing) - 10} more" if missing[10:] else missing[-1]
        listed = " and ".join([*filter(None, [", ".join(missing[:-1][:10])]), last])
        what = "shard {} of {} is" if len(missing) == 1 else "shards {} (of {}) are"
        what = what.format(listed, found[0].count)
        run = "it" if len(missing) == 1 else "them"
        raise OutputError(f"{folder}: {what} missing: run {run}, then merge again")
    return list(_fitting(folder, found))


def in_order(folder: str | Path, done: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield Manifests in order, each as soon as it and all before it are in ``done``."""

    def sorted_out() -> Iterator[Manifest]:
        waiting: dict[int, Manifest] = {}
        number = 1
        for shard in done:
            waiting[shard.number] = shard
            while number in waiting:
                yield waiting.pop(number)
                number += 1

    yield from _fitting(folder, sorted_out())


def check_beside(folder: str | Path, run: dict, wanted: dict) -> None:
    """Raise OutputError if shards of ``run`` lack an output that is wanted; ``wanted``: {option: whether}."""
    for option, is_wanted in wanted.items():
        if is_wanted and not run[option]:
            raise OutputError(
                f"{folder}: the shards were run without {option}: delete the folder and run them again with "
                f"{option}"
            )


def _fitting(folder: str | Path, shards: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield Manifests in order while each continues the one before it; else raise OutputError.

    If one shard ends inside a file, the next must begin there; otherwise records are damaged at that place.
    """
    first: Manifest | None = None
    last: Manifest | None = None
    for shard in shards:
        first = first or shard
        if differs := differing(shard, first.run, first.given, (f"in shard {shard.number}", "in shard 1")):
            raise OutputError(
                f"{folder}: shard {shard.number} is from another run than shard 1 ({differs}): delete "
                f"{Path(folder) / name_of(shard.number, shard.count)} and run shard {shard.number} again"
            )
        if last and not shard.is_empty and last.end != shard.begin:
            path, at, _ = last.end or shard.begin  # type: ignore[misc]  # one is set, as they differ
            raise OutputError(
                f"{folder}: shards {last.number} and {shard.number} do not meet in {path}: records near byte "
                f"{at} are damaged, or the file was changed between the two runs"
            )
        last = last if shard.is_empty else shard
        yield shard


def merge(
    folder: str | Path,
    shards: Iterable[Manifest],
    path: str | None,
    tables: Mapping[type[RunTable], str] | None = None,
    report: Report | None = None,
    asides: Mapping[str, Taker] | None = None,
    wall: Wall | None = None,
) -> list:
    """Merge shards, given as Manifests in order, into the output; return the Manifests.

    ``tables``: {type of output.run.RunTable: path}; ``report``: a Report, or None; ``asides``:
    {path: reads.Taker} of the files for mapped and unmapped reads; ``wall``: the Wall of a cluster run, or
    None.  Raises OutputError.
    """
    shards = iter(shards)
    with ExitStack() as last, ExitStack() as stack:
        reports = {path: beside(path, last) for path in (report.paths if report else ())}
        made = {table: beside(path, stack) for table, path in (tables or {}).items()}
        others = [(beside(path, stack), taker) for path, taker in (asides or {}).items()]
        found = [next(shards)]  # after the files above were opened, as it may wait for a shard to finish
        container = from_fields(found[0].container)
        sink = stack.enter_context(container.opened(path or os.devnull, available_cores()))
        sink.write(found[0].head)
        for shard in chain(found[:], shards):
            copy = _copy_pieces if container.is_framed else _copy
            copy(folder, shard, BODY, sink)
            for other, taker in others:
                _copy(folder, shard, taker.name, other)
            if shard is not found[0]:
                found.append(shard)
        sink.write(found[0].tail)
        for other, taker in others:
            other.write(taker.end)
        for table, file in made.items():
            file.write(table.merged([_whole(folder, shard, table.name) for shard in found]).text())
        stack.close()
        if report:  # last, as it includes the time for all the others
            facts = facts_of(folder, found, report, wall)
            for path, file in reports.items():
                file.write(rendered(path, facts))
    return found


def facts_of(folder: str | Path, shards: Iterable[Manifest], report: Report, wall: Wall | None) -> dict:
    """Return the facts of ``shards`` for a Report, added up; ``wall``: the Wall of a cluster run, or None.

    Raises OutputError.
    """
    found = [json.loads(_whole(folder, shard, FACTS)) for shard in shards]
    return added(found, report.about, wall.over() if wall else None)


def bodies(folder: str | Path, shards: Iterable[Manifest], found: list) -> Iterator[bytes]:
    """Yield the body of each of the ``shards`` as bytes, and append its Manifest to ``found``.

    Raises OutputError.
    """
    for shard in shards:
        found.append(shard)
        yield _whole(folder, shard, BODY)


def _whole(folder: str | Path, shard: Manifest, name: str) -> bytes:
    """Return the contents of a shard's file.  Raises OutputError."""
    read = io.BytesIO()
    _copy(folder, shard, name, read)
    return read.getvalue()


def _copy_pieces(folder: str | Path, shard: Manifest, name: str, sink: Writable) -> None:
    """Copy a shard's file that stores pieces with their lengths, without the lengths.  Raises OutputError."""
    pieces = _PieceSplitter(sink)
    _copy(folder, shard, name, pieces)
    if pieces.rest:
        raise _damaged(folder, shard, name)


class _PieceSplitter:
    """A writer that passes on whole pieces to ``sink``; ``rest``: bytes of an incomplete piece."""

    def __init__(self, sink: Writable) -> None:
        self._sink, self.rest = sink, bytearray()

    def write(self, data: "ReadableBuffer") -> None:
        self.rest += data
        while len(self.rest) >= FRAME:
            stop = FRAME + int.from_bytes(self.rest[:FRAME], "little")
            if len(self.rest) < stop:
                break
            self._sink.write(bytes(self.rest[FRAME:stop]))
            del self.rest[:stop]


def _copy(folder: str | Path, shard: Manifest, name: str, sink: Writable) -> None:
    """Copy a shard's file to ``sink`` and check it against the manifest.  Raises OutputError."""
    path = Path(folder) / name_of(shard.number, shard.count) / name
    digest, n_bytes, room = xxhash.xxh3_64(), 0, memoryview(bytearray(_AT_ONCE))
    try:
        with open(path, "rb", buffering=0) as file:
            while n := file.readinto(room):
                digest.update(room[:n])
                n_bytes += n
                sink.write(room[:n])
    except FileNotFoundError as error:
        raise OutputError(f"{path}: {error.strerror}; run shard {shard.number} again") from error
    if [n_bytes, digest.hexdigest()] != shard.files.get(name):
        raise _damaged(folder, shard, name)


def _damaged(folder: str | Path, shard: Manifest, name: str) -> OutputError:
    path = Path(folder) / name_of(shard.number, shard.count) / name
    return OutputError(f"{path}: damaged; delete its folder and run shard {shard.number} again")
