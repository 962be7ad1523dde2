"""How a job is cut for a cluster, what its client reports, and what a worker keeps and shares out."""

import itertools
import json
import os
import re
import threading
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import cases
import pytest
from cluster import nearby
from cluster.nearby import CONTIGS, body_of, reads

from fmx import __version__, jobs
from fmx.align import pipeline
from fmx.cli import dispatch
from fmx.errors import ClusterError, InputError
from fmx.index import fm_index
from fmx.jobs import Cache, Job, Resources, cluster
from fmx.jobs import mem as mem_job
from fmx.jobs.search import ReadInput, SearchJob
from fmx.jobs.shard import identity
from fmx.machines.places import Device
from fmx.machines.progress import Progress


@pytest.fixture
def files(folder):
    for name in ("few.fq", "two.fq"):
        (folder / name).write_bytes(cases.fastq(reads(99)))
    genes = [(f"g{i}", CONTIGS[0][1][i : i + 60]) for i in range(0, 300, 10)]
    (folder / "genes.fa").write_bytes(cases.fasta(genes))
    return folder


@pytest.mark.parametrize(
    ("arguments", "unit"),
    [
        (["search", "few.fq"], "reads"),
        (["search", "-1", "few.fq", "-2", "two.fq"], "pairs"),
        (["mem", "few.fq"], "bases"),
        (["pairwise", "genes.fa"], "pairs"),
    ],
)
def test_progress_tells_shards_and_their_rate(arguments, unit, command, index_of, files, monkeypatch):
    monkeypatch.setattr(dispatch, "Progress", partial(Progress, seldom=0))
    index = [] if arguments[0] == "pairwise" else ["-x", index_of(CONTIGS)]
    done = command(*arguments, *index, *nearby.use(monkeypatch), "-o", "out")
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if " left: " in line and f" {unit}/s" in line]
    assert len({line.split(" shards")[0].split(": ")[-1] for line in lines}) > 1, done.err
    assert "100% in " in lines[-1], done.err
    assert re.search(f" {unit}/s( without compiling)?$", done.err.splitlines()[-1])


def test_shards_grow_with_the_input_and_then_in_number():
    sizes = [n << 20 for n in (1, 64, 2048, 4096, 8192, 1 << 18, 1 << 20)]
    assert [jobs.n_of_bytes(n, "cpu") for n in sizes] == [1, 2, 64, 64, 64, 2048, 4096]
    assert [jobs.n_of_bytes(n, "cuda") for n in sizes] == [1, 1, 8, 16, 16, 256, 1024]


# What a worker keeps between shards.


@pytest.mark.parametrize(
    ("words", "module", "name", "most"),
    [
        ("search few.fq -a --counts {}.tsv", fm_index, "load", 2),  # here, and for all shards
        ("mem -b few.fq --report {}.json", mem_job, "prepare", 2),  # once a thread
        ("pairwise genes.fa --id 0.3 --cigar", pipeline, "prepare", 2),
    ],
)
def test_what_shards_need_is_made_once(words, module, name, most, command, index_of, files, monkeypatch):
    calls, make = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **options: calls.append(1) or make(*args, **options))
    words += "" if "pairwise" in words else f" -q -x {index_of(CONTIGS)}"
    assert command(*words.format("one").split(), "-o", "one.txt").code == 0
    calls.clear()
    done = command(*words.replace(" -q", "").format("all").split(), *nearby.use(monkeypatch), "-o", "all.txt")
    assert done.code == 0, done.err
    assert len(calls) <= most < int(re.search(r"fmx: (\d+) shards", done.err)[1])
    assert body_of(files / "all.txt") == body_of(files / "one.txt")
    if "mem" in words:
        one, merged = (json.loads((files / f"{name}.json").read_text()) for name in ("one", "all"))
        assert merged["counts"] == one["counts"]


def test_another_run_on_the_same_worker_has_its_own_options(command, index_of, files, monkeypatch):
    arguments = ["search", "-q", "-x", index_of(CONTIGS), "few.fq"]
    near = nearby.use(monkeypatch)
    for more in ([], ["-a"], ["--no-unmapped"]):
        assert command(*arguments, *more, "-o", "one.sam").code == 0
        assert command(*arguments, *more, *near, "-o", "all.sam").code == 0
        assert body_of(files / "all.sam") == body_of(files / "one.sam")


def test_what_is_prepared_is_used_again_but_not_after_an_error():
    used, numbers = [], itertools.count()

    class Failing(Job):
        def prepare(self, context):
            return partial(self.work, next(numbers))

        def work(self, number, context):
            used.append(number)
            if len(used) == 2:
                raise InputError("x.fq", "", "damaged")
            return pipeline.AlignmentSummary(1, 1)

    cache, shard = Cache(), SimpleNamespace(begin=lambda job, context: True, where="shard 1/2")
    for _ in range(4):
        with suppress(InputError):
            jobs.run(Failing(), None, None, shard, cache)
    assert used == [0, 0, 1, 1]


@pytest.mark.parametrize("name", ["few.fq", "ref.fmx"])
def test_a_worker_without_a_file_or_with_another_fmx_is_named_with_its_host(name, index_of, files):
    (files / "ref.fmx").symlink_to(index_of(CONTIGS))
    job = SearchJob(jobs.IndexChoice(("ref.fmx",)), ReadInput(("few.fq",)))
    run = identity(job)
    other = {**run, "fmx": "0.0.9"}
    with pytest.raises(
        ClusterError, match=f'^worker on {os.uname().nodename}: fmx "{__version__}", not "0.0.9"'
    ):
        cluster.do_shard(job, Resources(), other, "out.d", (1, 2))
    (files / name).unlink()
    with pytest.raises(ClusterError, match=f"^worker on {os.uname().nodename}: {name}: "):
        cluster.do_shard(job, Resources(), run, "out.d", (1, 2))


# The GPUs of a worker.


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("cuda", [("cuda", 3), ("cuda", 3), ("cuda", 3)]),  # one waits for the other
        ("both", [("both", 3), ("both", 3), ("both", 3)]),
        ("auto", [("cpu", 1), ("cpu", 1), ("cpu", 1)]),
    ],
)
def test_gpus_have_a_shard_at_a_time(engine, expected, monkeypatch):
    """(engine, threads) of three shards, of which the second begins while the first is run."""
    used, are_busy, is_over = [], threading.Event(), threading.Event()

    def work(job, resources, progress, shard, cache):
        used.append((resources.place.engine, resources.threads))
        if len(used) == 1:
            are_busy.set()
            is_over.wait(0 if engine in ("cuda", "both") else None)

    monkeypatch.setattr(cluster, "run_job", work)
    monkeypatch.setattr(cluster, "n_threads_here", lambda: 3)

    def do(number):
        resources = Resources(1, Device(engine))
        assert cluster.do_shard(None, resources, {}, "out.d", (number, 9)) == number

    first = threading.Thread(target=do, args=(1,))
    first.start()
    are_busy.wait()
    do(2)
    is_over.set()
    first.join()
    do(3)
    assert sorted(used) == expected
