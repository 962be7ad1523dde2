"""The oracle of fmx count, in plain Python: which guide a read counts for."""

import naive

SETS = naive.SETS | {base: base for base in "ACGT"}
MANY = "many"


def distance(letters: str, wanted: str) -> int:
    """Letters that are not what is wanted there, IUPAC's as their sets; N of a read is none of them."""
    return sum(one not in SETS[other] for one, other in zip(letters, wanted, strict=True))


def guide_of(guides, windows, mismatches):
    """The number of the guide that a read counts for by its windows; None, or MANY."""
    for off in range(mismatches + 1):
        for n in sorted({len(guide) for guide in guides}, reverse=True):
            hits = {
                i
                for window in windows
                for i, guide in enumerate(guides)
                if len(window) == len(guide) == n and distance(window, guide) == off
            }
            if hits:
                return hits.pop() if len(hits) == 1 else MANY
    return None


def windows(read, lengths, strands, offsets=None, flanks=("", "")) -> list:
    """What stands at offsets of a read, or anywhere between flanks, on strands (is it reverse)."""
    found, (after, before) = [], flanks
    for n in lengths:
        for i in range(len(read) - n + 1) if offsets is None else offsets:
            for is_reverse in strands if i + n <= len(read) else ():
                parts = [naive.plain(part) for part in (read[:i], read[i : i + n], read[i + n :])]
                if is_reverse:
                    parts = [naive.reverse_complement(part) for part in reversed(parts)]
                left, inside, right = parts
                if _ends(left[::-1], after[::-1]) and _ends(right, before):
                    found.append(inside)
    return found


def _ends(letters, flank) -> bool:
    return len(letters) >= len(flank) and distance(letters[: len(flank)], flank) == 0
