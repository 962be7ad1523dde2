"""Reads collapsed by other programs, collapsed again: each counts as often as its name says."""

import naive
from output_of import without_program

from .. import world
from ..case import Case
from . import judged

SHARE = 1
FORMS = [  # name of read i, what is left of it, and whether it stands for n reads
    ("s{i}_x{n}", "s{i}", True), ("{i}-{n}", "{i}", True), ("s{i};size={n}", "s{i}", True),
    ("s{i};size={n};", "s{i}", True), ("s{i};ee=1;size={n};length=7", "s{i};ee=1", True),
    ("trn_{i}_{n}", "trn_{i}_{n}", False), ("s{i}:{n}", "s{i}:{n}", False), ("s{i}", "s{i}", False),
    ("s{i};sizes={n}", "s{i};sizes={n}", False), ("s{i}-{n}", "s{i}-{n}", False),
]  # fmt: skip


def make(rng, folder) -> Case:
    letters = [read.replace(".", "N") for read in world.sequences(rng, rng.randrange(1, 9))]
    forms, reads = rng.sample(FORMS, rng.randrange(1, 4)), []
    for i in range(rng.randrange(1, 15)):
        name, left, is_many = rng.choice(forms)
        n = rng.choice([1, 2, 17, 100, 12345])
        reads.append([name.format(i=i, n=n), left.format(i=i, n=n), n if is_many else 1, rng.choice(letters)])
    text = "".join(f">{name}\n{read}\n" for name, _, _, read in reads).encode()
    arguments = ["search", "-a", *world.searching(rng), "in.fa", "--collapse", "--counts", "counts.tsv"]
    commands, outputs = [[*arguments, "-o", "out.sam"]], ["out.sam", "counts.tsv"]
    if n_shards := rng.choice([0, 0, 1, 3]):
        shards = range(1, n_shards + 1)
        commands = [[*arguments, "--shard", f"{i}/{n_shards}", "-o", "out.d"] for i in shards]
        commands += [["merge", "-q", "out.d", "-o", "out.sam"]]
        outputs.append("out.d")
    facts = {"reads": reads, "kept": ["out.d"]}
    return Case(
        "collapse", "", commands, {"in.fa": text}, "collapsed reads", outputs, b"",
        rng.choice([None, 16, 64, 300]), facts,
    )  # fmt: skip


def check(case, outcomes, folder) -> list:
    if any(outcome.code for outcome in outcomes):
        return ["refused collapsed reads"]
    return judged(_check, case.facts["reads"], folder)


def _check(reads, folder) -> None:
    kept: dict = {}
    for _, name, n, letters in reads:
        kept.setdefault(letters.upper().replace("U", "T"), [name, 0])[1] += n
    lines = without_program((folder / "out.sam").read_bytes()).decode().splitlines()
    records = [line.split("\t") for line in lines if not line.startswith("@")]
    names = [record[0] for record in records if not int(record[1]) & 256]
    assert names == [f"{name}_x{n}" for name, n in kept.values()]
    found = [(naive.locate(world.CONTIGS, letters), n) for letters, (_, n) in kept.items()]
    expected = naive.counts(world.CONTIGS, [places for places, n in found for _ in range(n)])
    assert (folder / "counts.tsv").read_text().split("\n")[1:-1] == expected
