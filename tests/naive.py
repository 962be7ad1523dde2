"""The oracle: what fmx promises, in plain Python that anyone can check by reading.

A reference is a list of contigs, each (name, sequence).  An occurrence is (contig index, 0-based position,
strand), where strand is 0 for plus and 1 for minus, so that sorting them gives the documented order.
"""

import itertools
import operator
import re

COMPLEMENTS = str.maketrans("ACGTRYKMBDHV", "TGCAYRMKVHDB")
FORWARD, REVERSE = 0, 1


def plain(sequence: str) -> str:
    """Upper case, U as T."""
    return sequence.upper().replace("U", "T")


def reverse_complement(sequence: str) -> str:
    """That of any letters: one that stands for no bases, as X, becomes N."""
    return re.sub("[^ACGTRYSWKMBDHVN]", "N", plain(sequence))[::-1].translate(COMPLEMENTS)


def blocks(sequence: str) -> list:
    """The maximal runs of A, C, G, T: (start, letters)."""
    return [(match.start(), match.group()) for match in re.finditer("[ACGT]+", plain(sequence))]


def is_searchable(read: str) -> bool:
    return re.fullmatch("[ACGT]+", plain(read)) is not None


def find_all(text: str, pattern: str) -> list:
    """Every start of ``pattern`` in ``text``, overlapping ones too."""
    found, start = [], text.find(pattern)
    while start >= 0:
        found.append(start)
        start = text.find(pattern, start + 1)
    return found


def locate(contigs, read: str, strands=(FORWARD, REVERSE)) -> list:
    """All occurrences of a read, sorted by contig, position and strand."""
    if not is_searchable(read):
        return []
    spelled = {FORWARD: plain(read), REVERSE: reverse_complement(read)}
    found = []
    for contig, (_, sequence) in enumerate(contigs):
        for start, letters in blocks(sequence):
            for strand in strands:
                found += [(contig, start + i, strand) for i in find_all(letters, spelled[strand])]
    return sorted(found)


def contigs_of_stretches(contigs, read: str, n: int, strands=(FORWARD, REVERSE)) -> set:
    """Numbers of the contigs in which n consecutive bases of a read occur."""
    spelled = {FORWARD: plain(read), REVERSE: reverse_complement(read)}
    stretches = [spelled[strand][i : i + n] for strand in strands for i in range(len(read) - n + 1)]
    stretches = [stretch for stretch in stretches if is_searchable(stretch)]
    texts = [plain(sequence) for _, sequence in contigs]
    return {i for i, text in enumerate(texts) if any(stretch in text for stretch in stretches)}


def counts(contigs, found, by_group=False) -> list:
    """Lines of ``fmx search --counts``, of reads with these occurrences; ``contigs`` may be groups."""
    lines = []
    for number, (name, sequence) in enumerate(contigs):
        here = [(sum(place[0] == number for place in places), len(places)) for places in found]
        here = [(n, total) for n, total in here if n]
        millionths = sum((2 * n * 10**6 + total) // (2 * total) for n, total in here)
        unique = sum(n == total and (n == 1 or by_group) for n, total in here)
        numbers = [len(here), sum(n for n, _ in here), unique, *[len(here) - unique] * by_group]
        shares = f"{millionths // 10**6}.{millionths % 10**6:06}"
        lines.append("\t".join(map(str, (name, len(sequence), *numbers, shares))))
    return lines


def text_of(contigs) -> str:
    """The text: every block followed by a separator, which sorts before A."""
    return "".join(letters + "$" for _, sequence in contigs for _, letters in blocks(sequence))


def suffix_array(text: str) -> list:
    return sorted(range(len(text)), key=lambda i: text[i:])


def kmers(k: int) -> list:
    """All strings of k letters in the order of their codes."""
    return [""] if k == 0 else [rest + letter for rest in kmers(k - 1) for letter in "ACGT"]


def kmer_bwt(text: str, rows: list, k: int) -> list:
    """The k letters before each suffix, or None where they hold a separator or the text starts."""
    before = [text[i - k : i] if i >= k else "$" for i in rows]
    return [None if "$" in letters else letters for letters in before]


def first_row(text: str, rows: list, letters: str) -> int:
    """C: the number of suffixes that sort before ``letters``."""
    return sum(text[i : i + len(letters)] < letters for i in rows)


def common_prefix(a: str, b: str) -> int:
    """Letters that two strings have in common at their starts; a separator equals nothing."""
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y or x == "$":
            break
        n += 1
    return n


def lcp_array(text: str, rows: list) -> list:
    """For each row what its suffix has in common with that of the row before; 0 for the first."""
    pairs = itertools.pairwise(rows)
    return [0, *(common_prefix(text[a:], text[b:]) for a, b in pairs)]


def maximal_matches(contigs, query: str, least: int) -> list:
    """All maximal matches of a query as it is (one strand): (position in it, contig, position, length)."""
    found = []
    for begin, piece in blocks(query):
        for contig, (_, sequence) in enumerate(contigs):
            for start, letters in blocks(sequence):
                for i in range(len(piece)):
                    for j in find_all(letters, piece[i : i + least]):
                        if i == 0 or j == 0 or piece[i - 1] != letters[j - 1]:
                            length = common_prefix(piece[i:], letters[j:])
                            found += [(begin + i, contig, start + j, length)] * (length >= least)
    return sorted(found)


def unique_matches(contigs, query: str, least: int, in_query: bool) -> list:
    """Of these, those whose letters occur once in the reference and, if asked, once in the query."""
    texts = [letters for _, sequence in contigs for _, letters in blocks(sequence)]
    pieces = [letters for _, letters in blocks(query)]

    def once(letters, among):
        return sum(len(find_all(text, letters)) for text in among) == 1

    found = []
    for match in maximal_matches(contigs, query, least):
        letters = plain(query)[match[0] : match[0] + match[3]]
        if once(letters, texts) and (not in_query or once(letters, pieces)):
            found.append(match)
    return found


SETS = {
    "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT",
    "V": "ACG", "N": "ACGT",
}  # fmt: skip


def changes(read: str, letters: str, iupac=False) -> list:
    """(where, base) of each base of ``letters`` that the letter of the read above it does not stand for."""
    bases = [SETS.get(letter, letter) if iupac else letter for letter in plain(read)]
    return [(i, base) for i, base in enumerate(letters) if base not in bases[i]]


def near(contigs, read: str, most: int, iupac=False, strands=(FORWARD, REVERSE)) -> list:
    """All (mismatches, contig, position, strand) of a read with at most that many, in this order.

    A read is longer than that, and matches nothing where its letter is none of A, C, G, T and U.
    """
    if len(read) <= most:
        return []
    known = plain(read) if iupac else re.sub("[^ACGT]", "X", plain(read))
    known = re.sub("[^ACGTRYSWKMBDHVN]", "X", known)
    spelled = {FORWARD: known, REVERSE: known[::-1].translate(COMPLEMENTS)}
    found = []
    for contig, (_, sequence) in enumerate(contigs):
        for start, letters in blocks(sequence):
            for i in range(len(letters) - len(read) + 1):
                for strand in strands:
                    above, base = spelled[strand], letters[i : i + len(read)]
                    n = len(changes(above, base, True)) if iupac else sum(map(operator.ne, above, base))
                    if n <= most:
                        found.append((n, contig, start + i, strand))
    return sorted(found)


def md(read: str, letters: str) -> str:
    """SAM's MD of a read that lies, as given, on these letters of the reference."""
    found, done = "", 0
    for i, base in changes(read, letters):
        found, done = found + f"{i - done}{base}", i + 1
    return found + str(len(read) - done)


def sites(contigs, guides, pams, most, is_5prime=False) -> list:
    """All (guide, mismatches, contig, start, end, strand, letters) of sites of guides, in this order.

    A site is a protospacer and, beside it, the first of ``pams`` that fits; only A, C, G and T match.
    """
    found = []
    for (number, (_, sequence)), n, strand in itertools.product(
        enumerate(contigs), {len(guide) for guide in guides}, (FORWARD, REVERSE)
    ):
        letters = reverse_complement(sequence) if strand else plain(sequence)
        for i in range(len(letters)):
            spacer = letters[i : i + n]
            ends = [(i - len(pam), i + n) if is_5prime else (i, i + n + len(pam)) for pam in pams]
            for pam, (start, stop) in zip(pams, ends, strict=True):
                beside = letters[max(start, 0) : i] if is_5prime else letters[i + n : stop]
                fits = len(spacer + beside) == stop - start and is_searchable(spacer + beside)
                if fits and not changes(pam, beside, iupac=True):
                    place = (len(letters) - stop, len(letters) - start) if strand else (start, stop)
                    for guide, bases in enumerate(guides):
                        if len(bases) == n and (k := len(changes(bases, spacer))) <= most:
                            found.append((guide, k, number, *place, strand, letters[start:stop]))
                    break
    return sorted(found)
