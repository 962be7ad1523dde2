"""The matches of strands, a slice after the other, so that memory is bounded whatever is found.

An index in parts is cut where contigs end, so a match is in one part, and each part has a matcher of its
own.  Their slices are merged up to the first place (strand, position) at which one of them ends, for
there only later places follow:

    part 0    | a a b c | c+ ...       places, ascending
    part 1    | b d e | f ...
    merged    | a a b b c | ...        of the same place, the parts in order
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import by_type_or_this
from ..index.parts import part_span
from ..machines.jobs import runs
from ..machines.threads import run_all
from .contracts import collect, empty_matches, join_matches, seek, take

ROWS_AT_ONCE = 1 << 17


class Joined(NamedTuple):
    """``matchers`` of the parts of a text, and where each part starts in it."""

    matchers: list
    starts: list


def join(index, matchers):
    """One matcher of an opened index, from those of its parts."""
    if len(matchers) == 1:
        return matchers[0]
    return Joined(matchers, [part_span(index.meta, number)[0] for number in range(len(matchers))])


@by_type_or_this
def slices(matcher, strands):
    """Yield the Matches of strands in order, none of them empty, in arrays of their own."""
    return collected(matcher, strands, seek(matcher, strands))


def collected(matcher, strands, anchors, n_threads=1):
    """Yield the Matches of anchors, of ROWS_AT_ONCE rows or of one anchor for each thread at a time."""
    rows = anchors.hi - anchors.lo
    cuts = list(runs(rows, ROWS_AT_ONCE)) or [(0, 0)]
    for i in range(0, len(cuts), n_threads):
        work = [
            (matcher, strands, anchors, start, stop, empty_matches(int(rows[start:stop].sum())))
            for start, stop in cuts[i : i + n_threads]
        ]
        for n, (*_, matches) in zip(run_all(collect, work, n_threads), work, strict=True):
            if n:
                yield take(matches, slice(n))


@slices.register(Joined)
def _slices_of_parts(matcher, strands):
    streams = [slices(part, strands) for part in matcher.matchers]
    waiting = [next(stream, None) for stream in streams]
    while any(matches is not None for matches in waiting):
        last = min(_places(matches)[-1] for matches in waiting if matches is not None)
        taken = []
        for part, matches in enumerate(waiting):
            if matches is not None:
                n = int(np.searchsorted(_places(matches), last, "right"))
                now = take(matches, slice(n))
                taken.append(now._replace(text=now.text + matcher.starts[part]))
                waiting[part] = take(matches, slice(n, None))
        merged = join_matches(taken)
        yield take(merged, np.argsort(_places(merged), kind="stable"))
        for part, matches in enumerate(waiting):
            if matches is not None and matches.length.size == 0:
                waiting[part] = next(streams[part], None)


def _places(matches) -> np.ndarray:
    """Where matches start, as one number each; ascending."""
    return (matches.strand << 32) | matches.position
