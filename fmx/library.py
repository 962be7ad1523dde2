"""fmx for Python programs: build and open an index, search reads, get NumPy arrays back."""

from pathlib import Path

import numpy as np

from . import chunks, hits, layouts, mapping, workflow
from . import index as index_module
from .parallel import available_cores

STRANDS = {"both": mapping.BOTH, "forward": mapping.FORWARD, "reverse": mapping.REVERSE}
HIT = np.dtype(
    [("read", "i8"), ("contig", "i4"), ("position", "i8"), ("reverse", "?"), ("occurrences", "i8")]
)


def build(
    reference, path=None, *, layout=layouts.DEFAULT, sa_rate=1, prefix_length=None, threads=None, engine="cpu"
):
    """Index a FASTA file and return the opened Index.

    ``path`` defaults to the reference's name with .fmx; ``engine`` cpu, cuda or auto makes it.  Raises
    InputError, OutputError, UnsupportedError, DeviceError.
    """
    path = path or workflow.default_index_path(reference)
    names = layout.split(",")
    workflow.build_index(
        reference, path, names, sa_rate, prefix_length, threads or available_cores(),
        device=workflow.Device(engine),
    )  # fmt: skip
    return open_index(path, threads=threads)


def open_index(path, *, layout=None, method="auto", threads=None) -> "Index":
    """Open an index; every byte that a search reads is checked.

    ``layout`` and ``method`` as of ``fmx search``.  Raises IndexFileError, UnsupportedError.
    """
    n_threads = threads or available_cores()
    return Index(index_module.load(path, layout, method, n_threads), n_threads)


class Index:
    """An opened index.

    ``contigs`` list of names; ``lengths`` int64 array of their lengths.  Reads are given as a list of str or
    bytes, or as the path of a FASTA or FASTQ file.
    """

    def __init__(self, fm_index, threads):
        self._index = fm_index
        self._threads = threads
        self.path = self._index.path
        self.contigs = self._index.reference.names
        self.lengths = np.asarray(self._index.reference.lengths)

    def __repr__(self):
        return f"<fmx.Index {self.path}: {len(self.contigs)} contigs, {int(self.lengths.sum())} bases>"

    def search(self, reads, *, k=1, strands="both", at_most=None, seed=None) -> np.ndarray:
        """Up to ``k`` hits of each read (None: all), as a structured array of dtype ``fmx.HIT``.

        Fields: ``read`` number in the order given, ``contig`` index into ``contigs``, ``position`` 0-based,
        ``reverse`` True on the minus strand, ``occurrences`` of the read in all, reported or not.  Sorted by
        read, contig, position, strand.  Reads that do not occur have no row.  ``at_most`` and ``seed`` as -m
        and --seed of ``fmx search``.  Raises InputError.
        """
        policy = hits.SelectionPolicy(
            hits.ALL if k is None else k, at_most or hits.ALL, -1 if seed is None else seed
        )
        mapper = self._mapper(strands, policy)
        blocks = self._index.reference.blocks

        def work(chunk):
            batch, intervals = mapper.search(chunk)
            found = [_as_rows(blocks, start, part) for start, part in mapper.hits_of(batch, intervals)]
            return batch.length.size, found

        parts, n_reads = [np.empty(0, HIT)], 0
        for n, found in mapping.in_order(work, chunks.read_chunks([_source(reads)]), self._threads):
            for rows in found:
                rows["read"] += n_reads
                parts.append(rows)
            n_reads += n
        return np.concatenate(parts)

    def locate(self, patterns, *, strands="both") -> np.ndarray:
        """Every occurrence of each pattern; as ``search`` with ``k=None``."""
        return self.search(patterns, k=None, strands=strands)

    def count(self, reads, *, strands="both") -> np.ndarray:
        """Number of occurrences of each read, int64; nothing is located."""
        mapper = self._mapper(strands, hits.SelectionPolicy())

        def work(chunk):
            return mapper.count(mapper.search(chunk)[1])

        source = chunks.read_chunks([_source(reads)])
        return np.concatenate([np.empty(0, np.int64), *mapping.in_order(work, source, self._threads)])

    def _mapper(self, strands, policy):
        if strands not in STRANDS:
            raise ValueError(f"strands must be one of {', '.join(STRANDS)}, not {strands!r}")
        options = mapping.MapOptions(policy, STRANDS[strands], self._threads)
        return mapping.make_mapper(self._index, options)


def _source(reads):
    """What read_chunks reads: a path, or sequences as FASTA."""
    if isinstance(reads, str | Path):
        return reads
    return chunks.literal_fasta(reads)


def _as_rows(blocks, start, found) -> np.ndarray:
    rows = np.empty(found.position.size, HIT)
    position = found.position
    block = np.searchsorted(blocks.text_start, position, "right") - 1
    n_hits = np.diff(found.first)
    rows["read"] = np.repeat(np.arange(start, start + n_hits.size), n_hits)
    rows["contig"] = blocks.contig[block]
    rows["position"] = position - blocks.text_start[block] + blocks.contig_start[block]
    rows["reverse"] = found.reverse
    rows["occurrences"] = np.repeat(found.total, n_hits)
    return rows
