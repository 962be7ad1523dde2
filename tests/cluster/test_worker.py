"""What a worker keeps between shards, and which GPU a shard has."""

import json
import sys
import threading
import time

import cases
import pytest
from cluster import nearby
from cluster.test_shards_of_commands import CONTIGS, body_of, reads

from fmx.align import pipeline
from fmx.errors import DeviceError, InputError
from fmx.index import fm_index
from fmx.jobs import Resources, cache_for
from fmx.jobs import cluster as shards
from fmx.jobs import mem as mem_job
from fmx.machines.places import ALL_GPUS
from fmx.output.formats import sam


def test_an_index_is_opened_once_and_another_run_gets_its_own(command, index_of, folder, monkeypatch):
    opened, load = [], fm_index.load
    monkeypatch.setattr(fm_index, "load", lambda *given, **named: opened.append(1) or load(*given, **named))
    (folder / "few.fq").write_bytes(cases.fastq(reads(60)))
    arguments = ["search", "-q", "-x", index_of(CONTIGS), "few.fq"]
    near = nearby.use(monkeypatch)
    for more in ([], ["--counts"], ["-a", "--counts"]):
        tables = [[*more, name] if more else [] for name in ("one.tsv", "all.tsv")]
        assert command(*arguments, *tables[0], "-o", "one.sam").code == 0
        opened.clear()
        done = command(*arguments, *tables[1], *near, "-o", "all.sam")
        assert done.code == 0, done.err
        assert len(opened) == 2  # here, and for all shards
        assert body_of(folder / "all.sam") == body_of(folder / "one.sam")
        assert not more or (folder / "all.tsv").read_bytes() == (folder / "one.tsv").read_bytes()


def test_what_seeks_matches_is_made_once_a_thread(command, index_of, folder, monkeypatch):
    made, prepare = [], mem_job.prepare
    monkeypatch.setattr(mem_job, "prepare", lambda *given: made.append(1) or prepare(*given))
    (folder / "few.fq").write_bytes(cases.fastq(reads(99)))
    arguments = ["mem", "-b", "-x", index_of(CONTIGS), "few.fq", "--report"]
    assert command(*arguments, "one.json", "-o", "one.txt").code == 0
    made.clear()
    done = command(*arguments, "all.json", *nearby.use(monkeypatch), "-o", "all.txt")
    assert done.code == 0, done.err
    assert len(made) <= 2 < int(done.err.split("fmx: ")[1].split()[0])
    assert body_of(folder / "all.txt") == body_of(folder / "one.txt")
    one, all_of_it = (json.loads((folder / name).read_text()) for name in ("one.json", "all.json"))
    assert all_of_it["counts"] == one["counts"]


def test_sequences_are_read_once(command, folder, monkeypatch):
    read, prepare = [], pipeline.prepare
    monkeypatch.setattr(pipeline, "prepare", lambda *given: read.append(1) or prepare(*given))
    genes = [(f"g{i}", CONTIGS[0][1][i : i + 60]) for i in range(0, 300, 10)]
    (folder / "genes.fa").write_bytes(cases.fasta(genes))
    arguments = ["pairwise", "genes.fa", "--id", "0.3", "--cigar"]
    assert command(*arguments, "-o", "one.tsv").code == 0
    read.clear()
    done = command(*arguments, *nearby.use(monkeypatch), "-o", "all.tsv")
    assert done.code == 0, done.err
    assert len(read) == 2 < int(done.err.split("fmx: ")[1].split()[0])  # here, and for all shards
    assert (folder / "all.tsv").read_bytes() == (folder / "one.tsv").read_bytes()


def test_a_header_is_made_while_a_profiler_looks_at_it(command, index_of, folder):
    """As Dask's does, which holds what a frame names for a while."""
    (folder / "few.fq").write_bytes(cases.fastq(reads(9)))
    seen = []

    def look(frame, event, argument):
        if frame.f_code is sam.header.__code__:
            seen.append(frame.f_locals)
            return look
        return None

    sys.settrace(look)
    try:
        done = command("search", "-q", "-x", index_of(CONTIGS), "few.fq", "-o", "few.sam")
    finally:
        sys.settrace(None)
    assert seen
    assert done.code == 0, done.err


def test_what_is_reused_is_of_one_shard_and_not_used_again_after_an_error():
    kept, made = cache_for("a run"), []
    assert cache_for("a run") is kept

    def make():
        made.append(object())
        return made[-1]

    with kept.reused("key", make) as one, kept.reused("key", make) as other:
        assert one is not other
    again = made[0]
    with pytest.raises(InputError), kept.reused("key", make):  # that one, which was given back last
        raise InputError("x.fq", "", "damaged")
    with kept.reused("key", make) as left, kept.reused("key", make) as third:
        assert left is not again
        assert third is made[2]
    assert cache_for("another").shared("key", make) is made[3]


@pytest.fixture
def told(monkeypatch):
    """What shards were given, by a worker of three threads and two GPUs, of which the first will not do."""
    given, both = [], threading.Barrier(2)

    def work(job, resources, progress, shard, kept):
        assert resources.gpus == 1 or resources.engine == "cpu"  # the worker deals its GPUs out
        device = resources.device if resources.engine != "cpu" else None
        given.append((resources.engine, device))
        if shard._shard.number < 3:  # two are there at the same time
            both.wait(30)
        if resources.engine == "cuda" and device == 0 and job == "weak":
            raise DeviceError("no room")

    monkeypatch.setattr(shards, "run_job", work)
    monkeypatch.setattr(shards, "n_threads_here", lambda: 3)
    monkeypatch.setattr(shards, "n_gpus_here", lambda: 2)
    monkeypatch.setattr(shards, "_gpus", shards.Gpus())
    return given


def do(numbers, engine, gpus, job="a job"):
    """These shards, each by a thread."""
    resources = Resources(1, engine, gpus=gpus)
    threads = [
        threading.Thread(target=shards.do_shard, args=(job, resources, {}, "out.d", (number, 9)))
        for number in numbers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


def test_each_gpu_has_a_shard_at_a_time(told):
    do([1, 2, 3, 4], "cuda", ALL_GPUS)
    assert len(told) == 4
    assert sorted(told[:2]) == [("cuda", 0), ("cuda", 1)]
    assert {engine for engine, _ in told} == {"cuda"}


def test_both_have_a_gpu_each_and_cores_with_it(told):
    do([1, 2], "both", ALL_GPUS)
    assert sorted(told) == [("both", 0), ("both", 1)]  # both at the same time


def test_auto_takes_a_core_where_no_gpu_is_free(told):
    do([1, 2], "auto", 1)
    assert sorted(told, key=str) == [("cpu", None), ("cuda", 0)]


def test_auto_leaves_out_a_gpu_that_will_not_do(told):
    do([5], "auto", 2, "weak")
    do([6], "auto", 2, "weak")
    assert told == [("cuda", 0), ("cpu", None), ("cuda", 1)]


def test_who_waits_for_a_gpu_gets_it_whoever_else_waits_for_another():
    gpus, got = shards.Gpus(), []

    def work(number):
        with gpus.one([number], wait=True) as own:
            got.append(own)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in (0, 1)]
    with gpus.one([0], wait=True):
        with gpus.one([0], wait=False) as none:
            assert none is None
        with gpus.one([1], wait=True):
            for n, thread in enumerate(threads, 1):
                thread.start()
                while len(gpus._changed._waiters) < n:
                    time.sleep(0.001)
        threads[1].join(5)
        assert got == [1]
    threads[0].join(5)
    assert got == [1, 0]
