"""A shard of a run: part of the inputs, and a folder for its part of the output.

The folder appears complete, with its manifest, or not at all; a complete shard is not run again.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np
import xxhash

from ..errors import InputError, OutputError, cannot_write
from ..input import paths_of, spans
from ..input.read_range import InputRange
from ..input.shards import Shard, ShardPlan
from ..machines.progress import Wall
from ..output.run import PLAIN, Container, RunTable, Sinks, as_fields
from ..output.search_output import Taker
from ..report.facts import as_json
from ..system.files import DraftFolder
from ..system.process import available_cores
from . import T, WorkerCache
from .identity import BODY, FACTS, MANIFEST, Manifest, differing, name_of, read_manifest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance, ReadableBuffer

FRAME = 8  # bytes of the length before each piece, where pieces are kept apart


class ShardRun:
    """Shard (number, count) of a run, written into ``folder``; ``run``: its identity; ``wall``: a Wall.

    ``cache``: shared with other shards of this process, or None; ``is_lasting``: call fsync on the files,
    which shards that are merged at once do not need. ``given``: {option: value} of the command, or None.
    """

    def __init__(
        self,
        folder: str | Path,
        shard: tuple[int, int],
        run: dict,
        wall: Wall,
        cache: WorkerCache | None = None,
        is_lasting: bool = True,
        given: dict | None = None,
    ) -> None:
        self._folder, self._shard, self._run, self.n_shards = Path(folder), Shard(*shard), run, shard[1]
        self._wall, self._cache = wall, cache
        self._is_lasting, self._given = is_lasting, given or {}
        self._place = self._folder / name_of(*self._shard)
        self._plan: ShardPlan | None = None
        self._is_empty = False
        self._summary: dict = {}
        self._tables: dict[str, bytes] = {}
        self._takers: tuple[Taker, ...] = ()
        self._container: Container = PLAIN

    def __str__(self) -> str:
        return f"shard {self._shard} in {self._folder}"

    def beside(self, takers: Sequence[Taker], container: Container = PLAIN) -> Self:
        """This run, which also stores reads for ``takers`` and merges pieces as ``container`` requires."""
        self._takers, self._container = tuple(takers), container
        return self

    def is_done(self) -> bool:
        """Whether the shard is complete, by the sizes of its files.  Raises OutputError if of another run."""
        if not self._place.exists():
            return False
        found = read_manifest(self._place)
        if differs := differing(found, self._run, self._given, ("there", "here")):
            raise OutputError(
                f"{self} is from another run ({differs}): delete {self._place} and run this command again, "
                "or choose another folder"
            )
        files = {self._place / name: size for name, (size, _) in found.files.items()}
        return all(path.is_file() and path.stat().st_size == size for path, size in files.items())

    def why_empty(self, what: str) -> str:
        """Return why the shard has no reads, or no ``what``."""
        why = self._plan and self._plan.whole
        return f"shard {self._shard} has no {what}: {why or 'the inputs are empty or too short to be split'}"

    def plan(self, inputs: InputRange) -> Generator[Any, None, None]:
        """Return the spans of the shard; sequences in memory belong to it alone: all their spans."""
        if all(isinstance(path, bytes) for path in inputs.files):
            return spans.plan(paths_of(inputs.files), inputs.size)
        return self.cut(inputs).spans()

    def cut(self, inputs: InputRange) -> ShardPlan:
        """Return the plan that cuts the files for the shard."""
        n_counting = available_cores() if self._cache else inputs.n_threads  # others of the worker wait
        self._plan = ShardPlan(self._shard, inputs, n_counting, self.shared)
        return self._plan

    def share_of(self, n: int) -> tuple[int, int]:
        """Return (start, stop) of the shard among n items that every shard knows."""
        start, stop = self._shard.of(n)
        self._is_empty = start == stop
        return start, stop

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return the result of ``make()``, shared by all shards of the run in this process."""
        return self._cache.shared(key, make) if self._cache else make()

    @contextmanager
    def opened(self, head: bytes, end: bytes = b"") -> Iterator[Any]:
        """Open the shard's folder; yield a Sink for its part of the output, between ``head`` and ``end``."""
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
                        yield Sinks(_Framed(body) if self._container.is_framed else body, others)
                    except InputError as error:
                        found = self._plan.renumbered(error) if self._plan else error
                        if found is error:  # an error that is its own cause has no end
                            raise
                        raise found from error
                self._write(draft.path, bodies, (head, end))
                draft.commit(self._is_lasting)

    def note(
        self,
        summary: "DataclassInstance | None",
        tables: Sequence[RunTable] = (),
        facts: Callable[[], dict] | None = None,
    ) -> None:
        """Store the summary, tables and facts of the shard while it is open."""
        seen = asdict(summary) if summary else {}
        self._summary = {name: int(n) for name, n in seen.items() if isinstance(n, int | np.integer)}
        self._tables = {table.name: table.part() for table in tables}
        if facts:
            self._tables[FACTS] = as_json(facts())

    def _write(self, folder: Path, bodies: "dict[str, _Body]", around: tuple[bytes, bytes]) -> None:
        plan, files = self._plan, {name: body.facts() for name, body in bodies.items()}
        for name, table in self._tables.items():
            (folder / name).write_bytes(table)
            files[name] = [len(table), xxhash.xxh3_64_hexdigest(table)]
        found = Manifest(
            self._run, *self._shard,
            begin=list(plan.begin) if plan and plan.begin else None,
            end=list(plan.end) if plan and plan.end else None,
            is_empty=plan.is_empty if plan else self._is_empty,
            head=around[0], tail=around[1], container=as_fields(self._container), files=files,
            seconds=round(self._wall.over(), 3), summary=self._summary,
            given=self._given,
        )  # fmt: skip
        (folder / MANIFEST).write_text(found.to_json())


class _Body:
    """A file that counts the bytes written to it and computes their checksum."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._n_bytes, self._digest = file, 0, xxhash.xxh3_64()

    def write(self, piece: "ReadableBuffer") -> None:
        self._file.write(piece)
        self._digest.update(piece)
        self._n_bytes += memoryview(piece).nbytes

    def facts(self) -> list:
        """Return [bytes, xxh3] for the manifest."""
        return [self._n_bytes, self._digest.hexdigest()]


class _Framed:
    """A _Body that writes the length of each piece before it, so that pieces can be separated again."""

    def __init__(self, body: _Body) -> None:
        self._body = body

    def write(self, piece: "ReadableBuffer") -> None:
        self._body.write(memoryview(piece).nbytes.to_bytes(FRAME, "little"))
        self._body.write(piece)


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(folder, error) from error
