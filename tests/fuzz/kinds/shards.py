"""Reads and pairs in shards, merged: what the oracles say of the whole; damaged files may be refused."""

from itertools import chain

import validate

from .. import mutate, oracle, world
from ..case import Case, smaller_files
from . import judged, pairs

SHARE = 3


def make(rng, folder) -> Case:
    made = pairs.made(rng, 0.2) if rng.random() < 0.7 else _reads(rng)
    (arguments,), n = made.commands, rng.randrange(1, 6)
    if made.what.endswith(": whole") and rng.random() < 0.5:
        made.facts["range"] = rng.randrange(1, 5), rng.randrange(1, 9)
        arguments += ["--skip", str(made.facts["range"][0]), "--first", str(made.facts["range"][1])]
    shards = [[*arguments, "--shard", f"{i}/{n}", "-o", "out.d", "--counts", "any"] for i in range(1, n + 1)]
    rng.shuffle(shards)
    merge = ["merge", "-q", "out.d", "-o", "out.sam", "--counts", "counts.tsv"]
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
    index = rng.choice(["whole.fmx", "sampled.fmx", "parts.fmx"])
    arguments = ["search", "-q", "-a", "-x", f"{world.FOLDER}/{index}", *world.ways(rng, index), *files]
    return Case("shards", "", [arguments], files, f"reads: {what}", facts={"single": True})


def check(case, outcomes, folder) -> list:
    outcome = outcomes[-1]
    if outcome.code not in (0, 1):
        return [f"exit {outcome.code} of a command that was right"]
    try:
        sides = [oracle.reads(oracle.unpacked(case.files[name])) for name in sorted(case.files)]
        found = list(chain(*sides)) if "single" in case.facts else pairs.paired(sides)
    except oracle.RefusedError as error:
        return [] if outcome.code else [f"took in shards what must be refused: {error}"]
    if outcome.code:
        return [f"refused in shards what is whole: {outcome.message.strip()[:200]}"]
    skip, n = case.facts.get("range", (0, len(found)))
    found = found[skip : skip + n]
    if "single" in case.facts:
        return judged(validate.check, (folder / "out.sam").read_bytes(), world.CONTIGS, found, None)
    return judged(pairs.check_output, case.facts, found, folder)


def smaller(case):
    return smaller_files(case)
