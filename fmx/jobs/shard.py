"""A shard of a command: some spans of its inputs, and a folder for its part of the result.

The folder appears whole, with its manifest, or not at all; one that is there is not done again.
"""

import json
import os
from collections.abc import Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import xxhash

from .._version import __version__
from ..errors import InputError, OutputError
from ..index.disk.store import digest_of
from ..input.pairs.mates import PairedFiles
from ..input.pairs.pair_shards import PairShardPlan
from ..input.shards import Shard, ShardPlan
from ..input.streams import STANDARD
from ..output.whole import Sinks
from ..report.facts import as_json
from ..system.files import DraftFolder
from .manifest import BODY, COUNTS, FACTS, MANIFEST, Manifest, difference, name_of, read_manifest

# Of cores, and of GPUs: how many before they are made larger; bytes of input of one at least, and at most.
SIZES = (64, 32 << 20, 128 << 20), (16, 256 << 20, 1 << 30)
MOST = 4096  # shards
_ENDS = 1 << 16  # bytes at both ends of an input that tell it from others of its name and size


def identity(command, paths, meta=None, **options) -> dict:
    """What all shards of a run must have in common: JSON's types.

    ``meta`` of the index; ``options``: dataclasses of what was asked for, of which places do not count, and
    whose ``output`` tells what each shard leaves beside its part of it, as {option: how}.  Raises InputError.
    """
    for path in paths:
        if not os.path.isfile(path):
            name = "standard input" if path == STANDARD else path
            raise InputError(name, "", "cannot be cut into shards: name a file that each can open")
    beside: dict = getattr(options.get("output"), "beside", dict)()
    options = {name: asked(value) for name, value in options.items()}
    return {**seen(paths, meta), "command": command, "options": options, **beside}


def seen(paths, meta) -> dict:
    """Of ``identity``, what another machine might see otherwise.  Raises InputError."""
    try:
        inputs = [[os.path.basename(path), os.path.getsize(path), _digest_of_ends(path)] for path in paths]
    except OSError as error:
        raise InputError(error.filename, "", error.strerror or str(error)) from error
    return {"fmx": __version__, "index": meta and digest_of(meta), "inputs": inputs}


def unlike(there: dict, here: dict, index_path: str | None) -> str:
    """What a worker sees otherwise than the client, as of ``seen``, and what to do; "" if nothing."""
    if there["fmx"] != here["fmx"]:
        return (
            f"it runs fmx {there['fmx']}, and the client {here['fmx']}: install the same version everywhere"
        )
    if there["index"] != here["index"]:
        return (
            f"its index {index_path} is of another reference than the client's: copy the client's index "
            "there, or name one that all machines see"
        )
    for (name, its_size, its_ends), (_, size, ends) in zip(there["inputs"], here["inputs"], strict=True):
        if (its_size, its_ends) != (size, ends):
            it_has = f"its {name} has {its_size:,} bytes, and the client's {size:,}"
            it_has = it_has if its_size != size else f"its {name} holds other bytes than the client's"
            return f"{it_has}: copy the client's file there, or name one that all machines see"
    return ""


def _digest_of_ends(path: str) -> str:
    with open(path, "rb") as file:
        digest = xxhash.xxh3_64(file.read(_ENDS))
        file.seek(max(file.tell(), os.path.getsize(path) - _ENDS))
        digest.update(file.read())
    return digest.hexdigest()


def absolute(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths for a process in another folder."""
    return tuple(map(os.path.abspath, paths))


def n_of_files(paths: Iterable[str], engine: str) -> int:
    """How many shards files have: whatever the cluster is, so that a second run goes on with them."""
    several, least, most = SIZES[is_gpu(engine)]
    n_bytes = sum(map(os.path.getsize, paths))
    return max(1, min(n_bytes // min(max(n_bytes // several, least), most), MOST))


def is_gpu(engine: str) -> bool:
    """Are all shards done on GPUs?"""
    return engine not in ("cpu", "auto")


def asked(value: Any) -> Any:
    """What dataclasses ask for, as JSON's types: all but places (system/files.py)."""
    return json.loads(json.dumps(value, default=_own_fields))


def _own_fields(value: Any) -> dict:
    own = [each.name for each in fields(value) if not each.metadata.get("is_place")]
    return {name: getattr(value, name) for name in own}


class ShardRun:
    """The ``shard`` (number, count) of a run, into ``folder``; ``run`` as of ``identity``; ``wall`` a Wall.

    It is brought to disk if it ``is_lasting``: one that is merged at once is not, but what it is merged into.
    """

    def __init__(self, folder, shard, run, wall, is_lasting=True):
        self._folder, self._shard, self._run = Path(folder), Shard(*shard), run
        self._wall = wall
        self._is_lasting = is_lasting
        self._place = self._folder / name_of(*self._shard)
        self._plan: ShardPlan | PairShardPlan | None = None
        self._is_empty = False
        self._summary, self._table, self._facts, self._takers = {}, b"", None, ()

    def __str__(self):
        return f"shard {self._shard} in {self._folder}"

    def beside(self, takers) -> "ShardRun":
        """The same, with reads.Takers of reads as they came."""
        self._takers = tuple(takers)
        return self

    def is_done(self) -> bool:
        """Is it there, its files as long as they were?  Raises OutputError where it is of another run."""
        if not self._place.exists():
            return False
        found = read_manifest(self._place)
        if differs := difference(found.run, self._run):
            raise OutputError(
                f"{self} is of another run ({differs}): delete {self._place}, and give this command again, "
                "or name another folder"
            )
        files = {self._place / name: size for name, (size, _) in found.files.items()}
        return all(path.is_file() and path.stat().st_size == size for path, size in files.items())

    def why_empty(self, what: str) -> str:
        """Why there are no reads, or ``what`` else, in its part of the inputs."""
        why = self._plan and self._plan.whole
        return f"shard {self._shard} has no {what}: {why or 'the inputs are too short to be cut, or empty'}"

    def plan(self, paths, size, n_threads=1, skip=0, n=None):
        """The spans of the shard: of all reads, for it cannot know how many come before its own."""
        assert (skip, n) == (0, None)
        kind = PairShardPlan if isinstance(paths, PairedFiles) else ShardPlan
        self._plan = kind(self._shard, paths, size, n_threads=n_threads)
        return self._plan.spans()

    def first_number(self, path: str) -> int:
        """The number that the spans of a file give the shard's first record; asked for when it is read."""
        return self._plan.first_number(path) if isinstance(self._plan, ShardPlan) else 1

    def chunks_of(self, chunks) -> list:
        """The chunks of pairs of the shard."""
        own = chunks[slice(*self._shard.of(len(chunks)))]
        self._is_empty = not own
        return own

    @contextmanager
    def opened(self, head, end=b""):
        """A binary file for the shard's part of what stands between ``head`` and ``end``."""
        with _named(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            with DraftFolder(self._place) as draft:
                with ExitStack() as stack:
                    names = [BODY, *(taker.name for taker in self._takers)]
                    bodies = {
                        name: _Body(stack.enter_context(open(draft.path / name, "xb"))) for name in names
                    }
                    body, *others = bodies.values()
                    try:
                        yield Sinks(body, others)
                    except InputError as error:
                        found = self._plan.renumbered(error) if self._plan else error
                        if found is error:  # an error that is its own cause has no end
                            raise
                        raise found from error
                self._write(draft.path, bodies, (head, end))
                draft.commit(self._is_lasting)

    def note(self, summary, tables=(), facts=None) -> None:
        """What was seen, while it is open; a shard has no table but that of counts; ``facts()`` or None."""
        seen = asdict(summary) if summary else {}
        self._summary = {name: n for name, n in seen.items() if isinstance(n, int)}
        self._table, self._facts = tables[0] if tables else b"", facts

    def _write(self, folder, bodies, around):
        plan, files = self._plan, {name: body.told() for name, body in bodies.items()}
        tables = {COUNTS: self._table, FACTS: as_json(self._facts()) if self._facts else b""}
        for name, table in tables.items():
            if table:
                (folder / name).write_bytes(table)
                files[name] = [len(table), xxhash.xxh3_64_hexdigest(table)]
        found = Manifest(
            self._run, *self._shard,
            begin=list(plan.begin) if plan and plan.begin else None,
            end=list(plan.end) if plan and plan.end else None,
            is_empty=plan.is_empty if plan else self._is_empty,
            head=around[0], tail=around[1], files=files, seconds=round(self._wall.over(), 3),
            summary=self._summary,
        )  # fmt: skip
        (folder / MANIFEST).write_text(found.to_json())


class _Body:
    """A file whose bytes are counted and summed up as they are written."""

    def __init__(self, file):
        self._file, self._n_bytes, self._digest = file, 0, xxhash.xxh3_64()

    def write(self, piece):
        self._file.write(piece)
        self._digest.update(piece)
        self._n_bytes += memoryview(piece).nbytes

    def told(self) -> list:
        """What a manifest says of it."""
        return [self._n_bytes, self._digest.hexdigest()]


@contextmanager
def _named(folder):
    try:
        yield
    except OSError as error:
        raise OutputError(f"{folder}: cannot write: {error.strerror or error}") from error
