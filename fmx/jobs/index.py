"""The jobs of fmx index: building an index, and adding to one."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..compiler import object_cache
from ..errors import IndexFileError, n_of
from ..index.building.build import add_groups, add_layouts, build_index
from ..index.disk.store import digest_of, read_any_meta
from ..index.plan import IndexOptions
from ..machines.progress import Progress
from ..system.files import PLACE
from . import Resources, WorkerCache, absolute

if TYPE_CHECKING:
    from ..output.run import PartRun


@dataclass(frozen=True)
class IndexJob:
    """Build an index of ``references``, FASTA files, at ``path``."""

    name: ClassVar[str] = "index"
    references: tuple[str, ...] = field(metadata=PLACE)
    path: str = field(metadata=PLACE)
    options: IndexOptions

    def absolute(self) -> "IndexJob":
        groups = self.options.groups and os.path.abspath(self.options.groups)
        options, path = replace(self.options, groups=groups), os.path.abspath(self.path)
        return IndexJob(absolute(self.references), path, options)

    def open(self, resources: Resources, progress: Progress, cache: WorkerCache) -> None:
        object_cache.on_first_compile(progress)

    def prepare(self, opened: None, resources: Resources, progress: Progress, cache: WorkerCache) -> tuple:
        """(digest of the reference of an index that is replaced, its description); () if there is none."""
        return _reference_in(self.path)

    def execute(
        self,
        opened: None,
        prepared: tuple,
        shard: "PartRun | None",
        resources: Resources,
        progress: Progress,
    ) -> str:
        build_index(self.references, self.path, self.options, resources.threads, progress, resources.place)
        is_other = prepared and prepared[:1] != _reference_in(self.path)[:1]
        return prepared[1] if is_other else ""

    def say(self, opened: None, summary: str, shard: "PartRun | None", progress: Progress) -> None:
        if summary:
            progress.say(f"{self.path}: replaced {summary}")
        progress.say(f"wrote {self.path}; inspect it with 'fmx inspect {self.path}'")


@dataclass(frozen=True)
class AddingJob:
    """Add ``layouts``, the LCP array, or ``groups`` from a table to the index at ``path``."""

    name: ClassVar[str] = "index"
    path: str | Path = field(metadata=PLACE)
    layouts: tuple[str, ...] = ()
    with_lcp: bool = False
    groups: str | None = None

    def absolute(self) -> "AddingJob":
        groups = self.groups and os.path.abspath(self.groups)
        return replace(self, path=os.path.abspath(self.path), groups=groups)

    def open(self, resources: Resources, progress: Progress, cache: WorkerCache) -> None:
        object_cache.on_first_compile(progress)

    def prepare(self, opened: None, resources: Resources, progress: Progress, cache: WorkerCache) -> None:
        """Nothing to prepare."""

    def execute(
        self, opened: None, prepared: None, shard: "PartRun | None", resources: Resources, progress: Progress
    ) -> list:
        added, n_threads, place = [], resources.threads, resources.place
        if self.layouts or self.with_lcp:
            added = add_layouts(self.path, list(self.layouts), n_threads, progress, place, self.with_lcp)
        if self.groups:
            added.append(n_of(add_groups(self.path, self.groups, progress), "group"))
        return added

    def say(self, opened: None, summary: list, shard: "PartRun | None", progress: Progress) -> None:
        path = self.path
        progress.say(f"{path}: added {', '.join(summary)}" if summary else f"{path} already has them")


def _reference_in(path: str) -> tuple:
    """Return (digest of the reference of an index, a description of the index); () if there is no index."""
    try:
        meta = read_any_meta(Path(path))
        sizes = f"{n_of(meta['n_contigs'], 'contig')}, {n_of(meta['n_bases'], 'base')}"
        return digest_of(meta, ("contig_",)), f"the index of another reference ({sizes})"
    except (IndexFileError, KeyError):  # build_index refuses to replace what is not an index
        return ()
