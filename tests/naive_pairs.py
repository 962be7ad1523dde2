"""The oracle of pairs: which are proper, and the SAM records of docs/pairs.md, in plain Python."""

import naive
from validate import mapping_quality, written

_WAYS = {"fr": (0, 1), "rf": (1, 0), "ff": (0, 0)}  # strands of the left and the right mate; 1 is left


def occurrences(contigs, read, mismatches=0, strata=False) -> list:
    """The occurrences (contig, position, strand) of a single read, those with fewest mismatches first."""
    if not mismatches:
        return naive.locate(contigs, read)
    found = naive.near(contigs, read, mismatches)
    return [hit[1:] for hit in found if not strata or hit[0] == found[0][0]]


def compared(contigs, read, hit) -> tuple:
    """(mismatches, MD) of a read at a hit."""
    spelled = naive.reverse_complement(read) if hit[2] else read
    letters = naive.plain(contigs[hit[0]][1])[hit[1] : hit[1] + len(read)]
    return len(naive.changes(spelled, letters)), naive.md(spelled, letters)


def proper_pairs(contigs, one, two, orientation="fr", least=0, most=500, mismatches=0, strata=False) -> list:
    """All proper pairs in order: ((contig, position, strand) of mate 1, that of mate 2, insert).

    The insert is negative where mate 2 is left.  Those with the fewest mismatches of both mates come first.
    """
    found, length1, length2 = [], len(one), len(two)
    strand1, strand2 = _WAYS[orientation]
    ones, twos = (
        [(compared(contigs, read, hit)[0], hit) for hit in occurrences(contigs, read, mismatches)]
        for read in (one, two)
    )
    for n_of_a, a in ones:
        for n_of_b, b in twos:
            if a[0] != b[0]:
                continue
            end1, end2 = a[1] + length1, b[1] + length2
            n = n_of_a + n_of_b
            if (a[2], b[2]) == (strand1, strand2) and a[1] <= b[1] and end1 <= end2:
                found.append((n, a[0], a[1], 0, end2 - a[1], a, b))
            if (a[2], b[2]) == (1 - strand1, 1 - strand2) and b[1] <= a[1] and end2 <= end1:
                found.append((n, a[0], b[1], 1, end1 - b[1], a, b))
    found = [pair for pair in sorted(found) if least <= pair[4] <= most]
    found = [pair for pair in found if not strata or pair[0] == found[0][0]]
    return [(a, b, -insert if swapped else insert) for *_, swapped, insert, a, b in found]


class Rule:
    """What is asked for."""

    def __init__(
        self, orientation="fr", least=0, most=500, limit=1, at_most=None, unmapped=True, mismatches=0,
        strata=False,
    ):  # fmt: skip
        self.lie, self.limit, self.at_most = (orientation, least, most), limit, at_most
        self.unmapped, self.near = unmapped, (mismatches, strata)

    def reported(self, found) -> list:
        return [] if self.at_most is not None and len(found) > self.at_most else found[: self.limit]


def records(contigs, pairs, rule) -> list:
    """SAM records, lists of columns, of pairs (name, (sequence, quality or None), the same of mate 2)."""
    lines = []
    for name, one, two in pairs:
        proper = proper_pairs(contigs, one[0], two[0], *rule.lie, *rule.near)
        if proper:
            hits = [[hit[i] for hit in rule.reported(proper)] for i in (0, 1)]
            totals = [len(proper)] * 2
            n = [
                sum(
                    compared(contigs, mate[0], hit)[0] for mate, hit in zip((one, two), pair[:2], strict=True)
                )
                for pair in proper
            ]
            mismatches = [n, n]
        else:
            found = [occurrences(contigs, mate[0], *rule.near) for mate in (one, two)]
            hits, totals = [rule.reported(each) for each in found], [len(each) for each in found]
            mismatches = [
                [compared(contigs, mate[0], hit)[0] for hit in each]
                for mate, each in zip((one, two), found, strict=True)
            ]
        peers = [[n.count(x) if x == n[0] else 0 for x in n] for n in mismatches]
        if not (rule.unmapped or any(hits)):
            continue
        inserts = [insert for *_, insert in rule.reported(proper)]
        made = [
            [
                _record(contigs, name, (one, two), i, j, hits, (totals[i], peers[i]), inserts)
                for j in range(max(1, len(hits[i])))
            ]
            for i in (0, 1)
        ]
        together = zip(*made, strict=True) if inserts else made
        lines += [record for group in together for record in group]
    return lines


def _record(contigs, name, mates, i, j, hits, numbers, inserts) -> list:
    """Hit j of mate i."""
    (sequence, quality), other, (total, peers) = mates[i], mates[1 - i], numbers
    own, lead, mate_lead = hits[i][j : j + 1], hits[i][:1], hits[1 - i][:1]
    flag = 1 + (64, 128)[i] + 2 * bool(inserts) + 4 * (not own) + 8 * (not mate_lead) + 256 * (j > 0)
    flag += 16 * any(hit[2] for hit in own) + 32 * any(hit[2] for hit in mate_lead)
    (shown,), (mate_shown,) = (own or mate_lead or [None]), (mate_lead or lead or [None])
    if shown is None:
        place = ["*", "0", "0", "*", "*", "0", "0"]
    else:
        next_name = "=" if shown[0] == mate_shown[0] else contigs[mate_shown[0]][0]
        insert = inserts[j] if inserts else 0
        if not inserts and own and mate_lead and j == 0 and own[0][0] == mate_lead[0][0]:
            start, mate_start = own[0][1], mate_lead[0][1]
            insert = max(start + len(sequence), mate_start + len(other[0])) - min(start, mate_start)
            insert *= -1 if start > mate_start or (start == mate_start and i == 1) else 1
        elif i == 1:
            insert = -insert
        place = [
            contigs[shown[0]][0], str(shown[1] + 1), str(mapping_quality(peers[j]) if own else 0),
            f"{len(sequence)}M" if own else "*", next_name, str(mate_shown[1] + 1),
            str(insert),
        ]  # fmt: skip
    if j > 0:
        letters = ["*", "*"]
    elif own and own[0][2]:
        letters = [naive.reverse_complement(sequence), quality[::-1] if quality else "*"]
    else:
        letters = [written(sequence) or "*", quality or "*"]
    tags = [f"NH:i:{total}"]
    if own:
        n, md = compared(contigs, sequence, own[0])
        tags += [f"HI:i:{j + 1}", f"NM:i:{n}", f"MD:Z:{md}"]
    if mate_lead:
        tags.append(f"MC:Z:{len(other[0])}M")
    return [name or "*", str(flag), *place, *letters, *tags]
