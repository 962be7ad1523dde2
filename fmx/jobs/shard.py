"""A shard of a run: a range of the inputs, and a folder for its outputs.

The folder appears complete, with its manifest, or not at all; a complete shard is not run again.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import ClusterError, InputError, OutputError, cannot_write
from ..input import InputRange, paths_of, spans
from ..input.shards import Shard, ShardPlan
from ..machines.progress import Wall
from ..output import PLAIN, Container, as_fields
from ..output.run import Output, Run
from ..system import DraftFolder, available_cores
from . import Cache, Context, Job
from .identity import (
    MANIFEST,
    OUTPUT,
    REPORT,
    TABLES,
    Manifest,
    checksum,
    differing,
    identity,
    name_of,
    read_manifest,
    unlike,
)


class ShardRun(Run):
    """The run of shard ``number``, from 1, of ``count``, which writes into a folder in ``folder``.

    ``client``: the identity of the run as the client of a cluster sees it, or None; ``options``: {option:
    value} of the command, or None.
    """

    is_whole = False

    def __init__(
        self, number: int, count: int, folder: str, client: dict | None = None, options: dict | None = None
    ) -> None:
        self._shard, self.n_shards, self.client, self._options = Shard(number, count), count, client, options
        self._folder, self._place = Path(folder), Path(folder) / name_of(number, count)
        self._run, self._wall = {}, Wall()  # type: tuple[dict, Wall]
        self._cache = Cache()
        self._plan: ShardPlan | None = None
        self._is_empty = False

    def __str__(self) -> str:
        return f"shard {self._shard} in {self._folder}"

    def begin(self, job: Job, context: Context) -> bool:
        """Begin the shard of a job; return False if it is complete already.

        It is complete by the sizes of its files.  Raises OutputError if it is of another run, ClusterError if
        the inputs differ from the client's.
        """
        self._run, self._wall, self._cache = identity(job), context.progress.wall, context.cache
        if self.client is not None and self._run != self.client:  # on a worker that joined after the check
            differs = unlike(self._run, self.client, job.index_paths) or "its inputs differ from the client's"
            raise ClusterError(f"worker on {os.uname().nodename}: {differs}")
        if not self._place.exists():
            return True
        manifest = read_manifest(self._place)
        if differs := differing(manifest, self._run, self._options or {}, ("there", "here")):
            raise OutputError(
                f"{self} is from another run ({differs}): delete {self._place} and run this command again, "
                "or choose another folder"
            )
        files = {self._place / name: size for name, (size, _) in manifest.files.items()}
        return not all(path.is_file() and path.stat().st_size == size for path, size in files.items())

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
        n_counting = inputs.n_threads if self.client is None else available_cores()  # others of a worker wait
        self._plan = ShardPlan(self._shard, inputs, n_counting, self._cache.shared)
        return self._plan

    def share_of(self, n: int) -> tuple[int, int]:
        """Return (start, stop) of the shard among n items that every shard knows."""
        start, stop = self._shard.of(n)
        self._is_empty = start == stop
        return start, stop

    @contextmanager
    def opened(
        self,
        output: Any,
        head: bytes = b"",
        end: bytes = b"",
        container: Container = PLAIN,
        n_threads: int = 1,
    ) -> Iterator[Output]:
        """Open the files of the shard, the main one as ``container.part``."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with DraftFolder(self._place) as draft:
                files = SimpleNamespace(
                    path=str(draft.path / OUTPUT),
                    tables={option: str(draft.path / TABLES[option]) for option in output.tables},
                    reads_files={str(draft.path / file.name): file for file in output.reads_files.values()},
                    reports=[str(draft.path / REPORT)] if output.report else [],
                )
                with super().opened(files, head, end, container.part, n_threads) as outputs:
                    try:
                        yield outputs
                    except InputError as error:
                        renumbered = self._plan.renumbered(error) if self._plan else error
                        if renumbered is error:  # an error that is its own cause has no end
                            raise
                        raise renumbered from error
                plan, summary = self._plan, outputs.summary
                numbers = as_fields(summary) if summary else {}
                manifest = Manifest(
                    self._run, *self._shard,
                    begin=list(plan.begin) if plan and plan.begin else None,
                    end=list(plan.end) if plan and plan.end else None,
                    is_empty=plan.is_empty if plan else self._is_empty,
                    around=(len(head), len(end)), container=as_fields(container),
                    files={path.name: checksum(path) for path in draft.path.iterdir()},
                    seconds=round(self._wall.over(), 3),
                    summary={
                        name: n if isinstance(n, str) else int(n) for name, n in numbers.items()
                        if isinstance(n, str | int | np.integer)
                    },
                    wording=asdict(summary.wording) if summary and summary.wording else None,
                    sums=outputs.sums, options=self._options or {},
                )  # fmt: skip
                (draft.path / MANIFEST).write_text(manifest.to_json())
                draft.commit(is_lasting=self.client is None)  # shards of a cluster are merged at once
        except (OSError, OutputError) as error:  # in the draft of the folder
            cause = error if isinstance(error, OSError) else error.__cause__
            if not isinstance(cause, OSError):
                raise
            raise cannot_write(self._folder, cause) from cause
