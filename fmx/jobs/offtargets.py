"""The job of fmx offtargets: sites of guides in a genome."""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from ..compiler import object_cache
from ..guides.library import read_library
from ..index.disk import read_meta
from ..machines.progress import Progress, Wall
from ..output.run import Run
from ..sites import search as sites
from ..sites.search import SiteOptions, SiteOutput, SiteSearch, SiteSummary
from ..system import PLACE
from . import Context, Job, Opened
from .identity import OUTPUT, n_of_bytes

if TYPE_CHECKING:
    from ..index.fm_index import AnyIndex
    from .identity import Manifest


@dataclass(frozen=True)
class SitesJob(Job):
    """List the sites of the guides of ``library``, with ``columns``, in ``genome``: FASTA, or an index."""

    name: ClassVar[str] = "offtargets"
    paths: ClassVar[tuple[str, ...]] = ("library", "genome")
    library: str = field(metadata=PLACE)
    genome: str = field(metadata=PLACE)
    columns: tuple
    search: SiteOptions
    output: SiteOutput

    @property
    def index_paths(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.genome,) if os.path.isdir(self.genome) else ()

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.library,) if self.index_paths else (self.library, self.genome)

    def open(self, context: Context) -> Opened | None:
        """Read meta.json of an index."""
        indexes = [(path, read_meta(path)) for path in self.index_paths]
        return Opened(cast("AnyIndex", None), indexes) if indexes else None

    def n_parts(self, opened: Opened | None, context: Context) -> int:
        return n_of_bytes(opened.metas[0]["n_text"] if opened else os.path.getsize(self.genome), "cpu")

    def prepare(self, opened: Opened | None, context: Context) -> SiteSearch:
        progress, cache, n_threads = context.progress, context.cache, context.resources.threads
        object_cache.on_first_compile(progress)
        library = sites.checked(read_library(self.library, self.columns, progress.say))
        genome = cache.shared("genome", partial(sites.read_genome, self.genome, n_threads, progress))
        return SiteSearch(genome, library, replace(self.search, n_threads=n_threads))

    def execute(self, opened: Opened | None, prepared: SiteSearch, context: Context) -> SiteSummary:
        output = opened.in_report(self.output) if opened else self.output
        return sites.find(prepared, output, context.run, context.progress)

    def merge(
        self, opened: Opened | None, folder: Path, shards: "Iterable[Manifest]", progress: Progress
    ) -> list:
        output = opened.in_report(self.output) if opened else self.output
        return merge_sites(output, progress, folder, shards, progress.wall)


def merge_sites(
    output: SiteOutput, progress: Progress, folder: str | Path, shards: "Iterable[Manifest]",
    wall: Wall | None = None,
) -> list:  # fmt: skip
    """Merge the sites of shards by guide and mismatches, and write the output; return the Manifests.

    ``wall``: the Wall of a cluster run, or None.  Raises OutputError.
    """
    from .merge import bytes_of, facts_of

    merged = list(shards)
    of_shards = np.array([shard.sums["sites"] for shard in merged], np.int64)
    total, most = of_shards.sum(axis=0), merged[0].run["options"]["search"]["most"]
    for shard in merged:
        for _ in bytes_of(folder, shard, OUTPUT):
            pass  # compared with the manifest
    with ExitStack() as stack:
        outputs = stack.enter_context(Run().opened(output, output.head, container=output.container))
        paths = [Path(folder) / shard.name / OUTPUT for shard in merged]
        files = [stack.enter_context(open(path, "rb")) for path in paths]
        for file, shard in zip(files, merged, strict=True):
            file.seek(shard.around[0])
        in_shards = sites.listed(of_shards, most).reshape(len(merged), -1).T.tolist()
        for numbers, n in zip(in_shards, sites.listed(total, most).ravel().tolist(), strict=True):
            lines = [line for file, m in zip(files, numbers, strict=True) for line in islice(file, m)]
            outputs.write(b"".join(lines[:n]))
        names, report = merged[0].sums["guides"], output.report
        tables = {"--summary": sites.summary_table(names, total, most)} if output.summary else {}
        outputs.finish(None, tables, partial(facts_of, folder, merged, report, wall) if report else None)
    sites.say_cap(total, most, progress)
    return merged
