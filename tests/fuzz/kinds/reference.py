"""Damaged references: refused, or an index whose contigs and answers are those of the oracle."""

import validate

from .. import mutate, oracle, world
from ..case import Case
from . import refused_or_right

SHARE = 2
READS = "reads.fa"


def make(rng, folder) -> Case:
    data, what = mutate.mutated(rng, world.reference(rng), mutate.TEXT)
    data, form = mutate.packed(rng, data)
    files, stdin, given = {"ref.fa": data, READS: world.fasta(rng, 4, 12)}, b"", "ref.fa"
    if rng.random() < 0.15:
        stdin, given = data, "-"
    how = [*rng.choice([[], ["--sa-rate", "2"], ["--with-lcp"]]), "-t", str(rng.choice([1, 2]))]
    commands = [
        ["index", "-q", *how, given, "-o", "ref.fmx"],
        ["inspect", "--verify", "ref.fmx"],
        ["search", "-q", "-a", READS],
    ]
    return Case("reference", "", commands, files, f"{what} ({form})", ["ref.fmx"], stdin)


def check(case, outcomes, folder) -> list:
    def look(contigs):
        validate.check(outcomes[-1].out, contigs, oracle.reads(case.files[READS]), None)

    return refused_or_right(
        outcomes[-1], lambda: oracle.reference(oracle.unpacked(case.files["ref.fa"])), look
    )
