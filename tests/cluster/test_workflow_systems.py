"""What docs/cluster.md says of Snakemake and Nextflow."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from output_of import bgzf, without_program
from texts import numbered, random_letters

ROOT = Path(__file__).parents[2]
SNAKEMAKE = ROOT / ".venv" / "snakemake" / "bin" / "snakemake"
CONTIGS = numbered([random_letters(3000, "one"), random_letters(2000, "two")])


def block_of(word) -> str:
    """The indented block of the page that holds a word."""
    page = (ROOT / "docs" / "cluster.md").read_text()
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", page, re.MULTILINE)
    (block,) = (block for block in blocks if word in block)
    return re.sub("^ {4}", "", block, flags=re.MULTILINE)


@pytest.fixture
def home(index_of, tmp_path):
    """A folder with ref.fmx, reads.fq.gz, and fmx to be called by name."""
    letters = CONTIGS[0][1]
    reads = b"".join(b"@r%d\n%s\n+\n%s\n" % (i, letters[i : i + 40].encode(), b"I" * 40) for i in range(2900))
    (tmp_path / "reads.fq.gz").write_bytes(bgzf(reads, 60_000))
    (tmp_path / "ref.fmx").symlink_to(index_of(CONTIGS))
    (tmp_path / "fmx").write_text(f'#!/bin/sh\nexec {sys.executable} -m fmx "$@"\n')
    (tmp_path / "fmx").chmod(0o755)
    return tmp_path


def run(home, command, folder=None):
    """What a shell command writes, in the folder or one of its own."""
    variables = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=folder or home, env=variables, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def is_right(home, folder) -> bool:
    """Does all.bam hold what one run writes?"""
    run(home, "fmx search -q -x ref.fmx reads.fq.gz -o one.sam")
    text = run(home, "samtools view --no-PG -h all.bam", folder)
    return without_program(text) == without_program((home / "one.sam").read_bytes())


@pytest.mark.skipif(
    not SNAKEMAKE.exists() and os.environ.get("CI") != "true",
    reason="tests/install_peers.sh installs Snakemake",
)
def test_the_snakefile(home):
    (home / "Snakefile").write_text(block_of("rule shard").replace("N = 64", "N = 2"))
    run(home, f"{SNAKEMAKE} -q -c 2 all.bam")
    assert sorted(path.name for path in (home / "out.d").iterdir()) == ["0001-of-0002", "0002-of-0002"]
    assert is_right(home, home)


def test_the_processes_of_nextflow(home):
    """Each task in a folder of its own, and what it takes as links there."""
    shard, merge = re.findall('script: "(.*)"', block_of("process shard"))
    shard = shard.replace("${params.index}", "../ref.fmx").replace("${params.reads}", "../reads.fq.gz")
    shard = shard.replace("${task.cpus}", "1").replace("/64", "/2")
    (home / "end" / "out.d").mkdir(parents=True)
    for i in (1, 2):
        task = home / str(i)
        task.mkdir()
        run(home, shard.replace("${i}", str(i)), task)
        for made in task.glob("out.d/*"):
            (home / "end" / "out.d" / made.name).symlink_to(made)
    run(home, merge, home / "end")
    assert is_right(home, home / "end")
