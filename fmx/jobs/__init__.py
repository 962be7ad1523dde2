"""What commands ask for, as data, and the one function that does it (run.py), wherever that is.

A job is a frozen dataclass of paths and plain values: it can be compared, and pickled for another process.
The command line makes jobs of its options; ``run`` does all of one, or a part, as --shard and the workers of
a cluster do.

How to add one: a module here with a frozen dataclass that has what ``Job`` says, or ``PartedJob``; a module
in cli/commands/ that makes it of options; a case in tests/test_every_job.py.  Fields that only say where
something lies are places (system/files.py); all others tell one run from another.
"""

from typing import Any, Protocol, Self

from .identity import n_of_files
from .resources import Resources, WorkerCache


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


class FilesJob:
    """What jobs have that are cut into parts by the bytes of their ``inputs``, files."""

    inputs: tuple[str, ...]
    index_paths: tuple[str, ...] = ()

    def why_alone(self) -> str:
        return ""

    def n_parts(self, opened: Any, resources: Resources, progress: Any, cache: WorkerCache) -> int:
        return n_of_files(self.inputs, resources.engine)
