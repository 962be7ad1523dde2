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
from texts import random_letters

from fmx.input import spans

FACTS = ["inputs", "library", "counts", "shares", "samples", "ranks", "correlation"]
OUTPUTS = ["--report", "s.tsv", "--report", "s.json", "--report", "r_mqc.json"]


def of_data(path) -> dict:
    """What a report in JSON tells of the data, not of the run."""
    facts = json.loads(Path(path).read_text())
    return {name: facts[name] for name in FACTS}


@pytest.fixture
def screen(folder):
    """A library, and two samples: a plain file with one of BGZF, and a gzip file."""
    library = [random_letters(20, i) for i in range(30)]
    (folder / "l.csv").write_text("".join(f"g{i},{x},G{i // 3}\n" for i, x in enumerate(library)))
    rng = random.Random(5)

    def reads(n, seed):
        letters = ((i % 2 * "T") + rng.choice(library)[: 20 - i % 9 // 8] + "GTTTTA" for i in range(n))
        return "".join(f"@{seed}{i}\n{x}\n+\n{len(x) * 'I'}\n" for i, x in enumerate(letters)).encode()

    (folder / "a.fq").write_bytes(reads(300, "a"))
    (folder / "b.fq.gz").write_bytes(bgzf(reads(400, "b")))
    (folder / "c.fq.gz").write_bytes(gzip.compress(reads(200, "c")))
    return ["-l", "l.csv", "a.fq,b.fq.gz", "c.fq.gz", "--names", "one,two", "--mismatches", "1"]


@pytest.mark.parametrize("n", [1, 3, 7])
def test_shards_add_up_to_the_run(n, screen, folder, command):
    whole = command("count", *screen, "-o", "whole.tsv", *OUTPUTS)
    assert whole.code == 0, whole.err
    expected = {name: (folder / name).read_bytes() for name in ("whole.tsv", "s.tsv", "r_mqc.json")}
    facts = of_data("s.json")
    for i in range(n, 0, -1):
        done = command("count", *screen, "--shard", f"{i}/{n}", "-o", "out.d", "-t", 1 + i % 2)
        assert done.code == 0, done.err
    assert "is done already" in command("count", *screen, "--shard", f"1/{n}", "-o", "out.d").err
    done = command("merge", "out.d", "-o", "merged.tsv", *OUTPUTS)
    assert done.code == 0, done.err
    assert (folder / "merged.tsv").read_bytes() == expected["whole.tsv"]
    for name in ("s.tsv", "r_mqc.json"):
        assert (folder / name).read_bytes() == expected[name]
    assert of_data("s.json") == facts
    told = [line for line in whole.err.splitlines() if line.startswith(("fmx: one", "fmx: two"))]
    assert [line for line in done.err.splitlines() if "reads:" in line][:-1] == told
    assert "900 reads" in done.err


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
    monkeypatch.setattr("fmx.guides.pipeline.CHUNK_SIZE", rng.randint(40, 300))
    small = SimpleNamespace(plan=partial(spans.plan, size=rng.randint(40, 300)))
    monkeypatch.setattr("fmx.guides.counting.spans", small)
    for place in ("counting", "pipeline"):
        monkeypatch.setattr(f"fmx.guides.{place}.FIRST", first)
    samples, expected, offsets = [], [], rng.choice([(0,), (0, 3), (3, 0), (2,)])
    for i in range(rng.randint(1, 2)):
        names, left = [], Counter()
        for j in range(rng.randint(1, 3)):
            reads = [
                rng.choice(["", "C", "GATT"])
                + rng.choice(["ACGTACGT", "TTTTAAAA", "GGGGCCCC", "CNCCCC", "A"])
                for _ in range(rng.randint(0, 60))
            ]
            kind = rng.choice(["fq", "fq", "bgzf", "gz", "fa"])
            names.append(write_as(kind, reads, folder / f"{i}{j}.x"))
            for read in reads[:first]:
                windows = [read[at : at + 8] for at in offsets if len(read) >= at + 8]
                if windows and "ACGTACGT" not in windows and "N" not in windows[0]:
                    left[windows[0]] += 1
        samples.append(",".join(names))
        expected.append({name: n for name, n in left.items() if n})
    (folder / "l.csv").write_text("g,ACGTACGT\n")
    given = ["-q", "-l", "l.csv", *samples, "--offset", ",".join(map(str, offsets)), "--forward-only"]
    assert command("count", *given, "-t", 2, "-o", "w.tsv", "--report", "w.json").code == 0
    told = json.loads((folder / "w.json").read_text())["samples"]
    assert [{x["sequence"]: x["reads"] for x in each["top_unassigned"]} for each in told] == expected
    for i in range(1, n_shards + 1):
        done = command("count", *given, "-t", 1 + i % 2, "--shard", f"{i}/{n_shards}", "-o", "out.d")
        assert done.code == 0, done.err
    assert command("merge", "out.d", "-q", "-o", "m.tsv", "--report", "m.json").code == 0
    assert of_data("m.json") == of_data("w.json")
    assert (folder / "m.tsv").read_bytes() == (folder / "w.tsv").read_bytes()
