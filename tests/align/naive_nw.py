"""Needleman-Wunsch as the definition has it: the oracle of this folder's tests."""

LETTERS = {**dict(zip("ACGTU", "ACGTT", strict=True)), **dict(zip("acgtu", "ACGTT", strict=True))}


def matrix(a, b, match, mismatch, gap):
    """The whole score matrix, rows of ``a``.

    A letter matches itself in either case, U is T; a letter outside ACGTU matches nothing.
    """
    a, b = (list(map(LETTERS.get, letters)) for letters in (a, b))
    m = [[j * gap for j in range(len(b) + 1)]]
    for i, x in enumerate(a, 1):
        above, row = m[-1], [i * gap]
        for j, y in enumerate(b):
            diagonal = above[j] + (match if x == y and x else mismatch)
            row.append(max(diagonal, above[j + 1] + gap, row[j] + gap))
        m.append(row)
    return m


def score(a, b, match=4, mismatch=-5, gap=-10):
    return matrix(a, b, match, mismatch, gap)[-1][-1]


def align(a, b, match=4, mismatch=-5, gap=-10, m=None):
    """One best path as letters = X I D, walked from the end: diagonal first, then up (I), then left (D).

    ``m``: their matrix, if it is known.
    """
    m = m or matrix(a, b, match, mismatch, gap)
    i, j, path = len(a), len(b), []
    while i or j:
        if i and j:
            letter = LETTERS.get(a[i - 1])
            equal = letter is not None and letter == LETTERS.get(b[j - 1])
            if m[i][j] == m[i - 1][j - 1] + (match if equal else mismatch):
                path.append("=" if equal else "X")
                i, j = i - 1, j - 1
                continue
        if i and m[i][j] == m[i - 1][j] + gap:
            path.append("I")
            i -= 1
        else:
            path.append("D")
            j -= 1
    return "".join(reversed(path))


def identity(path, n_a, n_b, definition):
    """The five definitions of vsearch's --iddef, of a path; nothing over nothing is 0."""
    matches, mismatches = path.count("="), path.count("X")
    inner = path.strip("ID")
    openings = sum(1 for i, c in enumerate(path) if c in "ID" and (i == 0 or path[i - 1] != c))
    if definition == 3:
        longest = max(n_a, n_b)
        return max(0.0, (longest - mismatches - openings) / longest) if longest else 0.0
    below = {0: min(n_a, n_b), 1: len(path), 2: len(inner), 4: len(path)}[definition]
    return matches / below if below else 0.0
