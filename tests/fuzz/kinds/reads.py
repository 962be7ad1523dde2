"""Damaged reads, patterns, queries and sequences: refused, or each record answered as the oracles say."""

import naive
import pysam
import validate
from align import naive_nw

from .. import mutate, oracle, world
from ..case import Case
from . import refused_or_right

SHARE = 6
LETTERS = "ACGTUNRYSWKMBDHVXacgtunry."


def make(rng, folder) -> Case:
    command = rng.choice([_search, _search, _search, _locate, _mem, _pairwise])
    arguments, facts, outputs, text = command(rng)
    data, what = mutate.mutated(rng, text, mutate.TEXT) if rng.random() < 0.8 else (text, "whole")
    data, form = mutate.packed(rng, data)
    files, given = {"in.txt": data}, ["in.txt"]
    if command is not _pairwise and rng.random() < 0.2:
        files["more.txt"] = world.fasta(rng, 3)
        given.insert(rng.randrange(2), "more.txt")
    facts["given"] = list(given)
    stdin = b""
    if rng.random() < 0.15:
        stdin, given[given.index("in.txt")] = files["in.txt"], "-"
    return Case(
        "reads", "", [[*arguments, *given]], files, f"{arguments[0]}: {what} ({form})", outputs, stdin,
        rng.choice([None, None, 16, 64, 300]), facts,
    )  # fmt: skip


def _text(rng) -> bytes:
    """Records, of which some have a few letters of any kind in their reads, or a few N."""
    form, others = rng.choice([world.fastq, world.fastq, world.fasta]), rng.choice(["", LETTERS, "NNNACGT"])
    return form(rng, rng.randrange(1, 9), others=others)


def _strands(rng) -> tuple:
    """(options, the strands they ask for)."""
    return rng.choice([([], [0, 1]), ([], [0, 1]), (["--forward-only"], [0]), (["--reverse-only"], [1])])


def _search(rng) -> tuple:
    (only, strands), limit = _strands(rng), rng.choice([1, 1, 3, None])
    at_most, group = rng.choice([None, None, 1, 5]), rng.choice([None, None, "lane1"])
    facts = {"limit": limit, "at_most": at_most, "strands": strands, "group": group}
    facts["unmapped"] = rng.random() < 0.8
    facts["output"] = rng.choice([None, "out.sam", "out.bam"])
    facts["mismatches"], facts["nh"] = rng.choice([0, 0, 1, 2]), rng.choice(["total", "reported"])
    facts["strata"] = facts["mismatches"] > 0 and rng.random() < 0.4
    facts["counts"] = not facts["mismatches"] and rng.random() < 0.4
    arguments = ["search", *world.searching(rng), *only, *(["-a"] if limit is None else ["-k", str(limit)])]
    arguments += ["--mismatches", str(facts["mismatches"])] if facts["mismatches"] else []
    arguments += [*(["--strata"] if facts["strata"] else []), "--nh", facts["nh"]]
    arguments += ["-m", str(at_most)] if at_most else []
    arguments += ["--rg", f"@RG\\tID:{group}"] if group else []
    arguments += [] if facts["unmapped"] else ["--no-unmapped"]
    arguments += ["-o", facts["output"]] if facts["output"] else []
    arguments += ["--counts", "counts.tsv"] if facts["counts"] else []
    return arguments, facts, ["out.sam", "out.bam", "counts.tsv"], _text(rng)


def _locate(rng) -> tuple:
    (only, strands), form = _strands(rng), rng.choice(["tsv", "bed"])
    arguments = ["locate", *world.searching(rng), *only, "--format", form]
    facts = {"strands": strands, "form": form}
    if rng.random() < 0.5:
        facts |= {"mismatches": rng.choice([1, 2]), "iupac": rng.random() < 0.5}
        arguments += ["--mismatches", str(facts["mismatches"]), *["--iupac"] * facts["iupac"]]
    return arguments, facts, [], _text(rng)


def _mem(rng) -> tuple:
    least = rng.choice([8, 12, 20])
    strand, kind = rng.choice(["", "-b", "-r"]), rng.choice(["", "", "--mum", "--mumreference"])
    index = rng.choice([["whole.fmx"], ["whole.fmx", "--algorithm", "mummergpu"], ["parts.fmx"]])
    arguments = ["mem", "-q", "-x", f"{world.FOLDER}/{index[0]}", *index[1:], "-l", str(least)]
    arguments += ["--format", "tsv"]
    arguments += [option for option in (strand, kind) if option]
    return arguments, {"least": least, "strand": strand, "kind": kind}, [], _text(rng)


def _pairwise(rng) -> tuple:
    facts = {"identity": rng.choice([0.0, 0.5, 0.9]), "definition": rng.randrange(5)}
    arguments = ["pairwise", "-q", "-t", "1", "--cigar", "--id", str(facts["identity"])]
    arguments += ["--iddef", str(facts["definition"])]
    return arguments, facts, [], world.fasta(rng, rng.randrange(1, 5), 25)


def check(case, outcomes, folder) -> list:
    (outcome,), command = outcomes, case.commands[0][0]

    def read():
        files = [oracle.unpacked(case.files[name]) for name in case.facts["given"]]
        return [record for data in files for record in _parse(command, data)]

    return refused_or_right(outcome, read, ANSWERS[command], case.facts, outcome.out, folder)


def _parse(command, data) -> list:
    if command == "pairwise":
        return oracle.sequences(data)
    return oracle.reads(data, oracle.LONGEST_NAME if command == "search" else len(data))


def _check_search(facts, out, folder, records):
    name = facts["output"]
    if name == "out.bam":
        out = pysam.view("--no-PG", "-h", str(folder / name)).encode()
    elif name:
        out = (folder / name).read_bytes()
    validate.check(
        out, world.CONTIGS, records, facts["limit"], facts["at_most"], facts["group"], facts["unmapped"],
        tuple(facts["strands"]), facts["mismatches"], facts["strata"], facts["nh"],
    )  # fmt: skip
    if facts["counts"]:
        _check_counts(facts, records, (folder / "counts.tsv").read_text())


def _check_counts(facts, records, text):
    found = [naive.locate(world.CONTIGS, sequence, facts["strands"]) for _, sequence, _ in records]
    if facts["at_most"] is not None:
        found = [places for places in found if len(places) <= facts["at_most"]]
    assert text.split("\n")[1:-1] == naive.counts(world.CONTIGS, found), text


def _check_locate(facts, out, folder, records):
    """TSV or BED of exact or near matches."""
    expected = []
    for name, read, _ in records:
        if "mismatches" in facts:
            found = naive.near(
                world.CONTIGS, read, facts["mismatches"], facts["iupac"], tuple(facts["strands"])
            )
        else:
            found = [(0, *hit) for hit in naive.locate(world.CONTIGS, read, facts["strands"])]
        for contig, start, strand, n in sorted((*hit[1:], hit[0]) for hit in found):
            place = [world.CONTIGS[contig][0], start, start + len(read)]
            row = [name or read, *place, "+-"[strand], len(found), *([n] if "mismatches" in facts else [])]
            if facts["form"] == "bed":
                row = [*place, name or read, n, "+-"[strand]]
            expected.append("\t".join(map(str, row)))
    lines = out.decode().splitlines()[facts["form"] != "bed" :]
    assert lines == expected, [both for both in zip(lines, expected, strict=False) if both[0] != both[1]][:1]


def _check_mem(facts, out, folder, records):
    expected = []
    for name, sequence, _ in records:
        sequence = sequence.replace(".", "N").upper()
        sequence = "".join(letter if letter in "ACGTU" else "N" for letter in sequence)
        for strand in {"": "+", "-b": "+-", "-r": "-"}[facts["strand"]]:
            query = sequence if strand == "+" else naive.reverse_complement(sequence)
            for at, contig, start, length in _matches(facts, query):
                begin = at if strand == "+" else len(query) - at - length
                place = [world.CONTIGS[contig][0], start, start + length, length]
                row = [name or "*", begin, begin + length, strand, *place]
                expected.append("\t".join(map(str, row)))
    lines = out.decode().split("\n")[1:-1]
    assert sorted(lines) == sorted(expected), (lines[:3], expected[:3])


def _matches(facts, query):
    if not facts["kind"]:
        return naive.maximal_matches(world.CONTIGS, query, facts["least"])
    return naive.unique_matches(world.CONTIGS, query, facts["least"], facts["kind"] == "--mum")


def _check_pairwise(facts, out, folder, records):
    if sum(len(a) * len(b) for _, a in records for _, b in records) > 20_000:
        return
    rows = {}
    for row in (line.split("\t") for line in out.decode().split("\n")[1:-1]):
        rows.setdefault((row[0], row[1]), []).append(row[2:])
    for i, (name, a) in enumerate(records):
        for other, b in records[i + 1 :]:
            path = naive_nw.align(a, b)
            value = naive_nw.identity(path, len(a), len(b), facts["definition"])
            if value >= facts["identity"]:
                found = rows[name, other].pop(0)
                assert found[:2] == [str(naive_nw.score(a, b)), f"{value:.6f}"], (name, other, found)
                assert found[2:4] == [str(len(path)), str(path.count("="))], (name, other, found)
    assert not any(rows.values()), rows


ANSWERS = {"search": _check_search, "locate": _check_locate, "mem": _check_mem, "pairwise": _check_pairwise}
