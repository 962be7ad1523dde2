"""Reads and pairs in shards, merged: what the oracles say of the whole; damaged files may be refused."""

from itertools import chain

import validate

from .. import mutate, world
from ..case import Case
from . import pairs, refused_or_right

SHARE = 3


def make(rng, folder) -> Case:
    made = pairs.made(rng, 0.2) if rng.random() < 0.7 else _reads(rng)
    (arguments,), n = made.commands, rng.randrange(1, 6)
    if made.what.endswith(": whole") and rng.random() < 0.5:
        made.facts["range"] = rng.randrange(1, 5), rng.randrange(1, 9)
        arguments += ["--skip", str(made.facts["range"][0]), "--first", str(made.facts["range"][1])]
    arguments += ["-o", "out.d", "--counts", "counts.tsv", "--shard"]
    shards = [[*arguments, f"{i}/{n}"] for i in range(1, n + 1)]
    rng.shuffle(shards)
    merge = ["merge", "-q", "out.d", "-o", "out.sam"]
    made.facts["kept"] = ["out.d"]  # of which nothing but the folder may come from a shard that failed
    return Case(
        "shards", "", [*shards, merge], made.files, made.what, ["out.d", "out.sam", "counts.tsv"], b"",
        rng.choice([1, 16, 64, 300]), made.facts,
    )  # fmt: skip


def _reads(rng) -> Case:
    """A search of single reads."""
    files, what = {}, "whole"
    for i in range(rng.randrange(1, 4)):
        text = rng.choice([world.fastq, world.fasta])(rng, rng.randrange(12))
        if rng.random() < 0.1:
            text, what = mutate.mutated(rng, text, mutate.TEXT, 1)
        files[f"{i}.txt"], _ = mutate.packed(rng, text)
    arguments = ["search", "-a", *world.searching(rng), *files]
    return Case("shards", "", [arguments], files, f"reads: {what}", facts={"single": True})


def check(case, outcomes, folder) -> list:
    def read():
        sides = pairs.sides(case)
        records = list(chain(*sides)) if "single" in case.facts else pairs.paired(sides)
        skip, n = case.facts.get("range", (0, len(records)))
        return records[skip : skip + n]

    def check_reads(facts, folder, records):
        validate.check((folder / "out.sam").read_bytes(), world.CONTIGS, records, None)

    look = check_reads if "single" in case.facts else pairs.check_output
    return refused_or_right(outcomes[-1], read, look, case.facts, folder)
