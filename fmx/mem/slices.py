"""The matches of strands, a slice after the other, so that memory is bounded whatever is found.

An index in parts is cut where contigs end, so a match is in one part, and each part has a matcher of its
own.  Their slices are merged up to the first place (strand, position) at which one of them ends, for
there only later places follow:

    part 0    | a a b c | c+ ...       places, ascending
    part 1    | b d e | f ...
    merged    | a a b b c | ...        of the same place, the parts in order
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..index.parts import part_span
from .contracts import Matches, collect, rows_at_once, seek
from .unique import take


class Joined(NamedTuple):
    """``matchers`` of the parts of a text, and where each part starts in it."""

    matchers: list
    starts: list


def join(index, matchers):
    """One matcher of an opened index, from those of its parts."""
    if len(matchers) == 1:
        return matchers[0]
    return Joined(matchers, [part_span(index.meta, number)[0] for number in range(len(matchers))])


def parts_of(matcher) -> list:
    """The matchers of the parts."""
    return matcher.matchers if isinstance(matcher, Joined) else [matcher]


def slices(matcher, strands):
    """Yield the Matches of strands in order; a slice's arrays are used again for the next one."""
    if not isinstance(matcher, Joined):
        yield from _of_one(matcher, strands)
        return
    streams = [_of_one(part, strands) for part in matcher.matchers]
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


def join_matches(several) -> Matches:
    """Matches one after the other, in arrays of their own."""
    nothing = Matches(*(np.empty(0, np.int64) for _ in Matches._fields))
    return Matches(*(np.concatenate(columns) for columns in zip(nothing, *several, strict=True)))


def _places(matches) -> np.ndarray:
    """Where matches start, as one number each; ascending."""
    return (matches.strand << 32) | matches.position


def _of_one(matcher, strands):
    """The slices of one matcher that hold any match."""
    anchors, most = seek(matcher, strands), rows_at_once(matcher)
    ends = np.zeros(anchors.lo.size + 1, np.int64)
    np.cumsum(anchors.hi - anchors.lo, out=ends[1:])
    borders = [0]
    while borders[-1] < ends.size - 1:
        start = borders[-1]
        borders.append(max(start + 1, int(np.searchsorted(ends, ends[start] + most, "right")) - 1))
    room = int(np.diff(ends[borders]).max(initial=0))
    matches = Matches(*(np.empty(room, np.int64) for _ in Matches._fields))
    for start, stop in pairwise(borders):
        n = collect(matcher, strands, anchors, start, stop, matches)
        if n:
            yield take(matches, slice(n))
