"""A job of a command, pickled, in a process of its own and in another folder: the same bytes."""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import cases
import pytest
from cluster.nearby import CONTIGS, body_of, reads

from fmx import jobs
from fmx.cli import dispatch
from fmx.jobs import IndexChoice
from fmx.jobs.identity import absolute
from fmx.jobs.search import ReadInput, SearchJob
from fmx.jobs.shard import ShardRun
from fmx.output.search_output import RecordOutput, SearchOutput

PROGRAM = """
import pickle, sys
from fmx.jobs import run
from fmx.machines.progress import Progress
job, resources = pickle.load(sys.stdin.buffer)
run(job, resources, Progress(quiet=True))
"""
JOBS = {  # tests/test_every_output.py has all others, in this process
    "samples": (dispatch, "search -x ref.fmx --samples sheet.tsv -o {}"),
    "index": (jobs, "index few.fa -o out.fmx --groups groups.tsv"),
    "added": (jobs, "index --add ref.fmx --layout cofi"),
}


@pytest.fixture
def inputs(folder, index_of) -> Path:
    few = reads(60)
    (folder / "few.fq").write_bytes(cases.fastq(few))
    (folder / "few2.fq").write_bytes(cases.fastq(few[::-1]))
    (folder / "few.fa").write_bytes(cases.fasta(CONTIGS))
    (folder / "sheet.tsv").write_text("sample\treads\nA\tfew.fq\nB\tfew2.fq\n")
    (folder / "groups.tsv").write_text("".join(f"{name}\t{name}\n" for name, _ in CONTIGS))
    shutil.copytree(index_of(CONTIGS), folder / "ref.fmx")
    return folder


def contents(folder) -> dict:
    """{name: what it holds} of all files below a folder."""
    return {path.relative_to(folder): body_of(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", JOBS)
def test_a_pickled_job_runs_in_another_process(name, command, inputs, tmp_path_factory, monkeypatch):
    before = shutil.copytree(inputs, tmp_path_factory.mktemp("before") / "inputs")
    module, line = JOBS[name]
    seen, run = [], module.run

    def noted(job, resources, *rest):
        seen.append(pickle.dumps((absolute(job), resources)))
        return run(job, resources, *rest)

    monkeypatch.setattr(module, "run", noted)
    done = command(*line.format(inputs / "out").split(), "-q", "-t", "2")
    assert done.code == 0, done.err
    expected = contents(inputs)
    assert expected != contents(before)
    shutil.rmtree(inputs)
    shutil.copytree(before, inputs)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (job,) = seen
    subprocess.run([sys.executable, "-c", PROGRAM], input=job, cwd=elsewhere, check=True)
    assert contents(inputs) == expected


def test_a_program_does_a_job_and_parts_of_it(command, inputs):
    job = SearchJob(
        IndexChoice(("ref.fmx",)), ReadInput(("few.fq",)), output=SearchOutput(RecordOutput("all.sam"))
    )
    whole = jobs.run(job)
    parts = [jobs.run(job, shard=ShardRun(number, 3, "parts")) for number in (1, 2, 3)]
    assert sum(part.reads for part in parts) == whole.reads == 60
    assert jobs.run(job, shard=ShardRun(2, 3, "parts")) is None
    assert command("merge", "parts", "-q", "-o", "merged.sam").code == 0
    assert body_of(inputs / "merged.sam") == body_of(inputs / "all.sam")
