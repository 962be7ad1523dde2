"""All pairs of sequences, aligned, as an array."""

import numpy as np

from ..align import journey
from ..align.output import PAIR, as_rows
from ..align.scoring import LIMIT, Scoring
from ..machines.places import Device
from ..machines.progress import Progress
from . import arguments


def pairwise(
    sequences, other=None, *, identity=0.0, iddef=1, match=4, mismatch=-5, gap=-10, threads=None, engine="cpu"
):
    """Align all pairs of ``sequences``, or each with each of ``other``, from end to end (docs/align.md).

    Sequences are given as reads are.  Returns the pairs of ``identity`` or more, a structured array of dtype
    ``fmx.PAIR``: numbers of ``query`` and ``target`` in the order given, ``score``, ``identity`` (0 to 1),
    ``length`` of the alignment, ``matches`` in it.  Arguments as the options of ``fmx pairwise``.  Raises
    InputError, DeviceError, UnsupportedError; TypeError and ValueError for other arguments.
    """
    options = journey.PairOptions(
        Scoring(_score("match", match, 4), _score("mismatch", mismatch, -5), _score("gap", gap, -10)),
        arguments.whole("iddef", iddef, 0, 4, 1),
        arguments.share("identity", identity),
        n_threads=arguments.threads(threads),
    )
    device = Device(arguments.one_of("engine", engine, (*arguments.ENGINES, "both")), n_gpus=None)
    sources = [arguments.source("sequences", sequences)]
    if other is not None:
        sources.append(arguments.source("other", other))
    job, found = journey.records(sources, options, Progress(quiet=True), device)
    return np.concatenate([np.empty(0, PAIR), *(as_rows(job, records) for records in found)])


def _score(name, value, default):
    return arguments.whole(name, value, -(LIMIT // 3), LIMIT // 3, default)
