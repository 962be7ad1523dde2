"""How a Python program comes to an Index: built, opened, or made in memory; pairs of sequences, aligned."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np

from .. import limits
from ..index import fm_index, layouts
from ..index.building.journey import build_into
from ..index.disk import default_index_path, index_at
from ..index.disk.writer import MemoryIndex
from ..index.plan import IndexOptions
from ..jobs import Resources
from ..jobs.index import IndexJob
from ..jobs.run import run
from ..machines.places import Device
from ..machines.progress import Progress
from . import arguments
from .arguments import Engine, Path, Sequences, SequenceSource
from .index import AnyIndex, Index, Searchers
from .table import PAIR, Names, Table, make_table


def build(
    reference: Path | Sequence[Path],
    path: Path | None = None,
    *,
    groups: Path | None = None,
    layout: str = layouts.DEFAULT,
    sa_rate: int = 1,
    prefix_length: int | None = None,
    threads: int | None = None,
    engine: limits.Processor = "cpu",
) -> Index:
    """Index a FASTA file or several, as ``fmx index`` does, and open the index.

    Args:
        reference: A FASTA file, plain or compressed, or a list of them, each of which is a group of contigs.
        path: The folder to write; by default the reference's name with .fmx.
        groups: A table of contigs and groups, instead.
        layout: Names with commas between them, or auto.
        sa_rate: Keep every n-th position of the suffix array, 1 to 4096.
        prefix_length: Of the strings in the prefix table, 4 to 15; by default by the reference's size.
        threads: All cores by default.
        engine: Where to build and search: cpu, cuda (a GPU), or auto.

    Raises:
        InputError: The file cannot be read, or is no reference.
        OutputError: The index cannot be written.
        UnsupportedError: There is no such layout, or not for this reference.
        DeviceError: There is no GPU, or it lacks memory.
        TypeError, ValueError: An argument is wrong.

    Examples:
        >>> fmx.build("genome.fa", "genome.fmx")
        <fmx.Index genome.fmx: 2 contigs, 25 bases>
    """
    given = reference if isinstance(reference, list | tuple) else [reference]
    references = tuple(os.fspath(arguments.file("reference", each)) for each in given)
    if not references:
        raise ValueError("reference must be a path, or a list of one or more")
    if len(references) > 1 and path is None:
        raise ValueError("path must be given for an index of several files")
    path = default_index_path(references[0]) if path is None else arguments.file("path", path)
    arguments.one_of("engine", engine, limits.PROCESSORS)
    options, n_threads = _build_options(layout, sa_rate, prefix_length), arguments.threads(threads)
    if groups is not None:
        options = replace(options, groups=os.fspath(arguments.file("groups", groups)))
    run(IndexJob(references, os.fspath(path), options), Resources(n_threads, engine))
    return open_index(path, threads=threads, engine=engine)


def from_sequences(
    sequences: Sequences,
    *,
    layout: str = layouts.DEFAULT,
    sa_rate: int = 1,
    prefix_length: int | None = None,
    threads: int | None = None,
    engine: limits.Processor = "cpu",
) -> Index:
    """Index sequences in memory, without a file.

    Args:
        sequences: A dict of contigs by name, {"chr1": "ACGT"}; sequences in a list are called 0, 1, ...; or
            the path of a FASTA file.
        layout: And all others, as of ``fmx.build``.

    Raises:
        InputError: A sequence is empty or holds other than letters, or a name is none that SAM allows.
        UnsupportedError, DeviceError, TypeError, ValueError: As of ``fmx.build``.

    Examples:
        >>> fmx.from_sequences({"vector": "TTGATTACATT"}).count(["GATTACA"])
        array([1])
    """
    options, n_threads = _build_options(layout, sa_rate, prefix_length), arguments.threads(threads)
    device, held = Device(arguments.one_of("engine", engine, limits.PROCESSORS)), MemoryIndex()
    fasta = SequenceSource("sequences", sequences).whole()
    build_into(held, fasta, options, n_threads, Progress(quiet=True), device)

    def load(layout: str | None = None, method: str = "auto", with_text: bool = False) -> AnyIndex:
        return fm_index.take(held, layout, method)

    return Index(load, Searchers(device, n_threads))


def _build_options(layout: object, sa_rate: object, prefix_length: object) -> IndexOptions:
    names = arguments.names("layout", layout)
    rate = arguments.whole("sa_rate", sa_rate, limits.SA_RATE, 1)
    if names == ["auto"] and rate != 1:
        raise ValueError("sa_rate must be 1 with layout auto, which chooses it")
    length = arguments.whole("prefix_length", prefix_length, limits.PREFIX_LENGTH, None)
    return IndexOptions(names, rate, length)


def open_index(
    path: Path,
    *,
    layout: str | None = None,
    method: limits.Method = "auto",
    threads: int | None = None,
    engine: Engine = "cpu",
) -> Index:
    """Open an index; every byte that a search reads is checked, unless it was and no file changed since.

    Args:
        path: The folder that ``fmx index`` or ``fmx.build`` wrote; NAME or NAME.fa for NAME.fmx.
        layout: Search backward over this layout of it.
        method: auto, verify, backward or sparse, as ``--method`` of ``fmx search``.
        threads: All cores by default.
        engine: Where to search: cpu, cuda (a GPU), auto (a GPU if one can be used, else the CPU), or a GPU
            engine by name.  What a GPU is given stays there for the next search.

    Raises:
        IndexFileError: There is no index, or it is damaged.
        UnsupportedError: The index has no such layout, or cannot be searched so.
        TypeError, ValueError: An argument is wrong.

    Examples:
        >>> fmx.open("genome.fmx", threads=2).contigs
        ['chr1', 'chr2']
    """
    arguments.file("path", path)
    if layout is not None:
        arguments.names("layout", layout)
    arguments.one_of("method", method, limits.METHODS)
    device = Device(arguments.one_of("engine", engine, get_args(Engine)))
    n_threads = arguments.threads(threads)
    load = partial(fm_index.load, index_at(path), n_threads=n_threads)
    return Index(load, Searchers(device, n_threads), layout=layout, method=method)


# All pairs of sequences, aligned, as an array.


def pairwise(
    sequences: Sequences, other: Sequences | None = None, *, identity: float = 0.0, iddef: int = 1,
    match: int = 4, mismatch: int = -5, gap: int = -10, threads: int | None = None,
    engine: limits.PairwiseProcessor = "cpu",
) -> Table:  # fmt: skip
    """Align all pairs of sequences from end to end, as ``fmx pairwise`` does (docs/align.md).

    Args:
        sequences: A path of FASTA, sequences, or a dict of them by name.
        other: Align each of ``sequences`` with each of these, not with each other.
        identity: Leave out pairs of less identity than this, 0 to 1.
        iddef: How identity is counted, 0 to 4, as by vsearch.
        match: Score of equal letters.
        mismatch: Score of unequal letters.
        gap: Score of a letter against a gap.
        threads: All cores by default.
        engine: Where to compute scores: cpu, cuda (GPUs), both, or auto (GPUs if any can be used).

    Returns:
        A Table of dtype ``fmx.PAIR``: ``query`` and ``target``, their numbers in the order given; ``score``;
        ``identity``, 0 to 1; ``length`` of the alignment; ``matches`` in it.

    Raises:
        InputError: A file cannot be read, or a record is bad.
        DeviceError: There is no GPU, or it lacks memory.
        UnsupportedError: Scores with which no alignment can be computed.
        TypeError, ValueError: An argument is wrong.

    Examples:
        >>> fmx.pairwise(["GATTACA", "GATTTACA", "CCCC"], identity=0.8).tolist()
        [(0, 1, 18, 0.875, 8, 7)]
    """
    from ..align import journey  # of no use to an index
    from ..align.records import as_rows
    from ..align.sequences import Scoring

    options = journey.PairOptions(
        Scoring(_score("match", match, 4), _score("mismatch", mismatch, -5), _score("gap", gap, -10)),
        arguments.whole("iddef", iddef, limits.IDENTITIES, 1),
        arguments.share("identity", identity),
        n_threads=arguments.threads(threads),
    )
    device = Device(arguments.one_of("engine", engine, limits.PAIRWISE_PROCESSORS), n_gpus=None)
    sources = [SequenceSource("sequences", sequences)]
    if other is not None:
        sources.append(SequenceSource("other", other))
    paths = [source.whole() for source in sources]
    names, job, found = journey.records(paths, options, Progress(quiet=True), device)
    of_columns = zip(("query", "target"), (sources[0], sources[-1]), names, strict=True)
    known = {column: Names.of(own) for column, source, own in of_columns if source.has_names}
    rows = (as_rows(some, job.totals(some, some.h)) for some in found)
    return make_table(np.concatenate([np.empty(0, PAIR), *rows]), known)


def _score(name: str, value: object, default: int) -> int:
    return arguments.whole(name, value, limits.SCORE, default)
