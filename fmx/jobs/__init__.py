"""Jobs: what a command is to do, as data; the resources to do it with; how to run a job, or a shard of it.

A job is a frozen dataclass of paths and plain values: jobs can be compared, and pickled for another process.
The command line turns options into jobs.

To add a job, write a module here with a frozen dataclass, a subclass of ``Job``, a module in cli/commands/
that makes it from options, a case in tests/test_every_output.py and, if its shards are not simply joined, a
way in merge.py.  Fields that only name a path are marked as places (system.py); the others identify a run.
"""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..input.streams import input_name
from ..machines.places import CPU, Device
from ..machines.progress import Progress, RunCounts
from ..output.run import Run
from ..report import JobOutput
from ..system import PLACE

if TYPE_CHECKING:
    from ..index.fm_index import AnyIndex


@dataclass(frozen=True)
class Resources:
    """Number of ``threads``, and the ``place`` of work: the CPU or GPUs."""

    threads: int = 1
    place: Device = CPU


class Cache:
    """What a process keeps in memory between the shards of one ``run`` (a value that identifies it), such as
    an opened index and its copy on a GPU: objects by key, each made once.

    ``idle``: results of ``Job.prepare`` that no shard uses now; that of a failed shard does not return."""

    def __init__(self, run: object = None) -> None:
        self.run, self._making = run, threading.Lock()
        self._shared: dict = {}
        self.idle: list = []

    def shared(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the result of the first ``make()`` for a key, for concurrent use by all shards."""
        with self._making:
            if key not in self._shared:
                self._shared[key] = make()
            return self._shared[key]


@dataclass(frozen=True)
class Context:
    """What a job runs with; ``run``: all of the input and the output, or a shard (jobs/shard.py)."""

    resources: Resources
    progress: Progress
    cache: Cache
    run: Run = field(default_factory=Run)


RENAME = "rebuild one of them with 'fmx index --prefix-names'"  # indexes with contigs of the same name


@dataclass(frozen=True)
class IndexChoice:
    """One index, or several searched as one; the other fields are arguments of load()."""

    paths: tuple[str | Path, ...] = field(metadata=PLACE)
    layout: str | None = None
    method: str = "auto"
    max_memory: int | None = None
    verify: bool = False

    def open(
        self, context: Context, with_text: bool = False, of_any_length: bool = False, remedy: str = RENAME
    ) -> "AnyIndex":
        """Open the index; ``of_any_length``: by a method that finds patterns of any length.

        Raises UnsupportedError if contigs of several indexes share a name; ``remedy``: the end of that error;
        "" if no names are written.
        """
        from ..index.fm_index import ANY_LENGTH, join, load, refuse_same_names

        method = ANY_LENGTH if of_any_length and self.method == "auto" else self.method
        arguments = self.layout, method, context.resources.threads, self.max_memory, self.verify

        def load_all() -> "AnyIndex":
            indexes = [load(path, *arguments, with_text=with_text) for path in self.paths]
            if not indexes[1:]:
                return indexes[0]
            joined = join(indexes)
            if remedy:
                refuse_same_names(joined, remedy)
            return joined

        with context.progress.wall.spending("opening"):
            return context.cache.shared("index", load_all)


# For the CPU and GPUs: target number of shards; smallest and largest shard in input bytes.
SIZES = (64, 32 << 20, 128 << 20), (16, 256 << 20, 1 << 30)
MOST = 4096  # shards


def n_of_bytes(n_bytes: int, engine: str) -> int:
    """Return the number of shards for files, independent of the cluster, so that a second run can resume."""
    several, least, most = SIZES[engine not in ("cpu", "auto")]
    return max(1, min(n_bytes // min(max(n_bytes // several, least), most), MOST))


class Job:
    """Base of jobs: the work of one command."""

    name: ClassVar[str]
    inputs: tuple[str, ...]  # files that are split into shards, and whose contents identify a run
    index: IndexChoice | None = None  # what is searched
    output: JobOutput

    @property
    def index_paths(self) -> tuple[str, ...]:
        """The indexes that are searched."""
        return tuple(map(str, self.index.paths)) if self.index else ()

    def facts(self) -> dict:
        """Return facts that identify a run besides the fields, as JSON types."""
        return {}

    def with_targets(self, context: Context) -> Self:
        """Return the job with a file per contig, group or guide if --al has {target}.  Raises OutputError."""
        return self

    def n_parts(self, context: Context) -> int:
        """Return the number of shards on a cluster, whatever its workers."""
        return n_of_bytes(sum(map(os.path.getsize, self.inputs)), context.resources.place.engine)

    def prepare(self, context: Context) -> Callable[[Context], Any]:
        """Open the index, and return the function that does the work, writes it and returns the summary.

        The function takes a Context of the same resources, and can do several shards in turn.
        """
        raise NotImplementedError


def run(
    job: Job,
    resources: Resources | None = None,
    progress: Progress | None = None,
    shard: Any = None,
    cache: Cache | None = None,
) -> Any:
    """Run a job, or the ``shard`` of it, a ShardRun; return the summary, None if it was complete before.

    By default on one core, without messages; ``cache``: keeps objects from one shard to the next.
    Raises FmxError.
    """
    context = Context(resources or Resources(), progress or Progress(True), cache or Cache(), shard or Run())
    if shard and not shard.begin(job, context):
        context.progress.say(f"{shard} is done already; nothing to do")
        return None
    try:
        work = context.cache.idle.pop()
    except IndexError:
        work = job.prepare(context)
    summary = work(context)
    context.cache.idle.append(work)
    wall = context.progress.wall
    pace, where = f"{wall.in_words()}, {wall.rate(*summary.seen())}", context.run.where
    say_summary(context.progress, summary, pace, where or files_of(job.name, job.inputs))
    return summary


# Messages at the end of a run: the same for a whole run, a cluster run and fmx merge.


def say_summary(progress: Progress, summary: RunCounts, pace: str, where: str) -> None:
    """Print a warning if nothing was read from ``where``, unless that is "", the summary of a run with its
    speed (``pace``), and a hint."""
    n, things = summary.seen(summary.things)
    if where and not n:
        progress.warn(f"no {things} to process in {where}")
    progress.say(f"{summary.sentence()}; {pace}")
    if hint := summary.hint():
        progress.say(f"hint: {hint}")


def files_of(command: str, names: Sequence[str]) -> str:
    """Return the inputs of a run in words; "" for fmx count, which warns of each sample."""
    return "" if command == "count" else ", ".join(map(input_name, names))
