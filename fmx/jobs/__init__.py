"""Jobs: what a command is to do, as data; the resources to do it with; run.py runs them.

A job is a frozen dataclass of paths and plain values: jobs can be compared, and pickled for another process.
The command line turns options into jobs; ``run`` runs a whole job, or one part of it for --shard or for a
worker of a cluster.

To add a job, write a module here with a frozen dataclass that implements ``Job`` or ``PartedJob``, a module
in cli/commands/ that makes it from options, and a case in tests/test_every_job.py.  Fields that only name a
path are marked as places (system/files.py); the other fields identify a run.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from ..errors import shown
from ..machines.places import ALL_GPUS, Device
from ..machines.progress import Progress
from ..report.facts import Report

if TYPE_CHECKING:
    from ..index.fm_index import AnyIndex
    from ..output.run import PartRun
    from .identity import Manifest

T = TypeVar("T")
OpenedT = TypeVar("OpenedT")
PreparedT = TypeVar("PreparedT")
SummaryT = TypeVar("SummaryT")
ReportedT = TypeVar("ReportedT", bound="Reported")

# The resources of a job, which never change its result: cores, GPUs, and what a process keeps in memory.


@dataclass(frozen=True)
class Resources:
    """Cores and GPUs: ``engine`` as in Device; ``gpus`` (or ALL_GPUS) devices from number ``device`` on, with
    at most ``gpu_memory`` bytes of each (None: all free memory)."""

    threads: int = 1
    engine: str = "cpu"
    device: int = 0
    gpus: int = 1
    gpu_memory: int | None = None

    @property
    def place(self) -> Device:
        """The Device."""
        return Device(self.engine, self.device, self.gpu_memory, None if self.gpus == ALL_GPUS else self.gpus)


# What a worker keeps in memory between the shards of a run, such as an opened index and its copy on a GPU.
#
# It keeps objects of one run at a time: the first shard of another run replaces them.


class WorkerCache:
    """Objects by ``key``, each made once and shared by the shards of a run."""

    def __init__(self, run: object = None) -> None:
        self.run, self._making = run, threading.Lock()
        self._shared: dict = {}
        self._idle: defaultdict[Hashable, list] = defaultdict(list)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return the result of the first ``make()`` for a key, for concurrent use by all shards."""
        with self._making:
            if key not in self._shared:
                self._shared[key] = make()
            return self._shared[key]

    @contextmanager
    def lent(self, key: Hashable, make: Callable[[], T]) -> Iterator[T]:
        """An object from ``make()``, for one shard at a time; dropped if the shard fails."""
        try:
            thing = self._idle[key].pop()
        except IndexError:
            thing = make()
        yield thing
        self._idle[key].append(thing)


class LocalCache(WorkerCache):
    """The cache of jobs that run one after the other in this process: they share only the index."""

    @contextmanager
    def lent(self, key: Hashable, make: Callable[[], T]) -> Iterator[T]:
        """A new object from ``make()``."""
        yield make()


_choosing, _now = threading.Lock(), [WorkerCache()]


def cache_for(run: object) -> WorkerCache:
    """The cache of this process for ``run``, a value that identifies a run; that of another is dropped."""
    with _choosing:
        if _now[0].run != run:
            _now[0] = WorkerCache(run)
        return _now[0]


# Jobs.


@dataclass(frozen=True)
class JobContext:
    """What a job runs with; ``shard``: the part of the job to do, or None for the whole job."""

    resources: Resources
    progress: Progress
    cache: WorkerCache
    shard: "PartRun | None" = None


class Job(Protocol[OpenedT, PreparedT, SummaryT]):
    """The work of one command; ``opened`` and ``prepared``: the results of ``open`` and ``prepare``."""

    @property
    def name(self) -> str:
        """Name of the command."""

    def absolute(self) -> Self:
        """Return the job with absolute paths."""

    def open(self, context: JobContext) -> OpenedT:
        """Open what identifies the run: the index."""

    def prepare(self, opened: OpenedT, context: JobContext) -> PreparedT:
        """Make what does the search, on cores or GPUs; it can be used for several parts in turn."""

    def execute(self, opened: OpenedT, prepared: PreparedT, context: JobContext) -> SummaryT:
        """Run the job and write its output; return the summary."""

    def say(self, opened: OpenedT, summary: SummaryT, context: JobContext) -> None:
        """Print the summary."""


class JobOutput(Protocol):
    """The output of a job that can be run in parts."""

    @property
    def path(self) -> str | None:
        """Path of the main output."""

    @property
    def kind(self) -> str:
        """Format of the main output."""

    @property
    def places(self) -> tuple[str | None, ...]:
        """All paths that are written."""

    def beside(self) -> dict:
        """Return what each shard stores besides its part of the output, as {option: how}."""


class PartedJob(Job[OpenedT, PreparedT, SummaryT], Protocol):
    """A job that can be run in parts, which are merged."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Input files, whose contents identify a run."""

    @property
    def index_paths(self) -> tuple[str, ...]:
        """The indexes that are searched; empty if none."""

    @property
    def output(self) -> JobOutput:
        """The output."""

    def why_alone(self) -> str:
        """Return why the job cannot be run in parts; "" if it can."""

    def identity(self, opened: OpenedT) -> dict:
        """Return what all parts of a run have in common (identity.py).  Raises InputError."""

    def n_parts(self, opened: OpenedT, context: JobContext) -> int:
        """Return the number of parts on a cluster, whatever its workers."""

    def merge(
        self, opened: OpenedT, folder: Path, shards: "Iterable[Manifest]", progress: Progress
    ) -> "list[Manifest]":
        """Merge the parts in a folder and write the output; return their Manifests in order."""


def absolute(paths: Iterable[str]) -> tuple[str, ...]:
    """Absolute paths."""
    return tuple(map(os.path.abspath, paths))


class FilesJob:
    """Base of jobs whose ``inputs``, files, are split by bytes."""

    inputs: tuple[str, ...]
    index_paths: tuple[str, ...] = ()

    def why_alone(self) -> str:
        return ""

    def n_parts(self, opened: Any, context: JobContext) -> int:
        from .identity import n_of_files  # only for runs in parts

        return n_of_files(self.inputs, context.resources.engine)


# The index of a job, and how it is searched.


class Reported(Protocol):
    """A dataclass of outputs, with a report of the run or None."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def report(self) -> Report | None: ...


class Opened(NamedTuple):
    """An opened index, and (path, meta.json) of each index in it."""

    fm_index: "AnyIndex"
    indexes: list

    @property
    def metas(self) -> list[dict]:
        """meta.json of each."""
        return [meta for _, meta in self.indexes]

    def in_report(self, output: ReportedT) -> ReportedT:
        """Return the output, with these indexes added to its report if it has one."""
        if not output.report:
            return output
        from ..index.disk.store import digest_of  # only for jobs with an index

        references = [
            {"index": shown(str(path)), "digest": digest_of(meta), "contigs": meta["n_contigs"],
             "bases": meta["n_bases"]}
            for path, meta in self.indexes
        ]  # fmt: skip
        about = {**output.report.about, "references": references}
        return replace(output, report=Report(output.report.paths, about))


RENAME = "rebuild one of them with 'fmx index --prefix-names'"  # indexes with contigs of the same name


@dataclass(frozen=True)
class IndexChoice:
    """One index, or several searched as one; the other fields are arguments of load()."""

    paths: tuple[str | Path, ...]
    layout: str | None = None
    method: str = "auto"
    max_memory: int | None = None
    verify: bool = False

    def absolute(self) -> "IndexChoice":
        """Return the choice with absolute paths."""
        return replace(self, paths=tuple(map(os.path.abspath, self.paths)))

    def of_any_length(self) -> "IndexChoice":
        """Return the choice with a method that finds patterns of any length."""
        from ..index.fm_index import ANY_LENGTH

        return replace(self, method=ANY_LENGTH) if self.method == "auto" else self

    def open(self, context: JobContext, with_text: bool = False, remedy: str = RENAME) -> Opened:
        """Open the index.  Raises UnsupportedError if contigs of several indexes share a name.

        ``remedy``: the end of that error; "" if no names are written.
        """
        make = partial(self._load, context.resources.threads, with_text, remedy)
        with context.progress.wall.spending("opening"):
            return context.cache.shared("index", make)

    def _load(self, n_threads: int, with_text: bool, remedy: str) -> Opened:
        from ..index.fm_index import join, load, refuse_same_names

        wants = self.layout, self.method, n_threads, self.max_memory, self.verify
        opened = [load(path, *wants, with_text=with_text) for path in self.paths]
        indexes = [(each.path, each.meta) for each in opened]
        if not opened[1:]:
            return Opened(opened[0], indexes)
        joined = join(opened)
        if remedy:
            refuse_same_names(joined, remedy)
        return Opened(joined, indexes)


class IndexedJob(FilesJob):
    """Base of jobs that search an ``index``."""

    index: IndexChoice

    @property
    def index_paths(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(map(str, self.index.paths))
