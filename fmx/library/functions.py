"""Functions of the Python library: build or open an index, index sequences in memory, align pairs."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Real

import numpy as np

from .. import limits
from ..index import fm_index
from ..index.build import build_index
from ..index.disk import default_index_path, index_at
from ..index.plan import IndexOptions
from ..index.reference import Names
from ..index.writer import MemoryIndex
from ..input.chunks import look_at
from ..machines.places import Device
from ..machines.progress import Progress
from . import arguments
from .arguments import Path, Sequences, SequenceSource
from .index import Index
from .table import PAIR, Table, make_table


def build(
    reference: Path | Sequence[Path], path: Path | None = None, *, groups: Path | None = None,
    layout: str | None = None, sa_rate: int = 1, prefix_length: int | None = None,
    threads: int | None = None, engine: limits.Processor = "cpu",
) -> Index:  # fmt: skip
    """Build an index of one or more FASTA files, as ``fmx index`` does, and open it.

    Args:
        reference: A FASTA file, compressed or not, or a list of files.
        path: The folder to write; by default the reference's name with .fmx.
        groups: A table of contigs and their groups; by default one group per file if there are several.
        layout: Layouts to build, comma-separated; auto chooses one for the free memory; by default
            bvsfm-k2-d96, or sparse for more than 10^9 bases.
        sa_rate: Keep every n-th position of the suffix array, 1 to 4096.
        prefix_length: Longest string in the prefix table, 4 to 15; by default set by the reference's size.
        threads: Number of threads; all cores by default.
        engine: Where to build: cpu, cuda (a GPU), or auto (a GPU if there is one, else the CPU).

    Raises InputError if a file cannot be read or is no reference, OutputError if ``path`` cannot be written,
    UnsupportedError if a layout does not exist or does not support this reference, DeviceError without a GPU.

    Examples:
        >>> fmx.build("genome.fa", "genome.fmx")
        <fmx.Index genome.fmx: 2 contigs, 25 bases>
    """
    several = reference if isinstance(reference, list | tuple) else [reference]
    references = tuple(os.fspath(arguments.file("reference", each)) for each in several)
    if not references:
        raise ValueError("reference must be a path, or a list of one or more")
    if len(references) > 1 and path is None:
        raise ValueError("path must be given for an index of several files")
    path = default_index_path(references[0]) if path is None else arguments.file("path", path)
    arguments.one_of("engine", engine, limits.PROCESSORS)
    options, n_threads = _build_options(layout, sa_rate, prefix_length), arguments.threads(threads)
    if groups is not None:
        options = replace(options, groups=os.fspath(arguments.file("groups", groups)))
    for each in references:
        look_at(each, None)
    build_index(references, path, options, n_threads, None, Device(engine))
    return open_index(path, threads=threads)


def from_sequences(
    sequences: Sequences, *, layout: str | None = None, sa_rate: int = 1, prefix_length: int | None = None,
    threads: int | None = None, engine: limits.Processor = "cpu",
) -> Index:  # fmt: skip
    """Build an index of sequences in memory, without files.

    Args:
        sequences: Contigs: a dict of sequences by name, such as {"chr1": "ACGT"}, a list of sequences, which
            are then named 0, 1, ..., or the path of a FASTA file.
        layout, sa_rate, prefix_length, threads, engine: As in ``build``.

    Raises the same errors as ``build``, and InputError also if SAM does not allow a name.

    Examples:
        >>> fmx.from_sequences({"vector": "TTGATTACATT"}).count(["GATTACA"])
        array([1])
    """
    options, n_threads = _build_options(layout, sa_rate, prefix_length), arguments.threads(threads)
    device, index = Device(arguments.one_of("engine", engine, limits.PROCESSORS)), MemoryIndex()
    fasta = SequenceSource("sequences", sequences).whole()
    build_index(fasta, index, options, n_threads, device=device)
    return Index(partial(fm_index.take, index), n_threads)


def _build_options(layout: object, sa_rate: object, prefix_length: object) -> IndexOptions:
    names = () if layout is None else arguments.names("layout", layout)
    rate = arguments.whole("sa_rate", sa_rate, limits.SA_RATE, 1)
    if names == ["auto"] and rate != 1:
        raise ValueError("sa_rate must be 1 with layout auto, which chooses the SA rate")
    length = arguments.whole("prefix_length", prefix_length, limits.PREFIX_LENGTH, None)
    return IndexOptions(names, rate, length)


def open_index(
    path: Path, *, layout: str | None = None, method: limits.Method = "auto", threads: int | None = None
) -> Index:
    """Open an index; check the files that a search reads, unless they are unchanged since the last check.

    Args:
        path: The folder that ``fmx index`` or ``fmx.build`` wrote, such as genome.fmx; genome and genome.fa
            mean the same.
        layout: Search with this layout only.
        method: Search method: verify (seed and verify), backward (backward search), sparse (sparse index), or
            auto, the fastest that the index supports.
        threads: As in ``build``.

    It is searched on the CPU; only commands search on a GPU.  Raises IndexFileError if there is no index or
    it is damaged, and UnsupportedError if it has no such layout or does not support the method.

    Examples:
        >>> fmx.open("genome.fmx", threads=2).contigs
        ['chr1', 'chr2']
    """
    arguments.file("path", path)
    if layout is not None:
        arguments.names("layout", layout)
    arguments.one_of("method", method, limits.METHODS)
    n_threads = arguments.threads(threads)
    load = partial(fm_index.load, index_at(path), n_threads=n_threads)
    return Index(load, n_threads, layout=layout, method=method)


def pairwise(
    sequences: Sequences, other: Sequences | None = None, *, identity: float = 0.0, iddef: int = 1,
    match: int = 4, mismatch: int = -5, gap: int = -10, threads: int | None = None,
    engine: limits.PairwiseProcessor = "cpu",
) -> Table:  # fmt: skip
    """Align all pairs of sequences globally, as ``fmx pairwise`` does (docs/align.md).

    Args:
        sequences: Path of a FASTA file, sequences, or a dict of sequences by name.
        other: Align each of ``sequences`` with each of these, instead of with each other.
        identity: Report only pairs of at least this identity, 0 to 1.
        iddef: Definition of identity, 0 to 4, as in vsearch.
        match, mismatch, gap: Scores of a match, a mismatch, and each base in a gap.
        threads: As in ``build``.
        engine: Where to compute scores: cpu, cuda (GPUs), both, or auto (GPUs if any can be used).

    Returns:
        A Table of dtype ``fmx.PAIR`` with one row per reported pair: ``query`` and ``target``, the numbers of
        the sequences, from 0; ``score``; ``identity``, 0 to 1; ``length``, the number of columns of the
        alignment; ``matches``, the number of its columns with equal bases.

    Raises InputError, DeviceError, and UnsupportedError if no alignment can be computed with these scores.

    Examples:
        >>> fmx.pairwise(["GATTACA", "GATTTACA", "CCCC"], identity=0.8).tolist()
        [(0, 1, 18, 0.875, 8, 7)]
    """
    from ..align import pipeline  # not needed for an index
    from ..align.sequences import Scoring

    scores = {"match": (match, 4), "mismatch": (mismatch, -5), "gap": (gap, -10)}
    least, most = limits.SHARE
    what = f"a number from {least} to {most}"
    options = pipeline.PairOptions(
        Scoring(*(arguments.whole(name, value, limits.SCORE, n) for name, (value, n) in scores.items())),
        arguments.whole("iddef", iddef, limits.IDENTITIES, 1),
        float(arguments.checked("identity", identity, what, Real, lambda share: least <= share <= most)),
        n_threads=arguments.threads(threads),
    )
    device = Device(arguments.one_of("engine", engine, limits.PAIRWISE_PROCESSORS), n_gpus=None)
    sources = [SequenceSource("sequences", sequences)]
    if other is not None:
        sources.append(SequenceSource("other", other))
    paths = [source.whole() for source in sources]
    names, job, records = pipeline.records(paths, options, Progress(quiet=True), device)
    of_columns = zip(("query", "target"), (sources[0], sources[-1]), names, strict=True)
    known = {column: Names.of(values) for column, source, values in of_columns if source.has_names}
    rows = [np.empty(0, PAIR)]
    for some in records:
        rows.append(np.empty(some.h.size, PAIR))
        rows[-1]["score"] = job.totals(some, some.h)
        for column in ("query", "target", "identity", "length", "matches"):
            rows[-1][column] = getattr(some, column)
    return make_table(np.concatenate(rows), known)
