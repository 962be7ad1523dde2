"""A job of each command, pickled, in a process of its own and in another folder: the same bytes."""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import cases
import pytest
from cluster.nearby import CONTIGS, body_of, reads

from fmx.cli import dispatch
from fmx.jobs import IndexChoice
from fmx.jobs import run as jobs_run
from fmx.jobs.search import ReadInput, SearchJob
from fmx.jobs.shard import ShardRun
from fmx.output.search_output import RecordOutput, SearchOutput

PROGRAM = """
import pickle, sys
from fmx.jobs.run import run
from fmx.machines.progress import Progress
job, resources = pickle.load(sys.stdin.buffer)
run(job, resources, Progress(quiet=True))
"""
JOBS = {
    "search": ["search", "-a", "few.fq"],
    "mates": ["search", "-1", "few.fq", "-2", "few2.fq", "--no-unmapped"],
    "near mates": ["search", "-1", "few.fq", "-2", "few2.fq", "--mismatches", "1", "--strata"],
    "samples": ["search", "--samples", "sheet.tsv"],
    "near": ["search", "--mismatches", "1", "--collapse", "few.fq", "--format", "tsv"],
    "locate": ["locate", "few.fq"],
    "literal": ["locate", "-p", CONTIGS[0][1][40:60]],
    "mem": ["mem", "-b", "few.fq"],
    "count": ["count", "-l", "guides.csv", "--anywhere", "few.fq"],
    "pairwise": ["pairwise", "genes.fa", "--id", "0.3"],
}
INDEXES = {
    "index": ["few.fa", "-o", "out.fmx", "--groups", "groups.tsv"],
    "added": ["--add", "out.fmx", "--layout", "cofi"],
}


@pytest.fixture
def inputs(folder) -> Path:
    few = reads(60)
    (folder / "few.fq").write_bytes(cases.fastq(few))
    (folder / "few2.fq").write_bytes(cases.fastq([(name, few[-i][1]) for i, (name, _) in enumerate(few, 1)]))
    (folder / "sheet.tsv").write_text("sample\treads\nA\tfew.fq\nB\tfew2.fq\n")
    genes = [(f"g{i}", CONTIGS[0][1][i : i + 60]) for i in range(0, 300, 30)]
    (folder / "genes.fa").write_bytes(cases.fasta(genes))
    guides = [f"s{i},{CONTIGS[0][1][i : i + 20]},g{i}\n" for i in range(0, 400, 23)]
    (folder / "guides.csv").write_text("".join(["id,sequence,gene\n", *guides]))
    return folder


@pytest.mark.parametrize("name", JOBS)
def test_a_pickled_job_runs_in_another_process(
    name, command, index_of, inputs, tmp_path_factory, monkeypatch
):
    words = [*JOBS[name], "-q", "-t", "2", "-o", inputs / "out"]
    words += ["-x", index_of(CONTIGS)] if words[0] not in ("count", "pairwise") else []
    seen, run = [], dispatch.run

    def noted(job, resources, *rest):
        seen.append(pickle.dumps((job.absolute(), resources)))
        return run(job, resources, *rest)

    monkeypatch.setattr(dispatch, "run", noted)
    done = command(*words)
    assert done.code == 0, done.err
    expected = body_of(inputs / "out")
    (inputs / "out").unlink()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (job,) = seen
    subprocess.run([sys.executable, "-c", PROGRAM], input=job, cwd=elsewhere, check=True)
    assert len(expected) > 30
    assert body_of(inputs / "out") == expected


@pytest.mark.parametrize("name", INDEXES)
def test_a_pickled_job_makes_an_index(name, command, inputs, tmp_path_factory, monkeypatch):
    (inputs / "few.fa").write_bytes(cases.fasta(CONTIGS))
    (inputs / "groups.tsv").write_text("".join(f"{name}\t{name}\n" for name, _ in CONTIGS))
    words = {"index": [], "added": ["few.fa", "-o", "out.fmx"]}[name]
    assert not words or command("index", "-q", *words).code == 0
    before = tmp_path_factory.mktemp("before") / "out.fmx"
    if words:
        shutil.copytree(inputs / "out.fmx", before)
    seen, run = [], jobs_run.run

    def noted(job, resources, *rest):
        seen.append(pickle.dumps((job.absolute(), resources)))
        return run(job, resources, *rest)

    monkeypatch.setattr(jobs_run, "run", noted)
    done = command("index", "-q", *INDEXES[name])
    assert done.code == 0, done.err
    expected = files_of(inputs / "out.fmx")
    shutil.rmtree(inputs / "out.fmx")
    if words:
        shutil.copytree(before, inputs / "out.fmx")
        assert files_of(before) != expected
    (job,) = seen
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([sys.executable, "-c", PROGRAM], input=job, cwd=elsewhere, check=True)
    assert files_of(inputs / "out.fmx") == expected


def test_a_program_does_a_job_and_parts_of_it(command, index_of, inputs):
    index, reads = IndexChoice((str(index_of(CONTIGS)),)), ReadInput((str(inputs / "few.fq"),))
    job = SearchJob(index, reads, output=SearchOutput(RecordOutput(str(inputs / "all.sam"))))
    whole = jobs_run.run(job)
    parts = [jobs_run.run(job, shard=ShardRun(number, 3, str(inputs / "parts"))) for number in (1, 2, 3)]
    assert sum(part.reads for part in parts) == whole.reads == 60
    assert jobs_run.run(job, shard=ShardRun(2, 3, str(inputs / "parts"))) is None
    assert command("merge", inputs / "parts", "-q", "-o", inputs / "merged.sam").code == 0
    assert body_of(inputs / "merged.sam") == body_of(inputs / "all.sam")


def files_of(folder) -> dict:
    """{name: bytes} of an index."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_equal_to_its_copy_and_frozen(name, command, index_of, inputs, monkeypatch):
    seen: list = []
    monkeypatch.setattr(dispatch, "run", lambda job, *rest: seen.append(job))
    words = [*JOBS[name], "-q", "-o", "out"]
    words += ["-x", index_of(CONTIGS)] if words[0] not in ("count", "pairwise") else []
    for more in ([], ["-t", "3"]):  # threads are none of its fields
        assert command(*words, *more).code == 0
    assert seen[0] == seen[1] == pickle.loads(pickle.dumps(seen[0]))
    for field in seen[0].__dataclass_fields__:
        with pytest.raises(AttributeError):
            setattr(seen[0], field, None)
