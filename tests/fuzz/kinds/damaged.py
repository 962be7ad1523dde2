"""Damaged index folders, checksums as they were: refused, or the right output."""

from .. import mutate_index, oracle, world
from ..case import Case
from . import judged, reads

SHARE = 2
INDEX = "ref.fmx"
READS = "reads.fa"
FACTS = {  # what kinds/reads.py wants to know of the commands below
    "search": {
        "limit": None, "at_most": None, "group": None, "unmapped": True, "strands": [0, 1], "output": None,
        "counts": False,
    },
    "locate": {"strands": [0, 1], "form": "tsv"},
    "mem": {"least": 8, "strand": "-b", "kind": ""},
}  # fmt: skip


def make(rng, folder) -> Case:
    name = rng.choice(sorted(world.INDEXES))
    files, what = mutate_index.damaged(rng, world.files_of(folder, name))
    return case_of(rng, name, files, what, "damaged")


def case_of(rng, name, files, what, kind) -> Case:
    """A case that asks something of an index made from one of the world's."""
    files = {key.replace(name, INDEX, 1): data for key, data in files.items()}
    files[READS] = world.fasta(rng, 5)
    index = ["-x", INDEX, "-q"]
    mem = ["mem", *index, "-l", "8", "-b", "--format", "tsv", READS]
    commands = [
        *[["search", *index, "-a", *world.ways(rng, name), READS]] * 2,
        ["locate", *index, *world.ways(rng, name), READS],
        rng.choice([mem, [*mem, "--algorithm", "mummergpu"]]),
        *(["inspect", *options, INDEX] for options in ([], ["--json"], ["--verify"])),
        *(["index", "-q", "--add", *options, INDEX]
          for options in (["--layout", "bvsfm-k1-d224"], ["--with-lcp"])),
    ]  # fmt: skip
    command = rng.choice(commands)
    return Case(kind, "", [command], files, f"{name} {what}", [INDEX] if "--add" in command else [])


def check(case, outcomes, folder) -> list:
    (outcome,) = outcomes
    command = case.commands[0][0]
    if outcome.code:
        return [] if outcome.code == 1 else [f"exit {outcome.code}"]
    if command in reads.ANSWERS:
        records = oracle.reads(case.files[READS])
        return judged(reads.ANSWERS[command], FACTS[command], outcome.out, folder, records)
    return []
