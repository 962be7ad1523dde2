"""Shards of a count: what fmx merge adds up is what a run without shards writes."""

import gzip
import json
import random
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from output_of import bgzf

from fmx.input import spans

FACTS = ["inputs", "library", "counts", "shares", "samples", "correlation"]


def of_data(path) -> dict:
    """What a report in JSON tells of the data, not of the run."""
    facts = json.loads(Path(path).read_text())
    return {name: facts[name] for name in FACTS}


def write_as(kind, letters, path):
    """Reads as a file of this kind; its name."""
    line = "@{0}\n{1}\n+\n{2}\n" if kind != "fa" else ">{0}\n{1}\n"
    data = "".join(line.format(i, x, len(x) * "I") for i, x in enumerate(letters)).encode()
    pack = {"bgzf": partial(bgzf, size=100), "gz": gzip.compress}.get(kind, bytes)
    path.write_bytes(pack(data))
    return str(path)


@pytest.mark.parametrize("seed", range(15))
def test_unassigned_sequences_of_shards_are_those_of_the_run(seed, folder, command, cut_sizes, monkeypatch):
    """Of the first reads of each file, whatever the files, spans, shards and offsets."""
    rng = random.Random(f"unassigned {seed}")
    first, n_shards = rng.choice([1, 3, 10, 30, 1000]), rng.randint(2, 7)
    cut_sizes(rng.randint(40, 300))
    monkeypatch.setattr("fmx.guides.counting.CHUNK_SIZE", rng.randint(40, 300))
    small = SimpleNamespace(plan=partial(spans.plan, size=rng.randint(40, 300)))
    monkeypatch.setattr("fmx.guides.counting.spans", small)
    for place in ("counting", "results"):
        monkeypatch.setattr(f"fmx.guides.{place}.FIRST", first)
    samples, expected, offsets = [], [], rng.choice([(0,), (0, 3), (3, 0), (2,)])
    library = {"g": "ACGTACGT", "other": "CCCCAAAA"}
    for i in range(rng.randint(1, 2)):
        names, left = [], Counter()
        for j in range(rng.randint(1, 3)):
            reads = [
                rng.choice(["", "C", "GATT"])
                + rng.choice([*library.values(), "TTTTAAAA", "GGGGCCCC", "CNCCCC", "A"])
                for _ in range(rng.randint(0, 60))
            ]
            kind = rng.choice(["fq", "fq", "bgzf", "gz", "fa"])
            names.append(write_as(kind, reads, folder / f"{i}{j}.x"))
            for read in reads[:first]:
                windows = [read[at : at + 8] for at in offsets if len(read) >= at + 8]
                if windows and not set(windows) & set(library.values()) and "N" not in windows[0]:
                    left[windows[0]] += 1
        samples.append(",".join(names))
        expected.append({name: n for name, n in left.items() if n})
    (folder / "l.csv").write_text("".join(f"{name},{letters}\n" for name, letters in library.items()))
    given = ["-l", "l.csv", *samples, "--offset", ",".join(map(str, offsets)), "--forward-only"]
    whole = command("count", *given, "-t", 2, "-o", "w.tsv", "--report", "w.json", "--report", "s.tsv")
    table = (folder / "s.tsv").read_bytes()
    told = json.loads((folder / "w.json").read_text())["samples"]
    assert [{x["sequence"]: x["reads"] for x in each["top_unassigned"]} for each in told] == expected
    for i in range(1, n_shards + 1):
        words = [
            *given,
            "--shard",
            f"{i}/{n_shards}",
            "-o",
            "out.d",
            "--report",
            "m.json",
            "--report",
            "s.tsv",
        ]
        done = command("count", *words, "-t", 1 + i % 2)
        assert done.code == 0, done.err
    assert "is done already" in command("count", *words).err
    merged = command("merge", "out.d", "-o", "m.tsv")
    said = [[x for x in done.err.splitlines() if " Gini " in x] for done in (whole, merged)]
    assert (len(said[0]), said[1], (folder / "s.tsv").read_bytes()) == (len(samples), said[0], table)
    assert of_data("m.json") == of_data("w.json")
    assert (folder / "m.tsv").read_bytes() == (folder / "w.tsv").read_bytes()
