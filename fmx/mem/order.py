"""Matches of one anchor into order, in place: compiled code here may not allocate (see jit.py)."""

from ..jit import inlined

_SMALL = 24


@inlined
def sort_matches(matches, start, stop):
    """Sort matches start to stop, all of one strand, by (position, text)."""
    n = stop - start
    if n <= _SMALL:
        for i in range(start + 1, stop):
            j = i
            while j > start and _before(matches, j, j - 1):
                _swap(matches, j, j - 1)
                j -= 1
        return
    for root in range(n // 2 - 1, -1, -1):
        _sift(matches, start, root, n)
    for end in range(n - 1, 0, -1):
        _swap(matches, start, start + end)
        _sift(matches, start, 0, end)


@inlined
def _before(matches, i, j):
    if matches.position[i] != matches.position[j]:
        return matches.position[i] < matches.position[j]
    return matches.text[i] < matches.text[j]


@inlined
def _swap(matches, i, j):
    matches.position[i], matches.position[j] = matches.position[j], matches.position[i]
    matches.text[i], matches.text[j] = matches.text[j], matches.text[i]
    matches.length[i], matches.length[j] = matches.length[j], matches.length[i]


@inlined
def _sift(matches, start, root, n):
    """Let a match sink to its place in a heap of n, by heapsort, whose time has a bound on any input."""
    while True:
        child = 2 * root + 1
        if child >= n:
            return
        if child + 1 < n and _before(matches, start + child, start + child + 1):
            child += 1
        if not _before(matches, start + root, start + child):
            return
        _swap(matches, start + root, start + child)
        root = child
