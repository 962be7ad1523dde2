"""Jobs: what a command is to do, as data; the resources to do it with; run.py runs them.

A job is a frozen dataclass of paths and plain values: jobs can be compared, and pickled for another process.
The command line turns options into jobs; ``run`` runs a whole job, or one part of it for --shard or for a
worker of a cluster.

To add a job, write a module here with a frozen dataclass, a subclass of ``Job``, a module in cli/commands/
that makes it from options, and a case in tests/test_every_job.py.  Fields that only name a path are marked as
places (system.py); the other fields identify a run.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

from ..errors import n_of, shown
from ..input.streams import input_name
from ..machines.places import ALL_GPUS, Device
from ..machines.progress import Progress, RunCounts
from ..output.run import Run
from ..report import JobOutput, Report

if TYPE_CHECKING:
    from ..index.fm_index import AnyIndex
    from ..search.summary import Summary, Wording
    from .identity import Manifest


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


class Cache:
    """What a process keeps in memory between the shards of one ``run`` (a value that identifies it), such as
    an opened index and its copy on a GPU: objects by ``key``, each made once."""

    def __init__(self, run: object = None) -> None:
        self.run, self._making = run, threading.Lock()
        self._shared: dict = {}
        self._idle: defaultdict[Hashable, list] = defaultdict(list)

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the result of the first ``make()`` for a key, for concurrent use by all shards."""
        with self._making:
            if key not in self._shared:
                self._shared[key] = make()
            return self._shared[key]

    @contextmanager
    def reused(self, key: Hashable, make: Callable[[], Any]) -> Iterator[Any]:
        """An object from ``make()``, for one shard at a time; dropped if the shard fails."""
        try:
            thing = self._idle[key].pop()
        except IndexError:
            thing = make()
        yield thing
        self._idle[key].append(thing)


_choosing, _now = threading.Lock(), [Cache()]


def cache_for(run: object) -> Cache:
    """The cache of this process for ``run``, a value that identifies a run; that of another is dropped."""
    with _choosing:
        if _now[0].run != run:
            _now[0] = Cache(run)
        return _now[0]


@dataclass(frozen=True)
class Context:
    """What a job runs with; ``run``: all of the input and the output, or a shard (jobs/shard.py)."""

    resources: Resources
    progress: Progress
    cache: Cache
    run: Run = field(default_factory=Run)


class Job:
    """Base of jobs: the work of one command.  ``paths``: the fields that are or contain paths.

    ``opened`` and ``prepared`` are the results of ``open`` and ``prepare``.
    """

    name: ClassVar[str]
    paths: ClassVar[tuple[str, ...]] = ("index", "inputs")
    inputs: tuple[str, ...]  # files that are split into shards, and whose contents identify a run
    index_paths: tuple[str, ...] = ()  # the indexes that are searched
    skip: int = 0  # the value of --skip
    output: JobOutput

    def absolute(self) -> Self:
        """Return the job with absolute paths."""
        paths = {name: absolute(getattr(self, name)) for name in self.paths if hasattr(self, name)}
        return replace(self, **paths)  # type: ignore[type-var]

    def why_alone(self) -> str:
        """Return why the job cannot be run in parts; "" if it can."""
        return ""

    def open(self, context: Context) -> Any:
        """Open what identifies the run: the index."""

    def with_targets(self, context: Context) -> Self:
        """Return the job with the names of targets, if each has a file of reads.  Raises OutputError."""
        return self

    def identity(self, opened: Any) -> dict:
        """Return what all parts of a run have in common (identity.py).  Raises InputError."""
        from .identity import as_json, identity  # only for runs in parts

        options, metas = as_json(self) | self.facts(opened), opened.metas if opened else ()
        return identity(self.name, self.inputs, metas, options, self.output.additional())

    def facts(self, opened: Any) -> dict:
        """Return further facts that identify a run, as JSON types."""
        return {}

    def n_parts(self, opened: Any, context: Context) -> int:
        """Return the number of parts on a cluster, whatever its workers."""
        from .identity import n_of_files  # only for runs in parts

        return n_of_files(self.inputs, context.resources.engine)

    def prepare(self, opened: Any, context: Context) -> Any:
        """Make what does the search, on cores or GPUs; it can be used for several parts in turn."""

    def execute(self, opened: Any, prepared: Any, context: Context) -> Any:
        """Run the job and write its output; return the summary."""
        raise NotImplementedError

    def wording(self, opened: Any) -> "Wording | None":
        """Return the options that the wording of the summary depends on."""
        return None

    def say(self, opened: Any, summary: Any, context: Context) -> None:
        """Print the summary of a run, or of a shard, with time and rate; then restart the clock."""
        progress, wording, (n, things) = context.progress, self.wording(opened), summary.seen()
        is_empty = not getattr(summary, summary.things)
        if is_empty and (why := context.run.why_empty(_called(summary.things, wording))):
            progress.warn(why)
        pace = f"{progress.wall.in_words()}, {progress.wall.rate(n, _called(things, wording))}"
        names = self.inputs if context.run.is_whole else ()
        say_summary(progress, self.name, summary, wording, names, pace, self.skip)
        progress.begin()

    def merge(
        self, opened: Any, folder: Path, shards: "Iterable[Manifest]", progress: Progress
    ) -> "list[Manifest]":
        """Merge the parts in a folder and write the output; return their Manifests in order."""
        from .merge import merge

        output = opened.in_report(self.output) if opened else self.output
        return merge(folder, shards, output, progress.wall)


def absolute(value: Any) -> Any:
    """Return a path, several, or an object that contains some, with absolute paths; None is left."""
    if isinstance(value, tuple):
        return tuple(map(absolute, value))
    return value and (value.absolute() if hasattr(value, "absolute") else os.path.abspath(value))


# The index of a job, and how it is searched.


class Opened(NamedTuple):
    """An opened index, and (path, meta.json) of each index in it."""

    fm_index: "AnyIndex"
    indexes: list

    @property
    def metas(self) -> list[dict]:
        """meta.json of each."""
        return [meta for _, meta in self.indexes]

    def in_report(self, output: Any) -> Any:
        """Return a JobOutput, with these indexes added to its report if it has one."""
        if not output.report:
            return output
        from ..index.disk import digest_of  # only for jobs with an index

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

    def open(self, context: Context, with_text: bool = False, remedy: str = RENAME) -> Opened:
        """Open the index.  Raises UnsupportedError if contigs of several indexes share a name.

        ``remedy``: the end of that error; "" if no names are written.
        """
        from ..index.fm_index import join, load, refuse_same_names

        def load_all() -> Opened:
            arguments = self.layout, self.method, context.resources.threads, self.max_memory, self.verify
            opened = [load(path, *arguments, with_text=with_text) for path in self.paths]
            whole: AnyIndex = opened[0]
            if opened[1:]:
                whole = joined = join(opened)
                if remedy:
                    refuse_same_names(joined, remedy)
            return Opened(whole, [(each.path, each.meta) for each in opened])

        with context.progress.wall.spending("opening"):
            return context.cache.shared("index", load_all)


class IndexedJob(Job):
    """Base of jobs that search an ``index``."""

    index: IndexChoice

    @property
    def index_paths(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(map(str, self.index.paths))

    def open(self, context: Context) -> Opened:
        return self.index.open(context)


# Messages at the end of a run: the same for a whole run, a cluster run and fmx merge.


def say_summary(
    progress: Progress, command: str, summary: RunCounts, wording: "Wording | None", names: Sequence[str],
    pace: str, skip: int,
) -> None:  # fmt: skip
    """Print the summary of a run with its speed (``pace``), then warnings and hints.

    ``names``: the inputs, empty for a shard; ``skip``: the value of --skip.
    """
    if names and command != "count" and not getattr(summary, summary.things):  # samples have warnings
        files = ", ".join(map(input_name, names))
        if command == "pairwise" and not names[1:]:
            progress.warn(f"{files} has fewer than two sequences, so there are no pairs")
        else:
            skipped = f"--skip {skip} leaves no" if skip else "no"
            progress.warn(f"{skipped} {_called(summary.things, wording)} in {files}")
    progress.say(f"{summary.sentence(wording)}; {pace}")
    if wording:
        from ..search.summary import hint, hint_for_patterns

        if advice := (hint if command == "search" else hint_for_patterns)(cast("Summary", summary), wording):
            progress.say(f"hint: {advice}")


def _called(things: str, wording: "Wording | None") -> str:
    """Return what to call the reads, or other items, of a summary."""
    return f"{wording.noun}s" if wording and things == "reads" else things


def say_shards(progress: Progress, shards: "Sequence[Manifest]", pace: str) -> None:
    """Print the summary of all shards of a run, added up from their Manifests."""
    run, options = shards[0].run, shards[0].run["options"]
    total = {name: sum(shard.summary[name] for shard in shards) for name in shards[0].summary}
    summary, wording = summary_of(run["command"], total), None
    if "asked" in options:
        from ..search.summary import Wording

        wording = Wording(**options["asked"])
    names = [name for name, *_ in run["inputs"]]
    pace, skip = f"{n_of(len(shards), 'shard')}, {pace}", options.get("mapping", {}).get("skip", 0)
    say_summary(progress, run["command"], summary, wording, names, pace, skip)


def summary_of(command: str, numbers: dict) -> RunCounts:
    """Return the summary of a command from its numbers."""
    if command == "mem":
        from ..mem.matching import MemSummary

        return MemSummary(**numbers)
    if command == "pairwise":
        from ..align.pipeline import AlignmentSummary

        return AlignmentSummary(**numbers)
    if command == "count":
        from ..guides.pipeline import CountSummary, PairCountSummary

        return (PairCountSummary if "pairs" in numbers else CountSummary)(**numbers)
    if command == "offtargets":
        from ..sites.search import SiteSummary

        return SiteSummary(**numbers)
    if command == "products":
        from ..search.products import ProductSummary

        return ProductSummary(**numbers)
    from ..search.summary import PairSummary, Summary

    return (PairSummary if "pairs" in numbers else Summary)(**numbers)
