"""What is told at the end: the same of one run, of its shards after fmx merge, and on a cluster."""

import re

import cases
import pytest
from cluster import nearby
from texts import numbered, random_letters

UNIT = random_letters(4000, "told")
STRANGE = [random_letters(40, f"strange {i}") for i in range(120)]
NEAR = [UNIT[i : i + 20] + "N" * 9 for i in range(0, 2400, 20)]
LETTERS = "empty, or with characters other than A, C, G, T and U"
OTHER_REFERENCE = (
    "fmx: hint: a read must match over its whole length: trim adapters (--trim5, --trim3, --length), allow "
    "--mismatches, and check the reference"
)
CASES = {
    "search": (["reads.fq"], [
        "fmx: 120 reads: 0 mapped (0.00 %), 0 uniquely; 0 occurrences",
        OTHER_REFERENCE,
    ]),
    "search --forward-only": (["reads.fq"], [
        "fmx: 120 reads: 0 mapped (0.00 %), 0 uniquely; 0 occurrences",
        "fmx: hint: reads may come from the other strand: remove --forward-only",
    ]),
    "search -m 1": (["near.fq"], [
        f"fmx: 120 reads: 0 mapped (0.00 %), 0 uniquely; 0 occurrences; 120 not searched ({LETTERS})",
        "fmx: hint: most reads cannot be searched: check the file; trim ends of N with --trim5 and "
        "--trim3",
    ]),
    "search -1 reads.fq -2 near.fq": ([], [
        "fmx: 120 pairs: 0 mapped as proper pairs (0.00 %), 0 uniquely; 0 proper pairs in all; 0 mates "
        f"mapped separately; 120 mates not searched ({LETTERS})",
        OTHER_REFERENCE,
    ]),
    "locate": (["near.fq"], [
        f"fmx: 120 patterns: 0 found (0.00 %), 0 uniquely; 0 occurrences; 120 not searched ({LETTERS})",
        "fmx: hint: to match IUPAC codes in patterns, such as N, R or Y, add --iupac",
    ]),
    "search -k 1": (["none.fq"], [
        "fmx: warning: no reads in none.fq", "fmx: 0 reads: 0 mapped (0.00 %), 0 uniquely; 0 occurrences",
    ]),
    "mem": (["near.fq"], ["fmx: 120 queries (3,480 bases in all): 120 matches"]),
    "pairwise": (["genes.fa"], ["fmx: 435 pairs"]),
    "count -l l.csv --offset 0": (["reads.fq"], [
        "fmx: reads: 120 reads: 0 assigned (0.00 %), 120 unassigned; 2 of 2 guides without reads, Gini "
        "0.000",
        "fmx: hint: few reads of sample reads contain a guide there: check --offset, or leave it out to "
        "find offsets in the reads; --report lists the most frequent unassigned sequences",
        "fmx: 120 reads: 0 assigned (0.00 %)",
    ]),
}  # fmt: skip
_PACE = (
    r"; ((\d+ shards?), [0-9.]+ s of computing time|"
    r"((\d+ shards?), )?[0-9.]+ s( [(].*[)])?, [0-9,.]+ \w+/s( without compiling)?)$"
)


@pytest.fixture
def files(folder, index_of):
    for name, reads in (("reads", STRANGE), ("near", NEAR)):
        records = [(f"r{i}", read) for i, read in enumerate(reads)]
        (folder / f"{name}.fq").write_bytes(cases.fastq(records))
    (folder / "none.fq").touch()
    (folder / "l.csv").write_text(f"a,{UNIT[:20]}\nb,{UNIT[50:70]}\n")
    (folder / "genes.fa").write_bytes(cases.fasta([(f"g{i}", UNIT[i : i + 60]) for i in range(30)]))
    return index_of(numbered([UNIT]))


def told(result, n_shards=0) -> list:
    """The lines of the end, without how long it took; of shards with their number."""
    assert result.code == 0, result.err
    paces = [found for line in result.err.splitlines() if (found := re.search(_PACE, line))]
    assert [found[2] or found[4] for found in paces] == [f"{n_shards} shards" if n_shards else None]
    lines = [re.sub(_PACE, "", line) for line in result.err.splitlines()]
    return [line for line in lines if not re.search("compiling|cluster|[0-9]:[0-9]", line)]


@pytest.mark.parametrize("words", CASES)
def test_one_run_its_shards_and_a_cluster_end_with_the_same_words(words, files, command, monkeypatch):
    inputs, expected = CASES[words]
    given = [*words.split(), *inputs]
    given += [] if given[0] in ("pairwise", "count") else ["-x", files]
    assert told(command(*given, "-o", "one")) == expected
    for i in (1, 2):
        assert command(*given, "--shard", f"{i}/2", "-o", "d").code == 0
    assert told(command("merge", "d", "-o", "merged"), 2) == expected
    if "none.fq" in inputs:  # no rate is known there
        return
    done = command(*given, *nearby.use(monkeypatch), "-o", "all")
    n_shards = int(re.search(r"fmx: (\d+) shards? on the cluster at .* [(]2 threads[)]", done.err)[1])
    assert n_shards > 1
    assert told(done, n_shards) == expected
