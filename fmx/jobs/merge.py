"""Merges shards into the output of one run: copies their pieces, adds up tables and summaries."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import xxhash

from ..errors import OutputError
from ..index.disk import META
from ..machines.progress import Wall
from ..output import Aside
from ..output.run import PLAIN, Container, Run, added_counts, added_screens, from_fields
from ..report.facts import Report, added
from ..system.process import available_cores
from .identity import MANIFEST, OUTPUT, REPORT, TABLES, Manifest, differing, read_manifest

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
    shards = [read_manifest(folder / name) for name in names]
    counts = {shard.count for shard in shards}
    if len(counts) > 1:
        listed, folders = " and ".join(map(str, sorted(counts))), [f"*-of-{n:04}" for n in sorted(counts)]
        raise OutputError(
            f"{folder}: contains shards of runs with {listed} shards: keep only the folders "
            f"{' or '.join(folders)} and delete the others"
        )
    for name, shard in zip(names, shards, strict=True):
        if name != shard.name:
            description = f"shard {shard.number} of {shard.count}"
            raise OutputError(f"{folder / name} contains {description}: it is a renamed copy; delete it")
    numbers = {shard.number for shard in shards}
    if missing := [str(i) for i in range(1, shards[0].count + 1) if i not in numbers]:
        last = f"{len(missing) - 10} more" if missing[10:] else missing[-1]
        listed = " and ".join([*filter(None, [", ".join(missing[:-1][:10])]), last])
        what = "shard {} of {} is" if len(missing) == 1 else "shards {} (of {}) are"
        what = what.format(listed, shards[0].count)
        run = "it" if len(missing) == 1 else "them"
        raise OutputError(f"{folder}: {what} missing: run {run}, then merge again")
    return list(_fitting(folder, shards))


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


def check_beside(folder: str | Path, run: dict, needed: dict) -> None:
    """Raise OutputError if shards of ``run`` lack an output that is wanted; ``needed``: {option: whether}."""
    for option, is_wanted in needed.items():
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
        if differs := differing(shard, first.run, first.options, (f"in shard {shard.number}", "in shard 1")):
            raise OutputError(
                f"{folder}: shard {shard.number} is from another run than shard 1 ({differs}): delete "
                f"{Path(folder) / shard.name} and run shard {shard.number} again"
            )
        if last and not shard.is_empty and last.end != shard.begin:
            path, at, _ = last.end or shard.begin  # type: ignore[misc]  # one is set, as they differ
            raise OutputError(
                f"{folder}: shards {last.number} and {shard.number} do not meet in {path}: records near byte "
                f"{at} are damaged, or the file was changed between the two runs"
            )
        last = last if shard.is_empty else shard
        yield shard


class _Merged(Container):
    """The container of merged ``shards``, Manifests in order; takes the ``first`` when it is opened."""

    def __init__(self, shards: Iterable[Manifest]) -> None:
        self.shards = iter(shards)

    @contextmanager
    def opened(self, path: str, n_threads: int) -> Iterator[Any]:
        self.first = next(self.shards)
        container = from_fields(self.first.container)
        self.of_shards = container.part
        with container.opened(path, n_threads) as file:
            yield file


def merge(
    folder: str | Path, shards: Iterable[Manifest], output: Any, wall: Wall | None = None
) -> list[Manifest]:
    """Merge shards, given as Manifests in order, into a JobOutput; return the Manifests.

    ``wall``: the Wall of a cluster run, or None.  Raises OutputError.
    """
    container, run, merged, tables = _Merged(shards), Run(), [], {}  # type: tuple[_Merged, Run, list, dict]
    with run.opened(output, container=container, n_threads=available_cores()):
        for shard in chain([container.first], container.shards):
            if container.of_shards == PLAIN:
                skip, n_end = shard.around
                pieces = _bytes_of(folder, shard, OUTPUT, skip if merged else 0, n_end)
            else:
                pieces = container.of_shards.pieces(_checked(folder, shard, OUTPUT))
            for piece in pieces:
                run.write(piece)
            for place, taker in enumerate(output.takers().values()):
                for piece in _bytes_of(folder, shard, taker.name, 0, len(taker.end)):
                    run.write(Aside(piece, place))
            merged.append(shard)
        run.write(_end_of(folder, container.first))
        if "--counts" in output.tables:
            tables["--counts"] = added_counts([_whole(folder, shard, TABLES["--counts"]) for shard in merged])
        if "--screen" in output.tables:
            tables["--screen"] = added_screens([shard.sums["screen"] for shard in merged])
        report = output.report
        run.note(None, tables, partial(facts_of, folder, merged, report, wall) if report else None)
    return merged


def _end_of(folder: str | Path, shard: Manifest) -> bytes:
    """Return the bytes after the last piece of a shard's main output."""
    with open(Path(folder) / shard.name / OUTPUT, "rb") as file:
        file.seek(-shard.around[1], os.SEEK_END)
        return file.read()


def facts_of(folder: str | Path, shards: Iterable[Manifest], report: Report, wall: Wall | None) -> dict:
    """Return the facts of ``shards`` for a Report, added up; ``wall``: the Wall of a cluster run, or None.

    Raises OutputError.
    """
    facts = [json.loads(_whole(folder, shard, REPORT)) for shard in shards]
    return added(facts, report.about, wall.over() if wall else None)


def outputs_of(folder: str | Path, shards: Iterable[Manifest], merged: list) -> Iterator[bytes]:
    """Yield the main output of each of the ``shards``, and append its Manifest to ``merged``.

    Raises OutputError.
    """
    for shard in shards:
        merged.append(shard)
        yield _whole(folder, shard, OUTPUT)


def _whole(folder: str | Path, shard: Manifest, name: str) -> bytes:
    """Return the contents of a shard's file.  Raises OutputError."""
    return b"".join(_bytes_of(folder, shard, name))


def _checked(folder: str | Path, shard: Manifest, name: str) -> str:
    """Return the path of a shard's file, after comparing it with the manifest.  Raises OutputError."""
    for _ in _bytes_of(folder, shard, name):
        pass
    return str(Path(folder) / shard.name / name)


def _bytes_of(
    folder: str | Path, shard: Manifest, name: str, skip: int = 0, n_end: int = 0
) -> Iterator[bytes]:
    """Yield a shard's file from byte ``skip`` on, without the last ``n_end`` bytes, and check all of it.

    Raises OutputError.
    """
    place = Path(folder) / shard.name
    size, expected = shard.files.get(name, (0, ""))
    digest, at = xxhash.xxh3_64(), 0
    try:
        with open(place / name, "rb", buffering=0) as file:
            while data := file.read(_AT_ONCE):
                digest.update(data)
                yield data[max(skip - at, 0) : max(size - n_end - at, 0)]
                at += len(data)
    except FileNotFoundError as error:
        raise OutputError(f"{place / name}: {error.strerror}; run shard {shard.number} again") from error
    if (at, digest.hexdigest()) != (size, expected):
        raise OutputError(f"{place / name}: damaged; delete its folder and run shard {shard.number} again")
