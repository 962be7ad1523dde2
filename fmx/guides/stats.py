"""Statistics of a sample: numbers, facts for reports, and a summary line."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import n_of
from ..report.page import LOW, starts_in_words
from .assign import UNSURE
from .table import MANY, NONE
from .targets import RECOMBINED, GuideTally

if TYPE_CHECKING:
    from .samples import Sample

TOP = 20  # unassigned sequences to report
_LETTERS = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True)
class GuidePlace:
    """Where guides begin in reads, or in mates 1 or 2: ``reads`` were counted there."""

    mate: int
    offset: int
    strand: str
    reads: int


@dataclass(frozen=True)
class SampleStats:
    """Reads (or pairs) of a sample by outcome; ``one_letter_off``: assigned reads with one mismatch.

    ``low_guides`` have fewer than LOW reads; ``mean_reads`` and ``median_reads`` are per guide; ``skew``:
    reads of the guide at the 90th percentile divided by those at the 10th, None if these are 0; ``gini``: of
    log(count + 1), as in MAGeCK; ``top_unassigned``: (sequence at the place of a guide, reads) among the
    first reads of each file, the most frequent first; ``lost_guides``: ids of those without reads, if the
    library lists them.
    """

    sample: str
    files: tuple
    reads: int
    assigned: int
    one_letter_off: int
    ambiguous: int
    low_quality: int
    recombined: int
    unassigned: int
    guides: int
    zero_guides: int
    low_guides: int
    mean_reads: float
    median_reads: float
    skew: float | None
    gini: float
    offsets: tuple
    top_unassigned: tuple
    lost_guides: tuple = ()
    unit: str = "read"  # or pair: what is counted

    @property
    def assigned_share(self) -> float:
        return self.assigned / max(self.reads, 1)

    @property
    def with_guide(self) -> int:
        """Reads with a guide, counted or of low quality."""
        return self.assigned + self.low_quality

    def sentence(self) -> str:
        """Return the statistics in one line."""
        said = f"{self.sample}: {n_of(self.reads, self.unit)}: {self.assigned:,} assigned"
        said += f" ({100 * self.assigned_share:.2f} %)"
        for n, what in (
            (self.ambiguous, "ambiguous"), (self.low_quality, "of low quality"),
            (self.recombined, "recombined"), (self.unassigned, "unassigned"),
        ):  # fmt: skip
            said += f", {n:,} {what}" if n else ""
        said += f"; {self.zero_guides:,} of {n_of(self.guides, 'guide')} without reads, Gini {self.gini:.3f}"
        starts = starts_in_words(self.facts())
        return f"{said}; guides start {starts}" if starts else said

    def facts(self) -> dict[str, Any]:
        """Return the statistics as JSON types."""
        top = [{"sequence": letters, "reads": n} for letters, n in self.top_unassigned]
        rounded = {
            "assigned_share": round(self.assigned_share, 6), "mean_reads": round(self.mean_reads, 4),
            "skew": self.skew and round(self.skew, 4), "gini": round(self.gini, 6),
        }  # fmt: skip
        lists = {"files": list(self.files), "top_unassigned": top, "lost_guides": list(self.lost_guides)}
        return {**asdict(self), **rounded, **lists}


def stats_of(
    sample: "Sample", seen: GuideTally, counts: np.ndarray, left_length: int, ids: Sequence[str]
) -> SampleStats:
    """Statistics of a sample; ``seen``: its tally; ``counts`` int64[n]: reads per row; ``left_length``: bases
    of the windows kept of unassigned reads; ``ids`` of the rows, if the library lists them, else none."""
    hits = seen.hits
    order = np.argsort(-hits, axis=None, kind="stable")
    places = [divmod(i, hits.shape[1]) for i in order[: np.count_nonzero(hits)].tolist()]
    return SampleStats(
        sample=sample.name, files=tuple(map(str, sample.paths)), reads=seen.reads, assigned=seen.assigned,
        one_letter_off=seen.inexact, ambiguous=seen.without(MANY), low_quality=seen.without(UNSURE),
        recombined=seen.without(RECOMBINED), unassigned=seen.without(NONE), guides=counts.size,
        zero_guides=int(np.count_nonzero(counts == 0)), low_guides=int(np.count_nonzero(counts < LOW)),
        mean_reads=float(counts.mean()) if counts.size else 0.0,
        median_reads=float(np.median(counts)) if counts.size else 0.0, skew=skew(counts), gini=gini(counts),
        offsets=tuple(GuidePlace(1 + row // 2, at, "+-"[row % 2], int(hits[row, at])) for row, at in places),
        top_unassigned=_top(seen.left[0], left_length), unit=sample.unit,
        lost_guides=tuple(ids[i] for i in np.flatnonzero(counts == 0).tolist()) if ids else (),
    )  # fmt: skip


def _top(keys: np.ndarray, length: int) -> tuple:
    """Return (sequence, number) of the most frequent keys uint64[n], of ``length`` bases."""
    found, n = np.unique(keys, return_counts=True)
    order = np.lexsort((found, -n))[:TOP]
    return tuple((letters_of(found[i], length), int(n[i])) for i in order.tolist())


def letters_of(key: int, length: int) -> str:
    """Return the sequence of a key."""
    shifts = np.arange(2 * length - 2, -1, -2, dtype=np.uint64)
    return _LETTERS[((key >> shifts) & np.uint64(3)).astype(np.int64)].tobytes().decode()


def gini(counts: np.ndarray) -> float:
    """Gini index of log(count + 1), from 0 to 1, as in MAGeCK."""
    x = np.sort(np.log(counts + 1.0))
    if x.size < 2 or x[-1] == 0:
        return 0.0
    rank = np.arange(1, x.size + 1)
    return float(1 - 2 * (x.size - (rank * x).sum() / x.sum()) / (x.size - 1))


def skew(counts: np.ndarray) -> float | None:
    """90th percentile of reads per guide divided by the 10th; None if that is 0."""
    ordered = np.sort(counts)
    low, high = (_quantile(ordered, share) if counts.size else 0.0 for share in (0.1, 0.9))
    return high / low if low else None


def _quantile(ordered: np.ndarray, share: float) -> float:
    """Return np.quantile of ascending numbers, which would import numpy.ma: 16 ms."""
    at = (ordered.size - 1) * share
    i = int(at)
    below, above = float(ordered[i]), float(ordered[min(i + 1, ordered.size - 1)])
    step, part = above - below, at - i
    return below + step * part if part < 0.5 else above - step * (1 - part)
