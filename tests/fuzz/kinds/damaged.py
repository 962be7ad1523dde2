"""Damaged index folders, checksums as they were: refused, or the right output."""

import naive
import validate

from .. import mutate_index, oracle, world
from ..case import Case

SHARE = 2
INDEX = "ref.fmx"
READS = "reads.fa"


def make(rng, folder) -> Case:
    name = rng.choice(sorted(world.INDEXES))
    files, what = mutate_index.damaged(rng, world.files_of(folder, name))
    return case_of(rng, name, files, what, "damaged")


def case_of(rng, name, files, what, kind) -> Case:
    """A case that asks something of an index made from one of the world's."""
    files = {key.replace(name, INDEX, 1): data for key, data in files.items()}
    files[READS] = world.fasta(rng, 5)
    index = ["-x", INDEX, "-q"]
    commands = [
        ["search", *index, "-a", *world.ways(rng, name), READS],
        ["search", *index, "-a", *world.ways(rng, name), READS],
        ["locate", *index, *world.ways(rng, name), READS],
        ["mem", *index, "-l", "8", "-b", *rng.choice([[], ["--algorithm", "mummergpu"]]), READS],
        ["inspect", INDEX],
        ["inspect", "--json", INDEX],
        ["inspect", "--verify", INDEX],
        ["index", "-q", "--add", "--layout", "bvsfm-k1-d224", INDEX],
        ["index", "-q", "--add", "--with-lcp", INDEX],
    ]
    return Case(kind, "", [rng.choice(commands)], files, f"{name} {what}", [])


def check(case, outcomes, folder) -> list:
    (outcome,) = outcomes
    arguments = case.commands[0]
    if outcome.code:
        return [] if outcome.code == 1 else [f"exit {outcome.code}"]
    if arguments[0] == "search":
        try:
            validate.check(outcome.out, world.CONTIGS, oracle.reads(case.files[READS]), limit=None)
        except AssertionError as error:
            return [f"wrong output {str(error)[:300]}"]
    if arguments[0] == "locate":
        records = oracle.reads(case.files[READS])
        expected = sum(len(naive.locate(world.CONTIGS, sequence)) for _, sequence, _ in records)
        if outcome.out.count(b"\n") != expected + 1:
            return ["wrong output of locate"]
    return []
