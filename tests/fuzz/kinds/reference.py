"""Damaged references: refused, or an index whose contigs and answers are those of the oracle."""

import validate

from .. import mutate, oracle, world
from ..case import Case, smaller_files
from . import judged

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
    try:
        contigs = oracle.reference(oracle.unpacked(case.files["ref.fa"]))
    except oracle.RefusedError as error:
        return [] if outcomes[0].code == 1 else [f"took what must be refused: {error}"]
    if outcomes[-1].code:
        return [f"refused what is whole: {outcomes[-1].message.strip()[:200]}"]
    return judged(validate.check, outcomes[-1].out, contigs, oracle.reads(case.files[READS]), None)


def smaller(case):
    return smaller_files(case)
