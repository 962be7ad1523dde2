"""Which index a job is done with, and how it is searched."""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import shown
from ..index.disk.store import digest_of
from ..index.fm_index import ANY_LENGTH, load
from ..report.facts import Report
from . import FilesJob, Resources, WorkerCache


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
        wants = self.layout, self.method, n_threads, self.max_memory, self.verify
        opened = [load(path, *wants, with_text=with_text) for path in self.paths]
        indexes = [(each.path, each.meta) for each in opened]
        if not opened[1:]:
            return Opened(opened[0], indexes)
        from ..index.fm_index import join, refuse_same_names

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
