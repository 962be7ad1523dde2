"""Guides counted, in one run or in shards: the table that the definition gives."""

import json

import guides
import naive

from .. import mutate
from ..case import Case
from . import judged

SHARE = 2
STRANDS = [([], [False, True]), (["--forward-only"], [False]), (["--reverse-only"], [True])]
WHERE = [
    {"offsets": [0, 3]}, {"offsets": [2]}, {}, {"flanks": ["AC", ""]}, {"flanks": ["", "RT"]},
    {"flanks": ["C", "N"]},
]  # fmt: skip


def make(rng, folder) -> Case:
    library, where, (only, strands) = _library(rng), rng.choice(WHERE), rng.choice(STRANDS)
    facts = {"library": library, "strands": strands, "mismatches": rng.randrange(2), **where}
    text, facts["rows"] = _table(rng, library)
    files = {"l.csv": text.encode()}
    facts["samples"] = [
        [_reads(rng, library) for _ in range(rng.randrange(1, 3))] for _ in range(rng.randrange(1, 3))
    ]
    names = []
    for i, sample in enumerate(facts["samples"]):
        names.append([f"{i}.{j}.txt" for j in range(len(sample))])
        for name, reads in zip(names[-1], sample, strict=True):
            files[name], _ = mutate.packed(rng, _text(rng, reads))
    arguments = ["count", "-q", "-l", "l.csv", *only, "--mismatches", str(facts["mismatches"])]
    arguments += ["-t", str(rng.choice([1, 2])), *_options(where), *(",".join(own) for own in names)]
    run, n = [*arguments, "-o", "one.tsv", "--report", "one.json"], rng.randrange(4)
    shards = [[*arguments, "--shard", f"{i}/{n}", "-o", "out.d"] for i in range(1, n + 1)]
    merge = [["merge", "-q", "out.d", "-o", "all.tsv", "--report", "all.json"]] if n else []
    outputs = ["one.tsv", "one.json", "out.d", "all.tsv", "all.json"]
    size = rng.choice([None, 16, 64, 300])
    return Case("count", "", [run, *shards, *merge], files, f"{n} shards", outputs, b"", size, facts)


def _library(rng) -> list:
    alphabet, lengths = rng.choice(["AC", "ACGT", "ACGTN", "ACGTRY"]), rng.choices(range(4, 10), k=3)
    found = ["".join(rng.choices(alphabet, k=rng.choice(lengths))) for _ in range(rng.randrange(1, 9))]
    return list(dict.fromkeys(found))


def _table(rng, library) -> tuple:
    """A table of a library in an order of columns that is clear, and (id, gene) of each guide."""
    has_header, has_codes = rng.random() < 0.5, any(x.strip("ACGTN") for x in library)
    words = rng.sample(["BRCA", "CASK", "RANK", "MYB", "KRAS", "SRC", "GATAD", "HRAS"], k=len(library))
    ids = words if rng.random() < 0.3 and not has_codes else [f"g{i}" for i in range(len(library))]
    columns = {"id": ids, "seq": library, "gene": [f"G{i // 2}" for i in range(len(library))]}
    order = rng.choice([("id", "seq"), ("seq", "id"), ("id", "seq", "gene"), ("seq", "id", "gene")])
    order = rng.sample(order, k=len(order)) if has_header else order
    lines = [*([order] if has_header else []), *zip(*(columns[name] for name in order), strict=True)]
    mark = rng.choice(",;\t")
    text = "".join(mark.join(line) + "\n" for line in lines)
    return text, list(map(list, zip(ids, columns["gene"] if "gene" in order else ids, strict=True)))


def _reads(rng, library) -> list:
    """Reads of either strand that hold a guide, or almost."""
    found = []
    for _ in range(rng.randrange(12)):
        letters = list(rng.choice(library).translate(str.maketrans("RYN", "ATC")))
        for _ in range(rng.randrange(3)):
            letters[rng.randrange(len(letters))] = rng.choice("ACGTNacgu")
        before, after = ("".join(rng.choices("ACGT", k=rng.randrange(most))) for most in (7, 20))
        read = before + "".join(letters) + after
        found.append(naive.reverse_complement(read) if rng.random() < 0.5 else read)
    return found


def _text(rng, reads) -> bytes:
    is_fastq = rng.random() < 0.7
    return "".join(
        f"@{i}\n{x}\n+\n{'I' * len(x)}\n" if is_fastq else f">{i}\n{x}\n" for i, x in enumerate(reads)
    ).encode()


def _options(where) -> list:
    """Those that say where guides stand."""
    if "offsets" in where:
        return ["--offset", ",".join(map(str, where["offsets"]))]
    if "flanks" not in where:
        return ["--anywhere"]
    given = zip(("--after", "--before"), where["flanks"], strict=True)
    return [word for option in given if option[1] for word in option]


def check(case, outcomes, folder) -> list:
    if outcomes[-1].code:
        return [f"refused what is whole: {outcomes[-1].message.strip()[:200]}"]
    wrong = judged(_check, case.facts, (folder / "one.tsv").read_text())
    if len(outcomes) > 1:
        if (folder / "all.tsv").read_bytes() != (folder / "one.tsv").read_bytes():
            wrong.append("merged shards give another table than one run")
        if _of_samples(folder / "all.json") != _of_samples(folder / "one.json"):
            wrong.append("merged shards report other samples than one run")
    return wrong


def _of_samples(path):
    """What a report tells of the data."""
    facts = json.loads(path.read_text())
    return [facts[name] for name in ("counts", "shares", "library", "samples", "ranks", "correlation")]


def _check(facts, text):
    library, flanks = facts["library"], tuple(facts.get("flanks", ("", "")))
    lengths, columns = {len(guide) for guide in library}, []
    for sample in facts["samples"]:
        counted = [
            guides.guide_of(
                library, guides.windows(read, lengths, facts["strands"], facts.get("offsets"), flanks),
                facts["mismatches"],
            )
            for reads in sample
            for read in reads
        ]  # fmt: skip
        columns.append([str(counted.count(i)) for i in range(len(library))])
    expected = [[*names, *row] for names, row in zip(facts["rows"], zip(*columns, strict=True), strict=True)]
    found = [line.split("\t") for line in text.splitlines()[1:]]
    assert found == expected, (found, expected)
