"""The job of fmx offtargets: sites of guides in a genome; jobs/merge.py reads ``search.most`` by its name."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from ..compiler import object_cache
from ..guides.library import read_library
from ..index.disk import read_meta
from ..report import JobOutput
from ..sites import search as sites
from ..sites.search import SiteOptions, SiteSummary
from ..system import PLACE
from . import Context, Job, n_of_bytes


@dataclass(frozen=True)
class SitesJob(Job):
    """List where the guides of ``library`` (read by ``columns``) occur in ``genome``, FASTA or an index."""

    name: ClassVar[str] = "offtargets"
    library: str = field(metadata=PLACE)
    genome: str = field(metadata=PLACE)
    columns: tuple
    search: SiteOptions
    output: JobOutput

    @property
    def index_paths(self) -> tuple[str, ...]:
        return (self.genome,) if os.path.isdir(self.genome) else ()

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.library,) if self.index_paths else (self.library, self.genome)

    def n_parts(self, context: Context) -> int:
        n = read_meta(self.genome)["n_text"] if self.index_paths else os.path.getsize(self.genome)
        return n_of_bytes(n, "cpu")

    def prepare(self, context: Context) -> Callable[[Context], SiteSummary]:
        progress, options = context.progress, replace(self.search, n_threads=context.resources.threads)
        object_cache.on_first_compile(progress)
        library = sites.checked(read_library(self.library, self.columns, progress.say))
        read = partial(sites.read_genome, self.genome, options.n_threads, progress)
        genome = context.cache.shared("genome", read)
        return lambda of: sites.find(genome, library, options, self.output, of.run, of.progress)
