"""Shards -> the result of one run: heads, bodies and ends as they are, tables and summaries added up."""

import io
import json
import re
from contextlib import ExitStack
from pathlib import Path

import xxhash

from ..errors import OutputError
from ..input.streams import whole_output
from ..report.facts import added, rendered
from .manifest import BODY, COUNTS, FACTS, Manifest, difference, name_of, read_manifest

_AT_ONCE = 1 << 20  # bytes


def manifests(folder) -> list:
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


def in_order(folder, done):
    """Yield such Manifests, as soon as ``done`` has yielded them and those before them."""

    def sorted_out():
        waiting, number = {}, 1
        for shard in done:
            waiting[shard.number] = shard
            while number in waiting:
                yield waiting.pop(number)
                number += 1

    yield from _fitting(folder, sorted_out())


def check_beside(folder, run: dict, wanted: dict) -> None:
    """Raise OutputError unless shards of a ``run`` left what is ``wanted``: {option: whether it is}."""
    for option, is_wanted in wanted.items():
        if is_wanted and not run[option]:
            raise OutputError(
                f"{folder}: its shards were made without {option}: delete it, and do them again with {option}"
            )


def _fitting(folder, shards):
    """Yield Manifests, in order, as long as each goes on from those before it; else raise OutputError.

    Where one shard ends inside a file, the next must begin: else records are damaged there.
    """
    first = last = None
    for shard in shards:
        first = first or shard
        if differs := difference(shard.run, first.run):
            raise OutputError(f"{folder}: shard {shard.number} is of another run than shard 1: {differs}")
        if last and not shard.is_empty and last.end != shard.begin:
            path, at, _ = last.end or shard.begin
            raise OutputError(
                f"{folder}: shards {last.number} and {shard.number} do not meet in {path}: its records are "
                f"damaged near byte {at}, or the file was changed between them"
            )
        last = last if shard.is_empty else shard
        yield shard


def merge(folder, shards, path, counts=None, report=None, asides=None, wall=None) -> list:
    """Write what shards in a folder make up together, of which Manifests that fit come in order: all these.

    ``counts``: a file for the table of reads and hits per contig; ``report``: a Report, or None; ``asides``:
    {path: reads.Taker} of files for reads as they came; ``wall``: the Wall of a command that has all shards
    done, or None.  Raises OutputError.
    """
    found: list = []
    with ExitStack() as last, ExitStack() as stack:
        reports = {path: last.enter_context(whole_output(path)) for path in (report.paths if report else ())}
        sink = stack.enter_context(whole_output(path))
        table = stack.enter_context(whole_output(counts)) if counts else None
        others = [(stack.enter_context(whole_output(path)), taker) for path, taker in (asides or {}).items()]
        for shard in shards:
            if not found:
                sink.write(shard.head)
            _copy(folder, shard, BODY, sink)
            for other, taker in others:
                _copy(folder, shard, taker.name, other)
            found.append(shard)
        sink.write(found[0].tail)
        for other, taker in others:
            other.write(taker.end)
        if table:
            table.write(_added([_whole(folder, shard, COUNTS) for shard in found]))
        stack.close()
        if report:  # which tells how long all the others took
            seconds = wall.over() if wall else None
            facts = added(
                [json.loads(_whole(folder, shard, FACTS)) for shard in found], report.about, seconds
            )
            for path, file in reports.items():
                file.write(rendered(path, facts))
    return found


def bodies(folder, shards, found):
    """Yield the body of each of the ``shards`` in a folder, as bytes, and note its Manifest in ``found``.

    Raises OutputError.
    """
    for shard in shards:
        found.append(shard)
        yield _whole(folder, shard, BODY)


def _whole(folder, shard: Manifest, name: str) -> bytes:
    """A shard's file of this name.  Raises OutputError."""
    held = io.BytesIO()
    _copy(folder, shard, name, held)
    return held.getvalue()


def _copy(folder, shard: Manifest, name, sink):
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
        raise OutputError(f"{path}: damaged; remove its folder and do shard {shard.number} again")


def _added(tables) -> bytes:
    """Tables of the same rows, a line of names first: the numbers from the third column on are added up."""
    tables = [[line.split(b"\t") for line in table.splitlines()] for table in tables]
    lines = [b"\t".join(tables[0][0])]
    for rows in zip(*(table[1:] for table in tables), strict=True):
        numbers = zip(*(row[2:] for row in rows), strict=True)
        lines.append(b"\t".join([*rows[0][:2], *map(_sum, numbers)]))
    return b"".join(line + b"\n" for line in lines)


def _sum(numbers) -> bytes:
    """Of whole numbers, or of numbers with as many decimals each."""
    from decimal import Decimal  # 5 ms, of which a search needs none

    return str(sum(Decimal(number.decode()) for number in numbers)).encode()
