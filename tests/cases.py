"""Shared by many tests: contigs and reads as files, an index of them, its hits, and those of naive.py."""

import functools
from typing import NamedTuple

import naive
import workflow

from fmx.index import fm_index as index
from fmx.index import layouts
from fmx.index.reference import find_block
from fmx.input import reads
from fmx.input.chunks import literal_fasta
from fmx.input.spans import read_chunks
from fmx.output import PLAIN
from fmx.output.run import Run
from fmx.output.search_output import SearchOutput
from fmx.search import hits
from fmx.search.find import ReadFinder, part_on_cpu
from fmx.search.mapping import BOTH, MapOptions

ALL_HITS = hits.SelectionPolicy(hits.ALL)


def all_layouts() -> list:
    """The LayoutName of every layout."""
    return [name for family in layouts.REGISTRY for name in layouts.matching(family)]


def fasta(contigs, width=0) -> bytes:
    """Contigs as FASTA bytes, in lines of ``width`` bases (0: one line)."""
    lines = []
    for name, sequence in contigs:
        lines.append(f">{name}")
        step = width or max(len(sequence), 1)
        lines += [sequence[i : i + step] for i in range(0, len(sequence), step)]
    return ("\n".join(lines) + "\n").encode()


def fastq(records) -> bytes:
    """(name, sequence) as FASTQ bytes, with a different quality at each place."""
    return "".join(
        f"@{name}\n{sequence}\n+\n{''.join(chr(33 + i % 94) for i in range(len(sequence)))}\n"
        for name, sequence in records
    ).encode()


def build(
    path, contigs, layout_names=("bvsfm-k2-d96",), sa_rate=1, prefix_length=None, n_threads=1,
    max_memory=None, with_lcp=False,
):  # fmt: skip
    """Build an index of contigs at ``path``; return ``path``."""
    options = workflow.IndexOptions(list(layout_names), sa_rate, prefix_length, max_memory, with_lcp)
    workflow.build_index(fasta(contigs), path, options, n_threads)
    return path


def chunk_of(sequences):
    """Sequences as one Chunk."""
    (chunk,) = read_chunks([literal_fasta(sequences)])
    return chunk


def batch_of(sequences):
    """Sequences as one ReadBatch."""
    return reads.parse(chunk_of(sequences))


def places(fm_index, found, r) -> list:
    """Hits of read r as naive.locate writes them."""
    blocks, listed = fm_index.reference.blocks, []
    for hit in range(found.first[r], found.first[r + 1]):
        position = int(found.position[hit])
        block = find_block(blocks, position)
        place = position - blocks.text_start[block] + blocks.contig_start[block]
        listed.append((int(blocks.contig[block]), int(place), int(found.reverse[hit])))
    return listed


class Answer(NamedTuple):
    """For each read: the sizes of its two intervals, its hits, and its number of occurrences."""

    sizes: list
    hits: list
    total: list


def ask(fm_index, sequences, policy=ALL_HITS, strands=BOTH) -> Answer:
    """Search sequences by the method that the index was opened for."""
    batch = batch_of(sequences)
    finder = ReadFinder([part_on_cpu(fm_index, 0)], MapOptions(policy, strands))
    searched = finder.search(batch)
    sizes = (searched.intervals.hi[0].astype(int) - searched.intervals.lo[0]).reshape(-1, 2)
    found = finder.choose(searched, searched.total, False)
    listed = [places(fm_index, found, r) for r in range(len(sequences))]
    return Answer([tuple(pair) for pair in sizes.tolist()], listed, found.total.tolist())


def expect(contigs, sequences) -> Answer:
    """What ``ask`` must return: found by naive.locate."""
    return _expect(tuple(contigs), tuple(sequences))


@functools.lru_cache(64)
def _expect(contigs, sequences) -> Answer:
    """Cached: tests compare each layout and engine with the same answer."""
    found = [naive.locate(contigs, sequence) for sequence in sequences]
    n_forward = [sum(hit[2] == naive.FORWARD for hit in hits) for hits in found]
    sizes = [(n, len(hits) - n) for n, hits in zip(n_forward, found, strict=True)]
    return Answer(sizes, found, [len(hits) for hits in found])


def load(path, way):
    """Open an index for seed and verify ("verify") or for backward search over a layout (its name)."""
    return index.load(path, method="verify") if way == "verify" else index.load(path, str(way))


def opened_output(path, container=PLAIN):
    """What takes the pieces of an output at a path."""
    return Run().opened(SearchOutput(str(path)), container=container, n_threads=2)
