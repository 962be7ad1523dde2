"""fmx for Python programs: build and open an index, search reads, get NumPy arrays back."""

import numpy as np

from .. import workflow
from ..compiler.functions import compiled
from ..index import fm_index as index_module
from ..index import layouts, prefix_table
from ..index.reference import place_of
from ..input import spans
from ..machines.pipeline import travel
from ..search import hits
from ..search.mapper import BOTH, FORWARD, REVERSE, MapOptions, make_mapper
from . import arguments

STRANDS = {"both": BOTH, "forward": FORWARD, "reverse": REVERSE}
HIT = np.dtype(
    [("read", "i8"), ("contig", "i4"), ("position", "i8"), ("reverse", "?"), ("occurrences", "i8")]
)


def build(
    reference, path=None, *, layout=layouts.DEFAULT, sa_rate=1, prefix_length=None, threads=None, engine="cpu"
):
    """Index a FASTA file and return the opened Index.

    ``path`` defaults to the reference's name with .fmx; ``engine`` cpu, cuda or auto makes it.  Raises
    InputError, OutputError, UnsupportedError, DeviceError; TypeError and ValueError for other arguments.
    """
    arguments.file("reference", reference)
    path = workflow.default_index_path(reference) if path is None else arguments.file("path", path)
    names = arguments.names("layout", layout)
    sa_rate = arguments.whole("sa_rate", sa_rate, 1, 4096, 1)
    if names == ["auto"] and sa_rate != 1:
        raise ValueError("sa_rate must be 1 with layout auto, which chooses it")
    lengths = prefix_table.MIN_LENGTH, prefix_table.MAX_LENGTH
    device = workflow.Device(arguments.one_of("engine", engine, arguments.ENGINES))
    prefix_length = arguments.whole("prefix_length", prefix_length, *lengths, None)
    options = workflow.IndexOptions(names, sa_rate, prefix_length)
    workflow.build_index(reference, path, options, arguments.threads(threads), device=device)
    return open_index(path, threads=threads)


def open_index(path, *, layout=None, method="auto", threads=None) -> "Index":
    """Open an index; every byte that a search reads is checked, unless it was and no file changed since.

    ``layout`` and ``method`` as of ``fmx search``.  Raises IndexFileError, UnsupportedError; TypeError and
    ValueError for other arguments.
    """
    arguments.file("path", path)
    if layout is not None:
        arguments.names("layout", layout)
    arguments.one_of("method", method, index_module.METHODS)
    n_threads = arguments.threads(threads)
    return Index(index_module.load(path, layout, method, n_threads), n_threads)


class Index:
    """An opened index.

    ``contigs`` list of names; ``lengths`` int64 array of their lengths.  Reads are given as str or bytes in a
    list, an array or a generator, or as the path of a FASTA or FASTQ file.
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
        and --seed of ``fmx search``.  Raises InputError; TypeError and ValueError for other arguments.
        """
        policy = hits.SelectionPolicy(
            arguments.whole("k", k, 1, hits.ALL, hits.ALL),
            arguments.whole("at_most", at_most, 1, hits.ALL, hits.ALL),
            arguments.whole("seed", seed, 0, hits.ALL, -1),
        )
        mapper = self._mapper(strands, policy)
        blocks = self._index.reference.blocks

        def work(emit, span):
            found = mapper.search(span.read())
            for start, part in mapper.hits_of(found):
                emit(_as_rows(blocks, start, part))
            return found.total.size

        def keep(rows):
            rows["read"] += n_reads
            parts.append(rows)

        source = spans.plan([arguments.source("reads", reads)])
        parts, n_reads = [np.empty(0, HIT)], 0
        for n in travel(source, [work] * self._threads, keep):
            n_reads += n
        return np.concatenate(parts)

    def locate(self, patterns, *, strands="both") -> np.ndarray:
        """Every occurrence of each pattern; as ``search`` with ``k=None``."""
        return self.search(patterns, k=None, strands=strands)

    def count(self, reads, *, strands="both") -> np.ndarray:
        """Number of occurrences of each read, int64; nothing is located."""
        mapper = self._mapper(strands, hits.SelectionPolicy())

        def work(emit, span):
            emit(mapper.search(span.read()).total)

        source, parts = spans.plan([arguments.source("reads", reads)]), [np.empty(0, np.int64)]
        for _ in travel(source, [work] * self._threads, parts.append):
            pass
        return np.concatenate(parts)

    def _mapper(self, strands, policy):
        strands = STRANDS[arguments.one_of("strands", strands, STRANDS)]
        return make_mapper(self._index, MapOptions(policy, strands, self._threads))


def _as_rows(blocks, start, found) -> np.ndarray:
    rows = np.empty(found.position.size, HIT)
    position = found.position
    contig, place = np.empty(position.size, np.int64), np.empty(position.size, np.int64)
    _fill_places(blocks, position, contig, place)
    n_hits = np.diff(found.first)
    rows["read"] = np.repeat(np.arange(start, start + n_hits.size), n_hits)
    rows["contig"], rows["position"] = contig, place
    rows["reverse"] = found.reverse
    rows["occurrences"] = np.repeat(found.total, n_hits)
    return rows


@compiled
def _fill_places(blocks, position, contig, place):
    """The Place of each text position; all int64[n]."""
    for i in range(position.size):
        contig[i], place[i] = place_of(blocks, position[i])
