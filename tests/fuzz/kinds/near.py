"""Near matches of reads and patterns with N or other letters, damaged or not, answered as the oracle says."""

import naive
import pysam
from output_of import without_program
from validate import mapping_quality, written

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
    facts = {"most": rng.choice([1, 2]), "command": rng.choice(["search", "search", "locate"])}
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
    arguments = [facts["command"], *given, "--mismatches", str(facts["most"]), "in.txt"]
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
    look, output = (
        (_check_locate, outcome.out)
        if facts["command"] == "locate"
        else (_check_search, folder / facts["output"])
    )
    return refused_or_right(outcome, lambda: oracle.reads(data, longest), look, facts, output)


def _check_search(facts, path, records):
    if path.suffix == ".bam":
        text = pysam.view("--no-PG", str(path))
    else:
        text = without_program(path.read_bytes()).decode()
    found = [line.split("\t") for line in text.splitlines() if not line.startswith("@")]
    expected = [line for record in records for line in _lines(facts, *record)]
    assert found == expected, [both for both in zip(found, expected, strict=False) if both[0] != both[1]][:1]


def _lines(facts, name, read, quality) -> list:
    """The SAM records of a read, by docs/pairs.md."""
    found = naive.near(world.CONTIGS, read, facts["most"])
    best = [hit for hit in found if hit[0] == found[0][0]]
    found = best if facts["strata"] else found
    if not found or (facts["at_most"] is not None and len(found) > facts["at_most"]):
        letters, n = [written(read) or "*", quality or "*"], 0 if facts["nh"] == "reported" else len(found)
        return [[name or "*", "4", "*", "0", "0", "*", "*", "0", "0", *letters, f"NH:i:{n}"]]
    lines, n_hits = [], len(found[: facts["limit"]] if facts["nh"] == "reported" else found)
    for number, (n, contig, start, strand) in enumerate(found[: facts["limit"]], 1):
        plus = naive.reverse_complement(read) if strand else written(read)
        letters = [plus, (quality[::-1] if strand else quality) if quality else "*"]
        tags = [f"NH:i:{n_hits}", f"HI:i:{number}", f"NM:i:{n}"]
        bases = naive.plain(world.CONTIGS[contig][1])[start : start + len(read)]
        tags.append(f"MD:Z:{naive.md(plus, bases)}")
        mapq = mapping_quality(len(best)) if n == best[0][0] else 0
        place = [world.CONTIGS[contig][0], str(start + 1), str(mapq), f"{len(read)}M", "*", "0", "0"]
        flag = str(16 * strand + 256 * (number > 1))
        lines.append([name or "*", flag, *place, *(["*", "*"] if number > 1 else letters), *tags])
    return lines


def _check_locate(facts, out, records):
    expected = []
    for name, read, _ in records:
        found = naive.near(world.CONTIGS, read, facts["most"], facts["iupac"])
        for contig, start, strand, n in sorted((*hit[1:], hit[0]) for hit in found):
            place = [world.CONTIGS[contig][0], start, start + len(read), "+-"[strand], len(found), n]
            expected.append("\t".join(map(str, [name or read, *place])))
    lines = out.decode().splitlines()[1:]
    assert lines == expected, [both for both in zip(lines, expected, strict=False) if both[0] != both[1]][:1]
