"""Reads, damaged or not, that share a stretch of bases with the reference, or a contig of it, or none."""

import naive

from .. import mutate, oracle, world
from ..case import Case
from . import refused_or_right

SHARE = 1


def make(rng, folder) -> Case:
    lines = [f">r{i}\n{read}\n" for i, read in enumerate(world.sequences(rng, rng.randrange(1, 9), 90))]
    data, what = "".join(lines).encode(), "whole"
    if rng.random() < 0.3:
        data, what = mutate.mutated(rng, data, mutate.TEXT, 1)
    least, strand = rng.randrange(16, 45), rng.choice(["", "", "--forward-only", "--reverse-only"])
    index = f"{world.FOLDER}/{rng.choice(['whole.fmx', 'parts.fmx'])}"
    arguments = ["search", "-q", "-x", index, "--method", "verify", "--min-match", str(least), "in.fa"]
    targets = [*(name for name, _ in world.CONTIGS), "ambiguous"] if rng.random() < 0.3 else []
    outputs = {"--al": "{target}.txt" if targets else "al.txt", "--un": "un.txt"}
    if rng.random() < 0.5:  # otherwise one contig is enough
        outputs["--counts"] = "counts.tsv"
    arguments += [*filter(None, [strand]), *(word for pair in outputs.items() for word in pair)]
    strands = {"": (0, 1), "--forward-only": (0,), "--reverse-only": (1,)}[strand]
    size = rng.choice([None, None, 64, 300])
    facts = {"least": least, "strands": strands, "by_target": bool(targets)}
    written = [*(f"{target}.txt" for target in targets or ["al"]), *[*outputs.values()][1:]]
    return Case(
        "stretches", "", [arguments], {"in.fa": data}, f"stretches: {what}", written, b"", size, facts
    )


def check(case, outcomes, folder) -> list:
    (outcome,), data = outcomes, case.files["in.fa"]
    return refused_or_right(outcome, lambda: oracle.reads(data, len(data)), _check, case.facts, folder)


def _check(facts, folder, records) -> None:
    of = [
        naive.contigs_of_stretches(world.CONTIGS, read, facts["least"], facts["strands"])
        for _, read, _ in records
    ]
    files = {"al": bool, "un": lambda contigs: not contigs}
    if facts["by_target"]:
        files = {name: {i}.__eq__ for i, (name, _) in enumerate(world.CONTIGS)}
        files |= {"ambiguous": lambda contigs: len(contigs) > 1, "un": lambda contigs: not contigs}
    for name, belongs in files.items():
        written = [read for _, read, _ in oracle.reads((folder / f"{name}.txt").read_bytes(), 1 << 20)]
        assert written == [read for (_, read, _), each in zip(records, of, strict=True) if belongs(each)], (
            name
        )
    if not (folder / "counts.tsv").exists():
        return
    rows = [line.split("\t") for line in (folder / "counts.tsv").read_text().splitlines()[1:]]
    counts = [int(n) for _, _, n, *_ in rows]
    assert counts == [sum(i in each for each in of) for i in range(len(counts))]
