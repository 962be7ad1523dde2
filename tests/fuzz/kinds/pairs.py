"""Damaged files of mates: refused, or each pair answered as the oracle says."""

import naive
import naive_pairs
from output_of import without_program

from .. import mutate, oracle, world
from ..case import Case
from . import refused_or_right

SHARE = 2
MOST = 3000  # proper pairs, or occurrences, of a pair that the oracle looks at


def make(rng, folder) -> Case:
    case = made(rng, 0.7)
    case.commands[0] += ["-o", "out.sam", "--counts", "counts.tsv"]
    return case


def made(rng, damage) -> Case:
    """A search whose outputs are not said; files are damaged with this probability."""
    n = rng.randrange(1, 8)
    n_names = rng.choice([1, 2, n])  # names repeat where lanes were joined
    ends = rng.choice([("", ""), ("/1", "/2"), (".1", ".2"), ("_1", "_2")])
    mates = [_mates(rng, n, end, n_names) for end in ends]
    names, facts = ["1.txt", "2.txt"], {"interleaved": rng.random() < 0.3}
    if facts["interleaved"]:
        names, mates = ["1.txt"], [[record for pair in zip(*mates, strict=True) for record in pair]]
    files = {name: b"".join(records) for name, records in zip(names, mates, strict=True)}
    name, what = rng.choice(names), "whole"
    if rng.random() < damage:
        files[name], what = mutate.mutated(rng, files[name], mutate.TEXT, 1)
    for name in names:
        files[name], _ = mutate.packed(rng, files[name])
    given = ["--interleaved", *names] if facts["interleaved"] else ["-1", names[0], "-2", names[1]]
    facts["orientation"] = rng.choice(["fr", "fr", "rf", "ff"])
    facts["least"], facts["most"] = rng.choice([(0, 500), (0, 500), (20, 60), (0, 30)])
    facts["limit"], facts["at_most"] = rng.choice([1, 1, 3, None]), rng.choice([None, None, 2])
    facts["mismatches"] = rng.choice([0, 0, 0, 0, 1, 2])
    facts["strata"] = bool(facts["mismatches"]) and rng.random() < 0.5
    facts["unmapped"] = rng.random() < 0.8
    arguments = ["search", *world.searching(rng), *given, f"--{facts['orientation']}"]
    arguments += ["--min-insert", str(facts["least"]), "--max-insert", str(facts["most"])]
    arguments += ["-a"] if facts["limit"] is None else ["-k", str(facts["limit"])]
    arguments += ["-m", str(facts["at_most"])] if facts["at_most"] else []
    arguments += [] if facts["unmapped"] else ["--no-unmapped"]
    arguments += ["--mismatches", str(facts["mismatches"])] if facts["mismatches"] else []
    arguments += ["--strata"] if facts["strata"] else []
    outputs, size = ["out.sam", "counts.tsv"], rng.choice([None, 64, 300])
    return Case("pairs", "", [arguments], files, f"pairs: {what}", outputs, b"", size, facts)


def _mates(rng, n, end, n_names) -> list:
    """Records of FASTQ of n mates, long enough to occur seldom, with ``n_names`` in turn."""
    reads = [read.replace(".", "N") + rng.choice(["", "ACAC"]) for read in world.sequences(rng, n)]
    return [f"@r{i % n_names}{end}\n{read}\n+\n{'I' * len(read)}\n".encode() for i, read in enumerate(reads)]


def check(case, outcomes, folder) -> list:
    (outcome,) = outcomes
    return refused_or_right(outcome, lambda: paired(sides(case)), check_output, case.facts, folder)


def sides(case) -> list:
    """The records of each file."""
    return [oracle.reads(oracle.unpacked(case.files[name])) for name in sorted(case.files)]


def paired(sides) -> list:
    """(name, (letters, qualities), the same of mate 2) of each pair."""
    one, two = sides if len(sides) == 2 else (sides[0][::2], sides[0][1::2])
    if len(one) != len(two):
        raise oracle.RefusedError("mates are missing")
    return [(_name(a[0], b[0]), a[1:], b[1:]) for a, b in zip(one, two, strict=True)]


def _name(one, two) -> str:
    if one == two:
        return one
    if len(one) > 2 and one[:-1] == two[:-1] and one[-2] in "/._" and one[-1] + two[-1] == "12":
        return one[:-2]
    raise oracle.RefusedError(f"mates of other names: {one} and {two}")


def check_output(facts, folder, pairs):
    found = [_occurrences(facts, one[0], two[0]) for _, one, two in pairs]
    if max((len(places) for own in found for places in own), default=0) > MOST:
        return
    names = "orientation", "least", "most", "limit", "at_most", "unmapped", "mismatches", "strata"
    expected = naive_pairs.records(world.CONTIGS, pairs, naive_pairs.Rule(*(facts[name] for name in names)))
    lines = without_program((folder / "out.sam").read_bytes()).decode().splitlines()
    records = [line.split("\t") for line in lines if not line.startswith("@")]
    assert records == expected, [both for both in zip(records, expected, strict=False) if both[0] != both[1]][
        :1
    ]
    counted = [x for own in found for x in own if facts["at_most"] is None or len(x) <= facts["at_most"]]
    text = (folder / "counts.tsv").read_text()
    assert text.split("\n")[1:-1] == naive.counts(world.CONTIGS, counted), text


def _occurrences(facts, one, two) -> list:
    """The places of both mates in proper pairs, else those of each by itself."""
    lie, near = (facts["orientation"], facts["least"], facts["most"]), (facts["mismatches"], facts["strata"])
    proper = naive_pairs.proper_pairs(world.CONTIGS, one, two, *lie, *near)
    return (
        [[pair[i] for pair in proper] for i in (0, 1)]
        if proper
        else [naive_pairs.occurrences(world.CONTIGS, read, *near) for read in (one, two)]
    )
