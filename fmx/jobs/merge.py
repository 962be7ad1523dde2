"""Shards -> the result of one run: heads, bodies and ends as they are, tables and summaries added up."""

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import xxhash

from ..errors import OutputError
from ..machines.progress import Wall
from ..machines.threads import available_cores
from ..output.run import RunTable, beside, from_fields
from ..output.search_output import Taker
from ..report.facts import Report, added
from ..report.kinds import rendered
from .identity import BODY, FACTS, Manifest, difference, name_of, read_manifest
from .shard import FRAME

_AT_ONCE = 1 << 20  # bytes


def manifests(folder: str | Path) -> list:
    """The Manifests of all shards of a run, in order.  Raises OutputError unless they are there and fit."""
    folder = Path(folder)
    try:
        names = sorted(path.name for path in folder.iterdir() if re.fullmatch(r"\d+-of-\d+", path.name))
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}") from error
    if not names:
        raise OutputError(f"{folder}: no shards; 'fmx search --shard 1/8 -o {folder} ...' writes one of 8")
    found = [read_manifest(folder / name) for name in names]
    counts = {shard.count for shard in found}
    if len(counts) > 1:
        listed = ", ".join(map(str, sorted(counts)))
        raise OutputError(f"{folder}: shards of several runs, of {listed} shards each: keep those of one")
    for name, shard in zip(names, found, strict=True):
        if name != name_of(shard.number, shard.count):
            own = f"shard {shard.number} of {shard.count}"
            raise OutputError(f"{folder / name} holds {own}: a copy under another name; remove it")
    numbers = {shard.number for shard in found}
    if missing := [str(i) for i in range(1, found[0].count + 1) if i not in numbers]:
        listed = ", ".join(missing[:10]) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
        raise OutputError(f"{folder}: missing of {found[0].count} shards: {listed}")
    return list(_fitting(folder, found))


def in_order(folder: str | Path, done: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield such Manifests, as soon as ``done`` has yielded them and those before them."""

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
    """Raise OutputError unless shards of a ``run`` left what is ``wanted``: {option: whether it is}."""
    for option, is_wanted in wanted.items():
        if is_wanted and not run[option]:
            raise OutputError(
                f"{folder}: its shards were made without {option}: delete it, and do them again with {option}"
            )


def _fitting(folder: str | Path, shards: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield Manifests, in order, as long as each goes on from those before it; else raise OutputError.

    Where one shard ends inside a file, the next must begin: else records are damaged there.
    """
    first: Manifest | None = None
    last: Manifest | None = None
    for shard in shards:
        first = first or shard
        if differs := difference(shard.run, first.run):
            raise OutputError(f"{folder}: shard {shard.number} is of another run than shard 1: {differs}")
        if last and not shard.is_empty and last.end != shard.begin:
            path, at, _ = last.end or shard.begin or ("", 0, 0)
            raise OutputError(
                f"{folder}: shards {last.number} and {shard.number} do not meet in {path}: its records are "
                f"damaged near byte {at}, or the file was changed between them"
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
    """Write what shards in a folder make up together, of which Manifests that fit come in order: all these.

    ``tables``: {type of output.run.RunTable: path}; ``report``: a Report, or None; ``asides``:
    {path: reads.Taker} of files for reads as they came; ``wall``: the Wall of a command that has all shards
    done, or None.  Raises OutputError.
    """
    shards = iter(shards)
    with ExitStack() as last, ExitStack() as stack:
        reports = {path: beside(path, last) for path in (report.paths if report else ())}
        made = {table: beside(path, stack) for table, path in (tables or {}).items()}
        others = [(beside(path, stack), taker) for path, taker in (asides or {}).items()]
        found = [next(shards)]  # once the files above could be opened
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
        if report:  # which tells how long all the others took
            facts = facts_of(folder, found, report, wall)
            for path, file in reports.items():
                file.write(rendered(path, facts))
    return found


def facts_of(folder: str | Path, shards: Iterable[Manifest], report: Report, wall: Wall | None) -> dict:
    """What ``shards`` in a folder have kept for a Report, added up; ``wall`` as of merge.

    Raises OutputError.
    """
    found = [json.loads(_whole(folder, shard, FACTS)) for shard in shards]
    return added(found, report.about, wall.over() if wall else None)


def bodies(folder: str | Path, shards: Iterable[Manifest], found: list) -> Iterator[bytes]:
    """Yield the body of each of the ``shards`` in a folder, as bytes, and note its Manifest in ``found``.

    Raises OutputError.
    """
    for shard in shards:
        found.append(shard)
        yield _whole(folder, shard, BODY)


def _whole(folder: str | Path, shard: Manifest, name: str) -> bytes:
    """A shard's file of this name.  Raises OutputError."""
    read = io.BytesIO()
    _copy(folder, shard, name, read)
    return read.getvalue()


def _copy_pieces(folder: str | Path, shard: Manifest, name: str, sink: Any) -> None:
    """The same, piece by piece, of a file of which pieces are kept apart."""
    pieces = _PieceSplitter(sink)
    _copy(folder, shard, name, pieces)
    if pieces.rest:
        raise _damaged(folder, shard, name)


class _PieceSplitter:
    """Takes bytes as they come, and gives whole pieces to ``sink``; ``rest``: of one that is not whole."""

    def __init__(self, sink: Any) -> None:
        self._sink, self.rest = sink, bytearray()

    def write(self, data: Any) -> None:
        self.rest += data
        while len(self.rest) >= FRAME:
            stop = FRAME + int.from_bytes(self.rest[:FRAME], "little")
            if len(self.rest) < stop:
                break
            self._sink.write(bytes(self.rest[FRAME:stop]))
            del self.rest[:stop]


def _copy(folder: str | Path, shard: Manifest, name: str, sink: Any) -> None:
    """Write a shard's file of this name, if it is what its manifest says.  Raises OutputError."""
    path = Path(folder) / name_of(shard.number, shard.count) / name
    digest, n_bytes, room = xxhash.xxh3_64(), 0, memoryview(bytearray(_AT_ONCE))
    try:
        with open(path, "rb", buffering=0) as file:
            while n := file.readinto(room):
                digest.update(room[:n])
                n_bytes += n
                sink.write(room[:n])
    except FileNotFoundError as error:
        raise OutputError(f"{path}: {error.strerror}; do shard {shard.number} again") from error
    if [n_bytes, digest.hexdigest()] != shard.files.get(name):
        raise _damaged(folder, shard, name)


def _damaged(folder: str | Path, shard: Manifest, name: str) -> OutputError:
    path = Path(folder) / name_of(shard.number, shard.count) / name
    return OutputError(f"{path}: damaged; remove its folder and do shard {shard.number} again")
