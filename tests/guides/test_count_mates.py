"""Guides of mates: pairs of a library, any pairs of two libraries, one guide in either mate."""

import random
import re

import naive
import pytest
from texts import random_letters

N = 12  # guides of each side


@pytest.fixture(scope="module")
def screen(tmp_path_factory):
    """A folder with files of mates; the numbers of the guides of each pair, None where there is none."""
    folder, rng = tmp_path_factory.mktemp("mates"), random.Random(3)
    one, two = ([random_letters(20, f"{side} {i}") for i in range(N)] for side in "ab")
    pairs = [(i, (i * 5 + 1) % N) for i in range(N)] + [(0, 0)]
    table = "".join(f"p{k},{one[i]},{two[j]},G{i}\n" for k, (i, j) in enumerate(pairs))
    (folder / "pairs.csv").write_text("id,sequence_1,sequence_2,gene\n" + table)
    for name, guides in (("one", one), ("two", two)):
        (folder / f"{name}.csv").write_text("".join(f"{name}{i},{x}\n" for i, x in enumerate(guides)))
    truth = []
    for _ in range(600):
        truth.append(rng.choice([*3 * pairs, (rng.randrange(N), rng.randrange(N)), (None, 3), (4, None)]))
    with open(folder / "r1.fq", "w") as first, open(folder / "r2.fq", "w") as second:
        for k, (i, j) in enumerate(truth):
            left = (
                random_letters(k % 3, k) + "CACCG" + (random_letters(20, k) if i is None else one[i]) + "GTTT"
            )
            right = "TTC" + naive.reverse_complement(random_letters(20, -k) if j is None else two[j]) + "AAGG"
            for file, letters in ((first, left), (second, right)):
                file.write(f"@{k}\n{letters}\n+\n{len(letters) * 'I'}\n")
    return folder, pairs, truth


def rows(text) -> list:
    return [line.split("\t") for line in text.decode().splitlines()]


@pytest.mark.parametrize("where", [[], ["--after", "CACCG/CCTT"], ["--offset", "5,6,7/3"], ["--anywhere"]])
def test_pairs_of_a_library_and_pairs_of_others(where, screen, command):
    folder, pairs, truth = screen
    done = command(
        "count", "-l", folder / "pairs.csv", "-1", folder / "r1.fq", "-2", folder / "r2.fq", *where
    )
    assert done.code == 0, done.err
    assert rows(done.out)[0] == ["sgRNA", "Gene", "r1"]
    assert [int(row[2]) for row in rows(done.out)[1:]] == [truth.count(pair) for pair in pairs]
    other = sum(None not in pair and pair not in pairs for pair in truth)
    none = sum(None in pair for pair in truth)
    assert f"{other} recombined, {none} unassigned; " in done.err
    assert "; in second mates after 3 bases on the reverse strand (100 %)\n" in done.err


def test_any_pairs_of_two_libraries_that_are_seen(screen, command):
    folder, _, truth = screen
    names = ["-l", folder / "one.csv", "-l", folder / "two.csv"]
    mates = ["-1", folder / "r1.fq", "-2", folder / "r2.fq"]
    twice = [f"{folder / 'r1.fq'},{folder / 'r1.fq'}", "-2", f"{folder / 'r2.fq'},{folder / 'r2.fq'}"]
    done = command("count", *names, *mates, "-1", *twice, "--names", "a,b", "-t", 3)
    seen = sorted({pair for pair in truth if None not in pair})
    expected = [
        [f"one{i}|two{j}"] * 2 + [str(truth.count((i, j))), str(2 * truth.count((i, j)))] for i, j in seen
    ]
    assert rows(done.out) == [["sgRNA", "Gene", "a", "b"], *expected]


def test_a_guide_in_one_of_the_mates(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGT\nb,GGGGTTTT\n")
    pairs = [
        ("TTACGTACGT", "CCCCCCCCCC"), ("CCCCCCCCCC", "ACGTACGTCC"), ("TTACGTACGT", "ACGTACGTCC"),
        ("TTGGGGTTTT", "ACGTACGTCC"), ("TTGGGGTTTT", "CCCCCCCCCC"), ("CCCCCCCCCC", "CCCCCCCCCC"),
    ]  # fmt: skip
    for mate in (0, 1):
        (folder / f"r{mate}.fa").write_text("".join(f">{i}\n{pair[mate]}\n" for i, pair in enumerate(pairs)))
    done = command("count", "-l", "l.csv", "-1", "r0.fa", "-2", "r1.fa")
    assert rows(done.out)[1:] == [["a", "a", "3"], ["b", "b", "1"]]
    assert "r0: 6 pairs: 4 assigned (66.67 %), 1 ambiguous, 1 unassigned; " in done.err
    assert re.search(r"fmx: 6 pairs: 4 assigned \(66.67 %\); .*, [0-9,]+ pairs/s", done.err)
    assert not re.search("[0-9] reads?", done.err)
