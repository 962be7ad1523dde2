"""Awkward references and reads: where an index of exact matches breaks if it breaks at all."""

import random

import naive

BORDERS = sorted(
    {n + off for n in (96, 192, 224, 448) for off in (-1, 0, 1)}
)  # around the sampling distances


def random_letters(n: int, seed, letters="ACGT") -> str:
    return "".join(random.Random(seed).choices(letters, k=n))


def de_bruijn(order: int) -> str:
    """A string that holds every word of ``order`` letters exactly once (the greedy prefer-largest rule)."""
    text, seen = "A" * order, {"A" * order}
    while True:
        for letter in "TGCA":
            word = (text + letter)[-order:]
            if word not in seen:
                seen.add(word)
                text += letter
                break
        else:
            return text


def numbered(sequences) -> list:
    """Sequences as contigs."""
    return [(f"c{i}", sequence) for i, sequence in enumerate(sequences)]


def _texts() -> dict:
    unit = random_letters(37, "unit")
    texts = {
        "one base": ["A"],
        "two bases": ["T", "A"],
        "one-base contigs": list(random_letters(75, "ones")),
        "contigs of 1 to 6": [random_letters(1 + i % 6, i) for i in range(60)],
        "separator after each base": ["N".join(random_letters(120, "sep"))],
        "separators at the ends": ["NNNACGTACGGTNNN", "N", "NNNN", "NTTGCAN"],
        "runs of N of all lengths": ["".join("N" * i + random_letters(1 + 7 * i % 13, i) for i in range(18))],
        "one letter": ["A" * 200],
        "one letter T": ["T" * 97, "T" * 3, "T"],
        "one letter in blocks": ["GGGG", "GG", "GNGGG", "GGGGGGGGG"],
        "period 2": ["AC" * 110],
        "period 3": ["ACG" * 64, "CGACGACGA"],
        "de Bruijn": [de_bruijn(4)],
        "palindromes": ["GAATTCGAATTC", "ACGT" * 20, "AT" * 30, "TTTTAAAA"],
        "IUPAC": ["ACGTRYSWKMBDHVN.ACGTACGXACG", "acgtnnacgryuu", "RYSWACG"],
        "lower case and U": ["acguacggu", "ACGUUGCA", "uuuu"],
        "repeats across separators": [unit, unit + "N" + unit, unit[5:] + unit[:5], unit[:-1], unit * 3],
        "equal contigs": ["ACGTTGCA"] * 12,
        "two letters": [random_letters(150, "two", "AT"), random_letters(90, "three", "AT")],
    }
    for n in BORDERS:  # n symbols of text: one block with its separator, or two
        texts[f"text of {n}"] = [random_letters(n - 1, n)]
    texts["text of 225 in blocks"] = [random_letters(95, 1), random_letters(127, 2)]
    return {name: numbered(sequences) for name, sequences in texts.items()}


TEXTS = _texts()


def reads_of(contigs, seed=0, n=40) -> list:
    """Reads that ask everything of a reference: inside, across, beyond, both strands, and none of it."""
    rng = random.Random(f"{seed} {contigs[0][1][:50]} {len(contigs)}")
    found = ["A", "C", "G", "T", *naive.kmers(2), "", "N", "ACGN", "RYACG", "acgt", "ACGU", "AAAAA", "GAATTC"]
    joined = "".join(sequence for _, sequence in contigs)
    for _, sequence in rng.sample(contigs, min(len(contigs), 6)):
        found += [sequence, sequence + rng.choice("ACGT"), rng.choice("ACGT") + sequence]
        found += [letters for _, letters in naive.blocks(sequence)[:4]]
    for source in [rng.choice(contigs)[1] for _ in range(n)] + [joined] * (n // 4):
        start = rng.randrange(len(source))
        read = source[start : start + rng.choice([3, 5, 7, 12, 13, 31, 32, 33, 64, 65, 100])]
        found += [read, naive.reverse_complement(read.replace(".", "N").replace("X", "N"))]
        changed = rng.randrange(len(read))
        found.append(read[:changed] + rng.choice("ACGT") + read[changed + 1 :])
    found.append(joined + joined)
    found += [random_letters(rng.randrange(1, 14), rng.random()) for _ in range(n // 2)]
    return found
