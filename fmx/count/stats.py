"""What is told of each sample: numbers for a table, for JSON and for the report."""

import json
from dataclasses import asdict, dataclass

import numpy as np

from .assign import UNSURE
from .table import MANY, NONE
from .tally import Tally

TOP = 20  # unassigned sequences that are told
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
COLUMNS = (
    "sample", "reads", "assigned", "assigned_share", "one_letter_off", "ambiguous", "low_quality",
    "unassigned", "guides", "zero_guides", "gini", "offsets",
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where guides begin in a read: ``reads`` of them were counted there."""

    offset: int
    strand: str
    reads: int


@dataclass(frozen=True)
class SampleStats:
    """Reads of a sample by what became of them; of the assigned, ``one_letter_off`` spell no guide.

    ``gini`` as MAGeCK's, of log(count + 1); ``top_unassigned``: (letters where a guide should stand, reads)
    among the first of each file, the most frequent first.
    """

    sample: str
    files: tuple
    reads: int
    assigned: int
    one_letter_off: int
    ambiguous: int
    low_quality: int
    unassigned: int
    guides: int
    zero_guides: int
    gini: float
    offsets: tuple
    top_unassigned: tuple

    @property
    def assigned_share(self) -> float:
        return self.assigned / max(self.reads, 1)

    def sentence(self) -> str:
        """All in one line."""
        said = f"{self.sample}: {self.reads:,} reads: {self.assigned:,} assigned"
        said += f" ({100 * self.assigned_share:.2f} %)"
        for n, what in (
            (self.ambiguous, "ambiguous"), (self.low_quality, "of low quality"),
            (self.unassigned, "unassigned"),
        ):  # fmt: skip
            said += f", {n:,} {what}" if n else ""
        said += f"; {self.zero_guides:,} of {self.guides:,} guides without reads, Gini {self.gini:.3f}"
        return f"{said}; guides at {self.places_in_words()}"

    def places_in_words(self) -> str:
        """The offsets that hold 1 % or more, at most 8, the most frequent first."""
        shares = [(place, 100 * place.reads / self.assigned) for place in self.offsets[:8]]
        said = [
            f"{place.offset}{' (reverse)' if place.strand == '-' else ''} {share:.0f} %"
            for place, share in shares
            if share >= 1
        ]
        return ", ".join(said) or "no offset"


def stats_of(sample, seen: Tally, left_length) -> SampleStats:
    """What was seen of a Sample; ``left_length``: letters of what is kept of unassigned reads."""
    hits = seen.hits
    order = np.argsort(-hits, axis=None, kind="stable")
    places = [divmod(i, hits.shape[1]) for i in order[: np.count_nonzero(hits)].tolist()]
    return SampleStats(
        sample=sample.name, files=tuple(map(str, sample.paths)), reads=seen.reads, assigned=seen.assigned,
        one_letter_off=seen.inexact, ambiguous=seen.without(MANY), low_quality=seen.without(UNSURE),
        unassigned=seen.without(NONE), guides=seen.counts.size,
        zero_guides=int(np.count_nonzero(seen.counts == 0)), gini=gini(seen.counts),
        offsets=tuple(Place(at, "-" if strand else "+", int(hits[strand, at])) for strand, at in places),
        top_unassigned=_top(seen.left, left_length),
    )  # fmt: skip


def _top(keys, length) -> tuple:
    """The most frequent of keys uint64[n] of so many letters: (letters, how often)."""
    found, n = np.unique(keys, return_counts=True)
    order = np.lexsort((found, -n))[:TOP]
    return tuple((letters_of(found[i], length), int(n[i])) for i in order.tolist())


def letters_of(key, length) -> str:
    """The letters of a key."""
    shifts = np.arange(2 * length - 2, -1, -2, dtype=np.uint64)
    return _LETTERS[((key >> shifts) & np.uint64(3)).astype(np.int64)].tobytes().decode()


def gini(counts) -> float:
    """How unequal guides are in a sample, from 0 to 1: as MAGeCK, of log(count + 1)."""
    x = np.sort(np.log(counts + 1.0))
    if x.size < 2 or x[-1] == 0:
        return 0.0
    rank = np.arange(1, x.size + 1)
    return float(1 - 2 * (x.size - (rank * x).sum() / x.sum()) / (x.size - 1))


def as_table(stats) -> bytes:
    """A line of COLUMNS for each SampleStats."""
    lines = ["\t".join(COLUMNS)]
    for each in stats:
        cells = {name: getattr(each, name) for name in COLUMNS if name != "offsets"}
        cells |= {name: f"{cells[name]:.4f}" for name in ("assigned_share", "gini")}
        cells["offsets"] = ",".join(f"{place.strand}{place.offset}:{place.reads}" for place in each.offsets)
        lines.append("\t".join(str(cells[name]) for name in COLUMNS))
    return ("\n".join(lines) + "\n").encode()


def as_json(about, stats) -> bytes:
    """``about`` the run, and all that is told of each sample."""
    samples = [
        {**asdict(each), "assigned_share": round(each.assigned_share, 6), "gini": round(each.gini, 6)}
        for each in stats
    ]
    for each in samples:
        each["top_unassigned"] = [{"sequence": letters, "reads": n} for letters, n in each["top_unassigned"]]
    return (json.dumps({**about, "samples": samples}, indent=1) + "\n").encode()
