"""A shard of a command: some spans of its inputs, and a folder for its part of the result.

The folder appears whole, with its manifest, or not at all; one that is there is not done again.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import xxhash

from ..errors import InputError, OutputError
from ..input.mates import PairedFiles
from ..input.pair_shards import PairShardPlan
from ..input.shards import Shard, ShardPlan
from ..output.whole import Sinks
from ..report.facts import as_json
from ..system.files import DraftFolder
from .manifest import BODY, COUNTS, FACTS, MANIFEST, Manifest, difference, name_of, read_manifest


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
