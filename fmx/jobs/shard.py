"""A shard of a run: a range of the inputs, and a folder for its outputs.

The folder appears complete, with its manifest, or not at all; a complete shard is not run again.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from ..errors import InputError, OutputError, cannot_write
from ..input import paths_of, spans
from ..input.read_range import InputRange
from ..input.shards import Shard, ShardPlan
from ..machines.progress import Wall
from ..output.run import PLAIN, Container, Run, as_fields
from ..output.search_output import Taker
from ..report.facts import JobOutput
from ..system.files import DraftFolder
from ..system.process import available_cores
from . import Cache
from .identity import MANIFEST, OUTPUT, REPORT, TABLES, Manifest, checksum, differing, name_of, read_manifest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class ShardOutput(NamedTuple):
    """The files of a JobOutput in the folder of a shard."""

    path: str
    tables: dict[str, str]
    reads: dict[str, Taker]
    reports: tuple[str, ...]

    def takers(self) -> dict[str, Taker]:
        """Return the files of reads."""
        return self.reads

    @classmethod
    def of(cls, output: JobOutput, folder: Path) -> "ShardOutput":
        """Return the files in a folder."""
        tables = {option: str(folder / TABLES[option]) for option in output.tables}
        reads = {str(folder / taker.name): taker for taker in output.takers().values()}
        return cls(str(folder / OUTPUT), tables, reads, (str(folder / REPORT),) if output.report else ())


class ShardRun(Run):
    """Shard (number, count) of a run, written into ``folder``; ``run``: its identity; ``wall``: a Wall.

    ``cache``: shared with other shards of this process, or None; ``is_lasting``: call fsync on the files,
    which shards that are merged at once do not need. ``options``: {option: value} of the command, or None.
    """

    is_whole = False

    def __init__(
        self, folder: str | Path, shard: tuple[int, int], run: dict, wall: Wall,
        cache: Cache | None = None, is_lasting: bool = True, options: dict | None = None,
    ) -> None:  # fmt: skip
        self._folder, self._shard, self._run, self.n_shards = Path(folder), Shard(*shard), run, shard[1]
        self._wall, self._cache, self._is_lasting, self._options = wall, cache, is_lasting, options or {}
        self._place = self._folder / name_of(*self._shard)
        self._plan: ShardPlan | None = None
        self._is_empty = False
        self._summary: dict = {}
        self._sums: dict = {}

    def __str__(self) -> str:
        return f"shard {self._shard} in {self._folder}"

    def is_done(self) -> bool:
        """Whether the shard is complete, by the sizes of its files.  Raises OutputError if of another run."""
        if not self._place.exists():
            return False
        manifest = read_manifest(self._place)
        if differs := differing(manifest, self._run, self._options, ("there", "here")):
            raise OutputError(
                f"{self} is from another run ({differs}): delete {self._place} and run this command again, "
                "or choose another folder"
            )
        files = {self._place / name: size for name, (size, _) in manifest.files.items()}
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

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the result of ``make()``, shared by all shards of the run in this process."""
        return self._cache.shared(key, make) if self._cache else make()

    def _open(self, path: str) -> BinaryIO:
        return open(path, "xb")  # in a draft already

    @contextmanager
    def opened(
        self,
        output: Any,
        head: bytes = b"",
        end: bytes = b"",
        container: Container = PLAIN,
        n_threads: int = 1,
    ) -> Iterator["ShardRun"]:
        """Open the files of the shard, the main one as ``container.part``."""
        with _named(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            with DraftFolder(self._place) as draft:
                files = ShardOutput.of(output, draft.path)
                with super().opened(files, head, end, container.part, n_threads):
                    try:
                        yield self
                    except InputError as error:
                        renumbered = self._plan.renumbered(error) if self._plan else error
                        if renumbered is error:  # an error that is its own cause has no end
                            raise
                        raise renumbered from error
                plan = self._plan
                manifest = Manifest(
                    self._run, *self._shard,
                    begin=list(plan.begin) if plan and plan.begin else None,
                    end=list(plan.end) if plan and plan.end else None,
                    is_empty=plan.is_empty if plan else self._is_empty,
                    around=(len(head), len(end)), container=as_fields(container),
                    files={path.name: checksum(path) for path in draft.path.iterdir()},
                    seconds=round(self._wall.over(), 3), summary=self._summary, sums=self._sums,
                    options=self._options,
                )  # fmt: skip
                (draft.path / MANIFEST).write_text(manifest.to_json())
                draft.commit(self._is_lasting)

    def note(
        self,
        summary: "DataclassInstance | None",
        tables: Mapping[str, bytes] | None = None,
        facts: Callable[[], dict] | None = None,
        sums: dict | None = None,
    ) -> None:
        super().note(summary, tables, facts)
        numbers = asdict(summary) if summary else {}
        self._summary = {name: int(n) for name, n in numbers.items() if isinstance(n, int | np.integer)}
        self._sums = sums or {}


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Name the folder of the shards in errors of writing, not the draft in it."""
    try:
        yield
    except (OSError, OutputError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise
        raise cannot_write(folder, cause) from cause
