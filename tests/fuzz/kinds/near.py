"""Near matches of reads and patterns with N or other letters, damaged or not, answered as the oracle says."""

import naive
import pysam
import validate
from output_of import without_program

from .. import mutate, oracle, world
from ..case import Case
from . import refused_or_right

SHARE = 2
LETTERS = "ACGTUNRYSWKMBDHVXacgtunry."


def make(rng, folder) -> Case:
    data, what = _text(rng), "whole"
    if rng.random() < 0.3:
        data, what = mutate.mutated(rng, data, mutate.TEXT, 1)
    given = world.searching(rng)
    facts = {"mismatches": rng.choice([1, 2]), "command": rng.choice(["search", "search", "locate"])}
    outputs: list = []
    if facts["command"] == "search":
        facts["limit"], facts["strata"] = rng.choice([1, 3, None]), rng.random() < 0.4
        facts["at_most"], facts["output"] = rng.choice([None, None, 2]), rng.choice(["out.sam", "out.bam"])
        given += ["-a"] if facts["limit"] is None else ["-k", str(facts["limit"])]
        facts["nh"] = rng.choice(["total", "reported"])
        given += [*(["--strata"] if facts["strata"] else []), "--nh", facts["nh"]]
        given += ["-m", str(facts["at_most"])] if facts["at_most"] else []
        given, outputs = [*given, "-o", facts["output"]], [facts["output"]]
    else:
        facts["iupac"] = rng.random() < 0.5
        given += ["--iupac"] if facts["iupac"] else []
    arguments = [facts["command"], *given, "--mismatches", str(facts["mismatches"]), "in.txt"]
    size = rng.choice([None, None, 64, 300])
    return Case("near", "", [arguments], {"in.txt": data}, f"near: {what}", outputs, b"", size, facts)


def _text(rng) -> bytes:
    """Records whose reads have a few letters of any kind, or a few N."""
    lines, is_fastq, others = [], rng.random() < 0.6, rng.choice([LETTERS, "N", "NNNACGT"])
    for i, read in enumerate(world.sequences(rng, rng.randrange(1, 7))):
        letters = list(read)
        for _ in range(rng.randrange(4)):
            letters[rng.randrange(len(letters))] = rng.choice(others)
        read, quality = "".join(letters), "".join(rng.choices("@+>!~IJ#", k=len(letters)))
        lines.append(f"@r{i}\n{read}\n+\n{quality}\n" if is_fastq else f">r{i}\n{read}\n")
    return "".join(lines).encode()


def check(case, outcomes, folder) -> list:
    (outcome,), facts, data = outcomes, case.facts, case.files["in.txt"]
    longest = oracle.LONGEST_NAME if facts["command"] == "search" else len(data)
    look, output = check_locate, outcome.out
    if facts["command"] == "search":
        look, output = _check_search, folder / facts["output"]
    return refused_or_right(outcome, lambda: oracle.reads(data, longest), look, facts, output)


def _check_search(facts, path, records):
    if path.suffix == ".bam":
        text = pysam.view("--no-PG", str(path))
    else:
        text = without_program(path.read_bytes()).decode()
    found = [line.split("\t") for line in text.splitlines() if not line.startswith("@")]
    names = "limit", "at_most", "strata", "nh", "mismatches"
    how = {name: facts[name] for name in names}
    expected = [line for read in records for line in validate.records(world.CONTIGS, read, **how)]
    assert found == expected, [both for both in zip(found, expected, strict=False) if both[0] != both[1]][:1]


def check_locate(facts, out, records):
    """TSV or BED of exact or near matches."""
    expected, n_mismatches = [], facts.get("mismatches", 0)
    for name, read, _ in records:
        if n_mismatches or facts.get("iupac"):
            found = naive.near(world.CONTIGS, read, n_mismatches, facts["iupac"])
        else:
            found = [(0, *hit) for hit in naive.locate(world.CONTIGS, read, facts.get("strands", (0, 1)))]
        for contig, start, strand, n in sorted((*hit[1:], hit[0]) for hit in found):
            place = [world.CONTIGS[contig][0], start, start + len(read)]
            row = [name or read, *place, "+-"[strand], len(found), *([n] if "mismatches" in facts else [])]
            if facts.get("form") == "bed":
                row = [*place, name or read, 0, "+-"[strand]]
            expected.append("\t".join(map(str, row)))
    lines = out.decode().splitlines()[facts.get("form") != "bed" :]
    assert lines == expected, [both for both in zip(lines, expected, strict=False) if both[0] != both[1]][:1]
