"""The job of fmx offtargets: sites of guides in a genome."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..compiler import object_cache
from ..guides.library import read_library
from ..index.disk import read_meta
from ..sites import search as sites
from ..sites.search import SiteOptions, SiteOutput, SiteSearch, SiteSummary
from ..system import PLACE
from . import Context, Job
from .identity import OUTPUT, n_of_bytes

if TYPE_CHECKING:
    from .identity import Manifest


@dataclass(frozen=True)
class SitesJob(Job):
    """List the sites of the guides of ``library``, with ``columns``, in ``genome``: FASTA, or an index."""

    name: ClassVar[str] = "offtargets"
    library: str = field(metadata=PLACE)
    genome: str = field(metadata=PLACE)
    columns: tuple
    search: SiteOptions
    output: SiteOutput

    @property
    def index_paths(self) -> tuple[str, ...]:
        return (self.genome,) if os.path.isdir(self.genome) else ()

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.library,) if self.index_paths else (self.library, self.genome)

    def n_parts(self, context: Context) -> int:
        is_index = bool(self.index_paths)
        return n_of_bytes(
            read_meta(self.genome)["n_text"] if is_index else os.path.getsize(self.genome), "cpu"
        )

    def prepare(self, context: Context) -> Callable[[Context], SiteSummary]:
        progress, cache, n_threads = context.progress, context.cache, context.resources.threads
        object_cache.on_first_compile(progress)
        library = sites.checked(read_library(self.library, self.columns, progress.say))
        genome = cache.shared("genome", partial(sites.read_genome, self.genome, n_threads, progress))
        search = SiteSearch(genome, library, replace(self.search, n_threads=n_threads))
        return lambda of: sites.find(search, self.output, of.run, of.progress)


def merge_sites(folder: str | Path, shards: "list[Manifest]", write: Callable[[bytes], None]) -> tuple:
    """Write the sites of shards by guide and mismatches.

    Returns (ids of guides, int64[n, 5] sites of each by mismatches, the most that are listed or None).
    """
    of_shards = np.array([shard.sums["sites"] for shard in shards], np.int64)
    total, most = of_shards.sum(axis=0), shards[0].run["options"]["search"]["most"]
    with ExitStack() as stack:
        paths = [Path(folder) / shard.name / OUTPUT for shard in shards]
        files = [stack.enter_context(open(path, "rb")) for path in paths]
        heads = [file.read(shard.around[0]) for file, shard in zip(files, shards, strict=True)]
        write(heads[0])
        in_shards = sites.listed(of_shards, most).reshape(len(shards), -1).T.tolist()
        for numbers, n in zip(in_shards, sites.listed(total, most).ravel().tolist(), strict=True):
            lines = [line for file, m in zip(files, numbers, strict=True) for line in islice(file, m)]
            write(b"".join(lines[:n]))
    return shards[0].sums["guides"], total, most
