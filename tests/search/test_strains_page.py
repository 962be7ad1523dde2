"""The commands of docs/strains.md and contamination.md give the output shown there."""

import glob
import os
import shlex
from pathlib import Path

import pytest
import strains
from conftest import ROOT

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("strains", "contamination")}
REAL = {
    "yeast.fa.gz": "scerevisiae_sacCer3.fa.gz",
    "ecoli.fa.gz": "ecoli536_NC_008253.fna.gz",
    "lambda.fa.gz": "lambda_NC_001416.fa.gz",
    "yeast.fq.gz": "yeast_SRR5204809_input1_R1.fastq.gz",
    "yeast_2.fq.gz": "yeast_SRR5204809_input1_R2.fastq.gz",
}


@pytest.fixture
def home(folder, data):
    strains.write(folder)
    for name, real in REAL.items():
        os.symlink(data(real), folder / name)
    table = PAGES["strains"].split("species.csv:\n\n")[1].split("\n\n")[0]
    (folder / "species.csv").write_text("".join(f"{line.strip()}\n" for line in table.splitlines()))
    return folder


@pytest.mark.parametrize(("name", "n_tables"), [("strains", 3), ("contamination", 2)])
def test_the_page_tells_the_truth(name, n_tables, home, command):
    blocks, n_shown = PAGES[name].split("\n\n"), 0
    for block, word, following in zip(blocks, [*blocks[1:], ""], [*blocks[2:], "", ""], strict=True):
        lines = [line.strip() for line in block.splitlines()]
        if not block.startswith("    fmx "):
            continue
        for line in lines:
            words = shlex.split(line.split(" > ")[0])[1:]
            words = [path for word in words for path in (sorted(glob.glob(word)) or [word])]
            result = command(*words)
            assert result.code == 0, result.err
        if word.endswith((" is", "prints")) and following.startswith("    "):
            n_shown += 1
            file = Path("strains.tsv")
            told = file.read_text() if "strains.tsv" in words else result.out.decode()
            shown = [row.split() for row in following.splitlines()]
            assert [row.split("\t") for row in told.splitlines()] == shown
    assert n_shown == n_tables
    made = ["genes.npz"] if name == "strains" else ["rest.fq.gz", "clean_1.fq.gz", "clean_2.fq.gz"]
    assert all((home / file).stat().st_size > 1000 for file in made)
