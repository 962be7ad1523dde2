"""The commands of docs/pipelines.md, run as they stand, one after the other."""

import os
import re
import subprocess
import sys

import pysam
import pytest
from conftest import ROOT
from test_docs import code_of
from test_without_gpu_packages import fill

LINES = code_of((ROOT / "docs" / "pipelines.md").read_text())
MADE = {
    "hits.bam", "hits.bam.bai", "hits.cram", "hits.cram.crai", "A.bam", "A.bam.bai", "A.tsv", "B.bam",
    "all.bam", "logs", "phage.fq.gz", "clean.fq.gz", "counts.tsv", "hits.bed", "hits.parquet",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory, peer):
    """A folder in which all of them have been run."""
    peer("samtools")
    folder = fill(tmp_path_factory.mktemp("pipeline"))
    (folder / "bin").mkdir()
    (folder / "bin" / "fmx").write_text(f'#!/bin/sh\nexec {sys.executable} -m fmx "$@"\n')
    (folder / "bin" / "fmx").chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    for line in LINES:
        shell = ["bash", "-o", "pipefail", "-c", line]
        done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, (line, done.stderr.decode())
        assert not re.search(rb"Traceback|error", done.stderr), (line, done.stderr.decode())
    return folder


def records(path, region=None) -> list:
    with pysam.AlignmentFile(path, check_sq=False) as file:
        found = file.fetch(region=region) if region else file.fetch(until_eof=True)
        return [record.to_string() for record in found]


def test_all_that_the_page_names_is_made(folder):
    names = {path.name for path in folder.iterdir()}
    assert names >= MADE
    assert not any(name.endswith(".partial") for name in names)


def test_files_hold_what_the_page_says(folder):
    bam, cram = records(folder / "hits.bam"), records(folder / "hits.cram")
    assert [line.removesuffix("\tRG:Z:lane1") for line in bam] == cram
    assert sorted(cram) == sorted(records(folder / "piped.bam"))
    assert all(line.endswith("\tRG:Z:lane1") for line in records(folder / "from_bam.bam"))
    assert len(records(folder / "A.bam", "lambda:1000-2000")) > 10
    assert sorted(records(folder / "all.bam")) == sorted(
        records(folder / "A.bam") + records(folder / "B.bam")
    )
