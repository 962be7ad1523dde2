"""What commands ask for, as data; with what it is done; and the one function that does it (run.py).

A job is a frozen dataclass of paths and plain values: it can be compared, and pickled for another process.
The command line makes jobs of its options; ``run`` does all of one, or a part, as --shard and the workers of
a cluster do.

How to add one: a module here with a frozen dataclass that has what ``Job`` says, or ``PartedJob``; a module
in cli/commands/ that makes it of options; a case in tests/test_every_job.py.  Fields that only say where
something lies are places (system/files.py); all others tell one run from another.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from ..errors import shown
from ..machines.places import ALL_GPUS, Device
from ..report.facts import Report

# With what a job is done, which never changes a byte of its result: cores, GPUs, and what is kept there.


@dataclass(frozen=True)
class Resources:
    """Cores and GPUs: ``engine`` as of a Device; ``gpus``, or ALL_GPUS, from number ``device`` on, of each at
    most ``gpu_memory`` bytes (None: all that is free)."""

    threads: int = 1
    engine: str = "cpu"
    device: int = 0
    gpus: int = 1
    gpu_memory: int | None = None

    @property
    def place(self) -> Device:
        """Where work is done."""
        return Device(self.engine, self.device, self.gpu_memory, None if self.gpus == ALL_GPUS else self.gpus)


# What a worker keeps from one shard of a run to the next, as an opened index, and a GPU's copy of it.
#
# It keeps the things of one run at a time: the first shard of another run has them made anew.


class WorkerCache:
    """Things by their ``key``, each made once, for shards that are done at the same time."""

    def __init__(self, run: Any = None) -> None:
        self.run, self._making = run, threading.Lock()
        self._shared: dict = {}
        self._idle: defaultdict[Any, list] = defaultdict(list)

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """What ``make()`` gave, for all to use at the same time."""
        with self._making:
            if key not in self._shared:
                self._shared[key] = make()
            return self._shared[key]

    @contextmanager
    def lent(self, key: Any, make: Callable[[], Any]) -> Iterator[Any]:
        """What ``make()`` gave, for this shard alone; not used again where the shard fails."""
        try:
            thing = self._idle[key].pop()
        except IndexError:
            thing = make()
        yield thing
        self._idle[key].append(thing)


class LocalCache(WorkerCache):
    """For jobs that are done here, one after the other: they share an index, and nothing else."""

    @contextmanager
    def lent(self, key: Any, make: Callable[[], Any]) -> Iterator[Any]:
        """What ``make()`` gives."""
        yield make()


_choosing, _now = threading.Lock(), [WorkerCache()]


def cache_for(run: Any) -> WorkerCache:
    """What this process keeps for a ``run``, all that tells it apart; that of another one goes then."""
    with _choosing:
        if _now[0].run != run:
            _now[0] = WorkerCache(run)
        return _now[0]


# Jobs.


class Job(Protocol):
    """What a command asks for.

    ``opened`` stands for what ``open`` gave, ``shard`` for a shard.ShardRun, or None for all of the job.
    """

    @property
    def name(self) -> str:
        """Of the command."""

    def absolute(self) -> Self:
        """The same for a process in another folder."""

    def open(self, resources: Resources, progress: Any, cache: WorkerCache) -> Any:
        """What is needed to know one run from another: the index."""

    def prepare(self, opened: Any, resources: Resources, progress: Any, cache: WorkerCache) -> Any:
        """What searches, on cores or GPUs: it serves for several parts, one after the other."""

    def execute(self, opened: Any, prepared: Any, shard: Any, resources: Resources, progress: Any) -> Any:
        """Do it, and write what is asked for: a summary."""

    def say(self, opened: Any, summary: Any, shard: Any, progress: Any) -> None:
        """Say what was seen."""


class PartedJob(Job, Protocol):
    """One that can be done in parts, which are merged."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files that tell one run from another, by their contents."""

    @property
    def index_paths(self) -> tuple[str, ...]:
        """The indexes that it is done with, if it is."""

    @property
    def output(self) -> Any:
        """What is written: its ``path``, or None, its ``kind``; ``places`` of all of it; ``beside()``: what
        shards leave beside their part, as {option: how}."""

    def why_alone(self) -> str:
        """Why it cannot be done in parts; "" if it can."""

    def identity(self, opened: Any) -> dict:
        """What all parts have in common (shard.identity).  Raises InputError."""

    def n_parts(self, opened: Any, resources: Resources, progress: Any, cache: WorkerCache) -> int:
        """In how many parts a cluster does it, whatever workers it has."""

    def merge(self, opened: Any, folder: Any, shards: Any, progress: Any) -> list:
        """Write what the parts in a folder make up together: their Manifests, as they come."""


def absolute(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths for a process in another folder."""
    return tuple(map(os.path.abspath, paths))


class FilesJob:
    """What jobs have that are cut into parts by the bytes of their ``inputs``, files."""

    inputs: tuple[str, ...]
    index_paths: tuple[str, ...] = ()

    def why_alone(self) -> str:
        return ""

    def n_parts(self, opened: Any, resources: Resources, progress: Any, cache: WorkerCache) -> int:
        from .identity import n_of_files  # of no use to a run of its own

        return n_of_files(self.inputs, resources.engine)


# Which index a job is done with, and how it is searched.


class Opened(NamedTuple):
    """An index, and of which it is made: (path, meta.json) of each."""

    fm_index: Any
    indexes: list

    @property
    def metas(self) -> list[dict]:
        """meta.json of each."""
        return [meta for _, meta in self.indexes]

    def in_report(self, output: Any) -> Any:
        """An output whose Report, if it has one, tells of these indexes."""
        if not output.report:
            return output
        from ..index.disk.store import digest_of  # of no use to jobs without an index

        references = [
            {"index": shown(str(path)), "digest": digest_of(meta), "contigs": meta["n_contigs"],
             "bases": meta["n_bases"]}
            for path, meta in self.indexes
        ]  # fmt: skip
        about = {**output.report.about, "references": references}
        return replace(output, report=Report(output.report.paths, about))


@dataclass(frozen=True)
class IndexChoice:
    """One index, or several as one; ``layout``, ``method``, ``max_memory`` and ``verify`` as of load."""

    paths: tuple[str | Path, ...]
    layout: str | None = None
    method: str = "auto"
    max_memory: int | None = None
    verify: bool = False

    def absolute(self) -> "IndexChoice":
        """The same for a process in another folder."""
        return replace(self, paths=tuple(map(os.path.abspath, self.paths)))

    def of_any_length(self) -> "IndexChoice":
        """The same, searched by a method that finds strings of any length."""
        from ..index.fm_index import ANY_LENGTH

        return replace(self, method=ANY_LENGTH) if self.method == "auto" else self

    def open(
        self,
        resources: Resources,
        progress: Any,
        cache: WorkerCache,
        with_text: bool = False,
        has_names: bool = True,
    ) -> Opened:
        """The index.  Raises UnsupportedError where two have a contig of one name, if these are written."""
        make = partial(self._load, resources.threads, with_text, has_names)
        with progress.wall.spending("opening"):
            return cache.shared("index", make)

    def _load(self, n_threads: int, with_text: bool, has_names: bool) -> Opened:
        from ..index.fm_index import join, load, refuse_same_names

        wants = self.layout, self.method, n_threads, self.max_memory, self.verify
        opened = [load(path, *wants, with_text=with_text) for path in self.paths]
        indexes = [(each.path, each.meta) for each in opened]
        if not opened[1:]:
            return Opened(opened[0], indexes)
        joined = join(opened)
        if has_names:
            refuse_same_names(joined)
        return Opened(joined, indexes)


class IndexedJob(FilesJob):
    """The same of jobs with an ``index``."""

    index: IndexChoice

    @property
    def index_paths(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(map(str, self.index.paths))
