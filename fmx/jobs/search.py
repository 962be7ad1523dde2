"""The job of fmx search and fmx locate: map reads, or list the occurrences of patterns.

reads -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> SAM, BAM ...   (search/mapper.py)
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from .._version import __version__
from ..compiler import object_cache
from ..dna import is_ambiguous
from ..index.reference import Reference, groups_of
from ..input import ALL, InputRange, InputShare, PairedFiles, ReadFiles, paths_of
from ..input.chunks import literal_fasta
from ..machines.places import is_large
from ..machines.progress import Measurement, TimedFile
from ..output import PLAIN, module_of
from ..output.formats import sam
from ..output.run import Run
from ..output.search_output import SearchOutput
from ..report import command_line
from ..search.find import shortest_read
from ..search.mappers import choose_mapper, compile_all, make_mapper, map_spans
from ..search.mapping import Hooks, MapOptions
from ..search.summary import Wording, search_facts
from ..system import PLACE
from . import RENAME, Context, IndexChoice, Job

if TYPE_CHECKING:
    from ..index.fm_index import AnyIndex
    from ..output.hits import BatchWriter
    from ..search.collapse import Collection
    from ..search.summary import Summary


@dataclass(frozen=True)
class ReadInput:
    """Files of reads: single reads or mates 1 (``first``) and mates 2; ``fasta``: reference of CRAM files;
    ``literal``: sequences instead of files."""

    first: tuple[str, ...] = field(default=(), metadata=PLACE)
    second: tuple[str, ...] = field(default=(), metadata=PLACE)
    fasta: str | None = field(default=None, metadata=PLACE)
    literal: tuple[str, ...] = ()
    tags: str = "RG"

    def sources(self, in_pairs: bool) -> ReadFiles:
        """Return what to map: files, PairedFiles, or the literal sequences as FASTA."""
        if self.literal:
            return [literal_fasta(self.literal, self.literal)]
        first: tuple = self.first
        second: tuple = self.second
        if self.fasta or self.tags != "RG":
            from ..input.alignments import AlignmentsPath

            first, second = (
                tuple(AlignmentsPath(path, self.fasta, self.tags) for path in paths)
                for paths in (first, second)
            )
        return PairedFiles(first, second) if in_pairs else first


def make_writer(
    reference: Reference, output: SearchOutput, for_mates: bool = False
) -> "tuple[BatchWriter, bytes]":
    """(writer, bytes before the first record); ``for_mates``: for pairs."""
    header = partial(sam.header, reference, __version__, command_line(), output.groups.lines)
    writer, head = module_of(output.kind).open_hits(reference, output, header)
    writer.prepare(output.mismatches, for_mates)
    writer.reads_files = tuple(output.reads_files.values())
    return writer, head


@dataclass(frozen=True)
class SearchJob(Job):
    """Map reads to an index, or list the occurrences of patterns."""

    name: ClassVar[str] = "search"
    index: IndexChoice = field(metadata=PLACE)
    reads: ReadInput
    mapping: MapOptions = field(default_factory=MapOptions)
    output: SearchOutput = field(default_factory=SearchOutput)

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.reads.first, *self.reads.second)

    def with_targets(self, context: Context) -> "SearchJob":
        reads = self.output.reads
        if not reads.is_by_target:
            return self
        index = self._open(context)
        names = groups_of(index).names if reads.by_group else index.reference.names
        return replace(self, output=replace(self.output, reads=reads.of_targets(names)))

    def _open(self, context: Context) -> "AnyIndex":
        """Open the index; raise UnsupportedError if names of contigs that are written are not unique."""
        near, output = self.mapping.near, self.output
        has_hits = output.kind != "nothing" and not output.matrix  # with the names of contigs
        has_names = has_hits or ("--counts" in output.tables and not output.by_group)
        remedy = RENAME + ", or write only tables, with --counts-by group" * (self.mapping.noun == "read")
        return self.index.open(
            context, near is not None, bool(near and near.iupac), remedy if has_names else ""
        )

    def prepare(self, context: Context) -> "Callable[[Context], Summary]":
        fm_index, output = self._open(context), self.output
        progress, device = context.progress, context.resources.place
        options = self.mapping.on(context.resources.threads)
        if output.matrix:
            from ..output.formats.matrix import chunk_size

            groups_of(fm_index)
            options = replace(options, chunk_size=chunk_size(fm_index.reference, options.chunk_size))
        object_cache.on_first_compile(progress)
        reference, tally, screen, demultiplexer = fm_index.reference, None, None, None
        measurement = Measurement(output.report) if output.report else None
        if output.reads.targets:
            from ..search.counts import Demultiplexer, owners_of

            demultiplexer = Demultiplexer(owners_of(fm_index, output.reads.by_group), output.reads.to_each)
        if output.tables or measurement:
            from ..index.fm_index import join
            from ..search.counts import Screen, Tally, owners_of

            counts, screens = (option in output.tables for option in ("--counts", "--screen"))
            grouped = join([fm_index]) if screens and not reference.groups else fm_index  # one group
            counted, reference = fm_index if counts else grouped, grouped.reference
            tally = Tally(owners_of(counted, output.by_group)) if counts or measurement else None
            screen = Screen(owners_of(grouped, by_group=True)) if screens else None
        options = replace(options, counts_lengths=bool(measurement))
        files = paths_of(self.reads.sources(options.pairing is not None))
        writer, head = make_writer(reference, output, bool(options.pairing and output.path))
        is_much = device.engine == "auto" and options.first is None and is_large(files, context.run.n_shards)
        clock = measurement.clock if measurement else None
        hooks = Hooks(tally, screen, clock, progress.say, demultiplexer)
        make: Callable = make_mapper
        if options.stretch:
            from ..stretches.finder import make_stretch_mapper as make
        mapper = choose_mapper(fm_index, options, device, hooks, writer, is_much, make)
        compile_all(mapper, writer, any_length=shortest_read(fm_index) == 0)
        for why in writer.refusals:
            progress.say(f"BAM is compressed on the CPU: {why}")
        has_codes = not self.reads.literal or any(map(is_ambiguous, self.reads.literal))
        wording = replace(Wording.of(options, reference), has_codes=has_codes)

        def work(context: Context) -> "Summary":
            run, progress, wall = context.run, context.progress, context.progress.wall
            reads = self.reads
            if literal := reads.literal:
                reads = replace(reads, literal=literal[slice(*run.share_of(len(literal)))])
            files = reads.sources(options.pairing is not None)
            for counter in (tally, screen):
                if counter:
                    counter.clear()
            if measurement:
                measurement.begin(wall, [mapper.session] if mapper.session else [])
            make = getattr(module_of(output.kind), "container", None)
            container = make(reference, output) if make else PLAIN
            size, n_threads = mapper.options.chunk_size, mapper.options.n_threads
            with run.opened(output, head, writer.end(), container, options.n_threads) as outputs:
                share = InputShare(paths_of(files) if run.is_whole else ())
                stop = ALL.stop if options.first is None else options.skip + options.first
                inputs = InputRange(files, size, n_threads, range(options.skip, stop), share)
                progress.follow(share)
                if options.collapse:
                    from ..search.collapse import collect

                    def distinct() -> "Collection":  # of all input, as equal reads may be anywhere
                        spans = Run().plan(inputs._replace(n_threads=options.n_threads))
                        return collect(spans, options, progress)

                    collection = context.cache.shared(f"distinct {self.reads}", distinct)
                    source = collection.spans(size, progress, *run.share_of(collection.n))
                else:
                    source = run.plan(inputs)
                sink = TimedFile(outputs, wall, measurement)
                with wall.spending("mapping"):
                    summary = map_spans(mapper, source, writer, sink, progress)
                summary.wording = wording
                wall.turn_to("writing")
                tables, sums, facts = {}, {}, None
                if output.tables:
                    from ..output.formats import tsv  # not needed for records

                    if tally and "--counts" in output.tables:
                        tables["--counts"] = tsv.counts(tally.owners, tally.table(), output.by_group)
                    if screen and (groups := reference.groups):
                        (n_all, what), combinations = summary.seen(), screen.combinations()
                        tables["--screen"] = tsv.screen(combinations, groups.what, what, n_all)
                        rows = [{"groups": list(names), "reads": n} for names, n in combinations.items()]
                        sums = {"combinations": rows, "of": groups.what}
                if measurement:
                    known = search_facts(summary, tally, screen, output.by_group)
                    where = [str(mapper.session or "the CPU")]
                    facts = partial(measurement.facts, where, summary, known)
                outputs.finish(summary, tables, facts, sums)
            return summary

        return work
