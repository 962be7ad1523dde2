"""--first and --skip: exact, whoever reads which span, and blind for what lies behind."""

import gzip
import random
from functools import partial

import cases
import pytest
from output_of import bgzf, without_program
from texts import numbered, random_letters

GENOME = numbered([random_letters(500, "chosen")])
RECORDS = [(f"r{i}", GENOME[0][1][3 * i : 3 * i + 20 + i % 7]) for i in range(60)]


def test_damage_behind_the_last_read_is_not_met(folder, index_of, command):
    good = cases.fastq(RECORDS)
    (folder / "r.fq").write_bytes(good + b"@bad\nAC\n+\nI\n")
    for arguments, code in (
        ("--first 60", 0), ("--first 61", 1), ("--skip 59 --first 1", 0), ("--skip 60", 1)
    ):  # fmt: skip
        result = command("search", "-q", "-x", index_of(GENOME), "r.fq", "-o", "o.sam", *arguments.split())
        assert (result.code, "r.fq: record 61: " in result.err) == (code, code == 1)


@pytest.mark.parametrize("seed", range(12))
def test_shards_of_a_range_are_the_range(seed, folder, index_of, command, cut_sizes):
    """Of single reads and of pairs, wherever files may be cut, and in as many shards as anybody wants."""
    rng = random.Random(f"range {seed}")
    cut_sizes(rng.choice([40, 100, 1000]))
    n, names = 0, []
    for i in range(rng.randint(1, 3)):
        records = [(f"r{i}.{j}", "ACGTTGCA"[: rng.randint(0, 8)]) for j in range(rng.randint(1, 40))]
        kind, form = rng.choice([bytes, gzip.compress, partial(bgzf, size=90)]), cases.fastq
        n += len(records)
        names.append((f"a{i}", f"b{i}"))
        for name in names[-1]:
            (folder / name).write_bytes(kind(form(records)))
    one, two = (",".join(files) for files in zip(*names, strict=True))
    given = rng.choice([one.split(","), ["-1", one, "-2", two]])
    skip, first, n_shards = rng.randint(0, n), rng.randint(1, n), rng.randint(1, 6)
    how = ["search", "-q", "-x", index_of(GENOME), *given, "--skip", skip, "--first", first]
    assert command(*how, "-o", "one.sam").code == 0
    for i in range(1, n_shards + 1):
        done = command(*how, "--shard", f"{i}/{n_shards}", "-o", "d")
        assert done.code == 0, done.err
    assert command("merge", "-q", "d", "-o", "all.sam").code == 0
    found, expected = ((folder / name).read_bytes() for name in ("all.sam", "one.sam"))
    assert without_program(found) == without_program(expected)
    n_records = sum(not line.startswith(b"@") for line in expected.splitlines())
    assert n_records == min(first, n - skip) * (2 if "-1" in given else 1)
