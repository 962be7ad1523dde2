"""All pairs of sequences, aligned, as an array."""

import numpy as np

from .. import limits
from ..align import journey
from ..align.records import as_rows
from ..align.sequences import Scoring
from ..machines.places import Device
from ..machines.progress import Progress
from . import arguments
from .arguments import Sequences, SequenceSource
from .table import PAIR, Names, Table, make_table


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
