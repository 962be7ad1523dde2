"""A Dask cluster of real processes writes the bytes of a single run, even if workers die."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from itertools import cycle

import cases
import pytest
from cluster.nearby import CONTIGS, body_of, reads
from runs import wait_until
from texts import random_letters

from fmx.errors import ClusterError
from fmx.jobs import cluster as dask

pytest.importorskip("distributed", reason="pip install '.[cluster]'")

pytestmark = pytest.mark.xdist_group("dask")
PYTHON = [sys.executable, "-m"]


@contextmanager
def cluster(folder, n_workers, variables=()):
    """A scheduler and its workers, one thread each: (the file that names it, all processes)."""
    file, environ, processes = folder / "scheduler.json", {**os.environ, **dict(variables)}, []
    log_path = folder / "dask.log"

    def start(module, *arguments):
        command = [*PYTHON, f"distributed.cli.{module}", "--scheduler-file", file, "--no-dashboard"]
        command += arguments
        processes.append(subprocess.Popen(command, env=environ, stdout=log, stderr=log, cwd=folder))

    def wait(is_ready):
        while not is_ready():
            assert processes[-1].poll() is None, log_path.read_text(errors="replace")
            time.sleep(0.02)

    with open(log_path, "ab") as log:
        try:
            start("dask_scheduler", "--port", "0")
            wait(file.exists)
            begin = log.tell()
            for _ in range(n_workers):
                start("dask_worker", "--no-nanny", "--nthreads", "1")
            wait(lambda: log_path.read_bytes()[begin:].count(b"Registered to:") >= n_workers)
            yield file, processes
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()
            file.unlink(missing_ok=True)


def started(folder, *arguments):
    command = [*PYTHON, "fmx", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(folder, *arguments):
    process = started(folder, *arguments)
    process.out, process.err = process.communicate()
    return process


@pytest.fixture(scope="module")
def home(index_of, tmp_path_factory):
    """A folder with ref.fmx, reads.fq of some 70 MB, which make two shards, and what is small."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "ref.fmx").symlink_to(index_of(CONTIGS))
    (folder / "reads.fq").write_bytes(cases.fastq(reads(2000)) * 270)
    for name in ("few.fq", "two.fq"):
        (folder / name).write_bytes(cases.fastq(reads(200)))
    (folder / "ref.fa").write_bytes(cases.fasta(CONTIGS))
    (folder / "few.fa").write_bytes(cases.fasta(reads(150)))
    cases.build(folder / "other.fmx", [("other", random_letters(500, "other"))])
    (folder / "l.csv").write_text("".join(f"g{i},{CONTIGS[0][1][i : i + 20]}\n" for i in range(0, 2900, 37)))
    (folder / "sheet.tsv").write_text("sample\treads\na,b\tfew.fq\na,b\treads.fq\nother\tfew.fa\n")
    genes = [(f"g{i}", CONTIGS[0][1][i : i + 90]) for i in range(0, 600, 10)]
    (folder / "genes.fa").write_bytes(cases.fasta(genes))
    (folder / "long.fa").write_bytes(cases.fasta([(f"l{i}", random_letters(2000, i)) for i in range(120)]))
    return folder


PAIRS = ["pairwise", "long.fa", "--id", "0.3", "--no-prefilter"]
SEARCH = ["search", "-x", "ref.fmx", "reads.fq", "--no-unmapped"]


@pytest.fixture(scope="module")
def expected(home):
    assert run(home, *SEARCH, "-q", "-o", "one.sam").returncode == 0
    return body_of(home / "one.sam")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("search -x ref.fmx reads.fq --no-unmapped --counts t.tsv --un un.fq --report t.json", "all.sam"),
        ("locate -x ref.fmx -x other.fmx few.fa", "two.parquet"),
        ("count -l l.csv --offset 0 --samples sheet.tsv --report t.tsv", "guides.tsv"),
        ("pairwise genes.fa --matrix score", "genes.npz"),
    ],
)
def test_a_cluster_writes_the_bytes_of_one_run(words, name, home, shared):
    contents = []
    for more in ([], ["--scheduler-file", shared[0]]):
        done = run(home, *words.split(), *more, "-o", name)
        assert (done.returncode, "on the cluster at" in done.err) == (0, bool(more)), done.err
        others = [home / other for other in ("t.tsv", "un.fq") if other in words]
        contents.append([body_of(home / name), *(path.read_bytes() for path in others)])
        if "t.json" in words:
            facts = json.loads((home / "t.json").read_text())
            contents[-1] += [facts[key] for key in ("counts", "shares", "lengths", "contigs", "inputs")]
    assert contents[0] == contents[1]
    if name.endswith(".sam"):
        assert f"CL:fmx {words}".encode() in (home / name).read_bytes()
    assert not (home / f"{name}.shards").exists()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster"), 4) as made:
        yield made


def test_the_work_of_killed_workers_is_done_by_others(home, shared):
    """Two of four, each in the midst of a shard."""
    file, (_, *members) = shared
    assert run(home, *PAIRS, "-o", "one.tsv").returncode == 0
    process = started(home, *PAIRS, "--scheduler-file", file, "-o", "killed.tsv")
    for victim in stopped(process, members, 2):
        victim.kill()
    _, err = process.communicate()
    assert process.returncode == 0, err
    lost = re.findall("fmx: lost worker (tcp://[0-9.:]+): others run its shards", err)
    assert len(set(lost)) == len(lost) == 2
    assert (home / "killed.tsv").read_bytes() == (home / "one.tsv").read_bytes()
    assert not (home / "killed.tsv.shards").exists()


def stopped(process, members, n) -> set:
    """n of the workers of a run, each stopped in the midst of a shard, so that the run cannot end."""
    victims = set()
    for member in cycle(member for member in members if member.poll() is None):
        assert process.poll() is None, process.communicate()
        if member not in victims and has_draft(member):
            member.send_signal(signal.SIGSTOP)
            if has_draft(member):
                victims.add(member)
            else:
                member.send_signal(signal.SIGCONT)
        if len(victims) == n:
            return victims


def has_draft(process) -> bool:
    """Is a shard in the making there?"""
    fds = f"/proc/{process.pid}/fd"
    with suppress(FileNotFoundError):  # one that was closed meanwhile
        return any(".partial" in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds))
    return False


def test_two_clients_with_one_output_end_as_one(home, shared, expected):
    file, _ = shared
    clients = [started(home, *SEARCH, "--scheduler-file", file, "-o", "both.sam") for _ in range(2)]
    for client in clients:
        _, err = client.communicate()
        assert client.returncode == 0, err
    assert body_of(home / "both.sam") == expected
    assert not list(home.glob("both.sam*shards*"))


def test_a_cluster_without_workers_is_waited_for_aloud(tmp_path):
    said = []
    no_worker = pytest.raises(ClusterError, match="after 1 s: run 'dask worker'")
    with cluster(tmp_path, 0) as (file, _), dask.Cluster(None, file, said.append, 1) as without, no_worker:
        without.n_threads()
    assert said == [f"waiting up to 1 s for a worker at {file}"]


def test_an_interrupt_tells_what_is_kept_and_the_next_run_how_much_it_found(home, shared, expected):
    """As soon as a shard is done, while a worker stands still in another one."""
    process = started(home, *SEARCH, "--scheduler-file", shared[0], "-o", "stopped.sam")
    (worker,) = stopped(process, shared[1][1:], 1)
    wait_until(lambda: list(home.glob("stopped.sam.shards/0*")), process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    worker.send_signal(signal.SIGCONT)
    assert process.returncode == 130, err
    kept = re.search(
        r"fmx: finished and kept in stopped.sam.shards: 1 of 2 shards; repeat the command to "
        "resume\nfmx: interrupted\n$", err,
    )  # fmt: skip
    assert kept, err
    done = run(home, *SEARCH, "--scheduler-file", shared[0], "-o", "stopped.sam")
    assert re.search(r"fmx: an earlier run has finished \d of them, in stopped.sam.shards\n", done.err)
    assert body_of(home / "stopped.sam") == expected


def test_where_the_scheduler_is_killed_another_one_does_the_rest(home, shared, expected, tmp_path):
    search = [*SEARCH, "-o", "again.sam", "--scheduler-file"]
    with cluster(tmp_path, 1) as (file, (scheduler, *_)):
        process = started(home, *search, file)
        wait_until(lambda: list(home.glob("again.sam.shards/.*.partial/output")), process)
        scheduler.kill()
        _, err = process.communicate()
    assert (process.returncode, (home / "again.sam").exists()) == (1, False)
    assert "start it and run this again" in err
    assert err.count("\n") == 2, err
    done = run(home, *search, shared[0])
    assert done.returncode == 0, done.err
    assert body_of(home / "again.sam") == expected


@pytest.mark.parametrize("words", ["bad.fq", "few.fq --interleaved"])
def test_a_fault_in_one_shard_is_told_as_in_one_run(words, home, shared):
    """Also one that names the record already."""
    data = (home / "reads.fq").read_bytes()
    at = data.index(b"\n+\n", 50 << 20)
    (home / "bad.fq").write_bytes(data[: at - 1] + b"!" + data[at:])
    arguments = ["search", "-q", "-x", "ref.fmx", *words.split(), "-o", "bad.sam"]
    alone, together = run(home, *arguments), run(home, *arguments, "--scheduler-file", shared[0])
    assert (alone.returncode, together.returncode, together.err.count("\n")) == (1, 1, 1)
    place = alone.err.split(".fq: ")[1]
    assert place.startswith("record ")
    assert together.err.split(".fq: ")[1] == place
    assert not (home / "bad.sam").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--scheduler nonsense:// -o x.sam", "no Dask scheduler answers at nonsense://"),
        ("--scheduler tcp://127.0.0.1:9 -o x.sam", "no Dask scheduler answers at tcp://127.0.0.1:9"),
        ("--scheduler tcp://192.0.2.1:9 -o x.sam", "no Dask scheduler answers at tcp://192.0.2.1:9"),
        ("--scheduler-file nowhere.json -o x.sam", "--scheduler-file nowhere.json: No such file"),
        ("--scheduler tcp://127.0.0.1:9 -o /dev/null", "a cluster run needs -o FILE"),
    ],
)
def test_a_cluster_that_is_not_there_is_told(arguments, words, command, home, monkeypatch):
    monkeypatch.chdir(home)
    assert dask.SCHEDULER < 10
    monkeypatch.setattr(dask, "SCHEDULER", 1)
    done = command("search", "-q", "-x", "ref.fmx", "few.fq", *arguments.split())
    assert (done.code in (1, 2), words in done.err) == (True, True), done.err
