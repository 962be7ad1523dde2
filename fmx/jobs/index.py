"""The jobs of fmx index: building an index, and adding to one."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ..compiler import object_cache
from ..errors import IndexFileError, n_of
from ..index.build import add_groups, add_layouts, build_index
from ..index.disk import digest_of, read_any_meta
from ..index.plan import IndexOptions
from ..input.chunks import look_at
from ..system import PLACE
from . import Context, Job


@dataclass(frozen=True)
class IndexJob(Job):
    """Build an index of ``references``, FASTA files, at ``path``."""

    name: ClassVar[str] = "index"
    references: tuple[str, ...] = field(metadata=PLACE)
    path: str = field(metadata=PLACE)
    options: IndexOptions

    def execute(self, prepared: None, context: Context) -> str:
        for path in self.references:
            look_at(path, None)
        object_cache.on_first_compile(context.progress)
        before, resources = _reference_in(self.path), context.resources
        build_index(
            self.references, self.path, self.options, resources.threads, context.progress, resources.place
        )
        if not before:
            return f"wrote {self.path}"
        is_other = before[:1] != _reference_in(self.path)[:1]
        return f"replaced {self.path}{f', {before[1]}' if is_other else ''}"

    def say(self, summary: str, context: Context) -> None:
        context.progress.say(f"{summary}; inspect it with: fmx inspect {shlex.quote(str(self.path))}")


@dataclass(frozen=True)
class AddingJob(Job):
    """Add ``layouts``, the LCP array, or ``groups`` from a table to the index at ``path``."""

    name: ClassVar[str] = "index"
    path: str | Path = field(metadata=PLACE)
    layouts: tuple[str, ...] = ()
    with_lcp: bool = False
    groups: str | None = field(default=None, metadata=PLACE)

    def execute(self, prepared: None, context: Context) -> list:
        added, resources, progress = [], context.resources, context.progress
        object_cache.on_first_compile(progress)
        if self.layouts or self.with_lcp:
            added = add_layouts(
                self.path, list(self.layouts), resources.threads, progress, resources.place, self.with_lcp
            )
        if self.groups:
            added.append(n_of(add_groups(self.path, self.groups, progress), "group"))
        return added

    def say(self, summary: list, context: Context) -> None:
        has = [*self.layouts, *(["the LCP array"] if self.with_lcp else [])]
        added = f": added {', '.join(summary)}" if summary else f" already has {', '.join(has)}"
        context.progress.say(f"{self.path}{added}")


def _reference_in(path: str) -> tuple:
    """Return (digest of the reference of an index, a description of the index); () if there is no index."""
    try:
        meta = read_any_meta(Path(path))
        sizes = f"{n_of(meta['n_contigs'], 'contig')}, {n_of(meta['n_bases'], 'base')}"
        return digest_of(meta, ("contig_",)), f"the index of another reference ({sizes})"
    except (IndexFileError, KeyError):  # build_index refuses to replace what is not an index
        return ()
