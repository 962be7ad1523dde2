"""A shard of a command: some spans of its inputs, and a folder for its part of the result.

The folder appears whole, with its manifest, or not at all; one that is there is not done again.
"""

import hashlib
import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import xxhash

from .._version import __version__
from ..errors import InputError, OutputError
from ..input.mates import PairedFiles
from ..input.pair_shards import PairShardPlan
from ..input.shards import Shard, ShardPlan
from ..input.streams import STANDARD
from ..output.whole import Sinks
from ..report.kinds import as_json
from ..system.drafts import DraftFolder
from .manifest import BODY, COUNTS, FACTS, MANIFEST, Manifest, difference, name_of, read_manifest

_OWN = {  # what changes no byte
    "n_threads", "chunk_size", "path", "shard", "counts", "checkpoint", "stats", "json", "report",
    "counts_lengths", "fasta",
}  # fmt: skip


def identity(command, paths, meta=None, **options) -> dict:
    """What all shards of a run must have in common: JSON's types.

    ``meta`` of the index; ``options``: dataclasses of what was asked for.  Raises InputError.
    """
    for path in paths:
        if not os.path.isfile(path):
            name = "standard input" if path == STANDARD else path
            raise InputError(name, "", "cannot be cut into shards: name a file that each can open")
    options = {name: _plain(value) for name, value in options.items()}
    return {**seen(paths, meta), "command": command, "options": options}


def seen(paths, meta) -> dict:
    """Of ``identity``, what another machine might see otherwise.  Raises InputError."""
    try:
        inputs = [[os.path.basename(path), os.path.getsize(path)] for path in paths]
    except OSError as error:
        raise InputError(error.filename, "", error.strerror or str(error)) from error
    return {"fmx": __version__, "index": meta and _digest_of(meta), "inputs": inputs}


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
    for (name, its_size), (_, size) in zip(there["inputs"], here["inputs"], strict=True):
        if its_size != size:
            return (
                f"its {name} has {its_size:,} bytes, and the client's {size:,}: copy the client's file "
                "there, or name one that all machines see"
            )
    return ""


def _digest_of(meta) -> str:
    """Names a reference: its contigs, their letters and groups, whatever else an index holds."""
    of_contigs = sorted(key for key in meta["arrays"] if key.startswith(("contig_", "group_")))
    said = {key: meta["arrays"][key]["checksums"] for key in of_contigs}
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def _plain(value):
    fields = {key: each for key, each in asdict(value).items() if key not in _OWN}
    return json.loads(json.dumps(fields))


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
        """Is it there, as long as it was?  Raises OutputError where it is of another run."""
        if not self._place.exists():
            return False
        found = read_manifest(self._place)
        if differs := difference(found.run, self._run):
            raise OutputError(f"{self._place} is of another run ({differs}): name another folder")
        body = self._place / BODY
        return body.is_file() and body.stat().st_size == found.n_bytes

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
                    bodies = [_Body(stack.enter_context(open(draft.path / name, "xb"))) for name in names]
                    try:
                        yield Sinks(bodies[0], bodies[1:])
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
        facts = self._facts() if self._facts else None
        plan, (body, *others) = self._plan, bodies
        sides = zip(self._takers, others, strict=True)
        found = Manifest(
            self._run, *self._shard,
            begin=list(plan.begin) if plan and plan.begin else None,
            end=list(plan.end) if plan and plan.end else None,
            is_empty=plan.is_empty if plan else self._is_empty,
            head=around[0], tail=around[1], n_bytes=body.n_bytes, checksum=body.digest.hexdigest(),
            seconds=round(self._wall.over(), 3), summary=self._summary, has_counts=bool(self._table),
            has_facts=bool(facts), asides={x.name: [y.n_bytes, y.digest.hexdigest()] for x, y in sides},
        )  # fmt: skip
        if self._table:
            (folder / COUNTS).write_bytes(self._table)
        if facts:
            (folder / FACTS).write_bytes(as_json(facts))
        (folder / MANIFEST).write_text(found.to_json())


class _Body:
    """A file whose bytes are counted and summed up as they are written."""

    def __init__(self, file):
        self._file, self.n_bytes, self.digest = file, 0, xxhash.xxh3_64()

    def write(self, piece):
        self._file.write(piece)
        self.digest.update(piece)
        self.n_bytes += memoryview(piece).nbytes


@contextmanager
def _named(folder):
    try:
        yield
    except OSError as error:
        raise OutputError(f"{folder}: cannot write: {error.strerror or error}") from error
