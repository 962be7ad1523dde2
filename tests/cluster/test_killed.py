"""A command that is killed at any call that writes, and run again, writes the bytes of one that was not."""

import subprocess
import sys

import cases
import pytest
import workflow
from cluster.nearby import CONTIGS, reads
from cover import nightly

PROGRAM = """
import collections, gzip, itertools, os, pathlib, shutil, signal, sys, threading
import pysam
from fmx import system
from fmx.input import shards as cut
from fmx.cli.main import run
from fmx.jobs import shard
from fmx.output import files, run as output
from fmx.output.formats import bam, matrix, parquet

cut.APART = 1000  # each shard has some of the reads
MODULES = system, files, shard, output, bam, matrix, parquet, pathlib, shutil
PLACES = {module.__file__ for module in MODULES}
CALLS = {"open", "write", "flush", "fsync", "mkdir", "rename", "replace", "link", "unlink", "close"}
READING = {"_text_of", "read_text"}  # functions that open files, and write none
TABLES = ["--counts", "c.tsv", "--screen", "s.tsv", "--al", "al.fq", "--un", "un.fq.gz", "--report", "r.json"]
index, kind, often, *others = sys.argv[1:]
alone = ["search", "-q", "-t", "1", "-x", index, *others, "--format", "sam", *TABLES, "-o"]
one = ["-q", "-t", "1", "-x", index, others[-1], "-o"]
commands = {
    "alone": [[*alone, "one.sam"]],
    "sorted": [["search", *one, "one.bam", "--sort"]],
    "sorted cram": [["search", *one, "one.cram", "--sort"]],
    "parquet": [["search", *one, "one.parquet"]],
    "npz": [["locate", *one, "one.npz", "--matrix", "counts"]],
    "shards": [[*alone, "d", "--shard", "1/2"], [*alone, "d", "--shard", "2/2"]],
    "merge": [["merge", "-q", "d", "-o", "one.sam"]],
}
if kind.endswith(" shards"):  # of a container
    name, whole = "one." + kind.split()[0], ["search", *one[:-1], *kind.split()[1:-1]]
    commands["alone"] = [[*whole, "-o", name]]
    whole += ["--format", name[4:], "-o", "d", "--shard"]
    commands |= {kind: [[*whole, "1/2"], [*whole, "2/2"]], "merge": [["merge", "-q", "d", "-o", name]]}

def content(name):
    if name.endswith(".bai") and kind != "sorted":  # of offsets, which the @PG line moves
        return bool(os.path.getsize(name))
    if name.endswith(".cram") or (name.endswith(".bam") and kind != "sorted"):
        text = pysam.view("--no-PG", "-h", name)  # samtools chooses codecs of CRAM by chance
        return "".join(line for line in text.splitlines(True) if line[:3] != "@PG")
    if name.endswith(".gz"):  # blocks begin where spans do
        return gzip.open(name).read()
    return b"".join(line for line in open(name, "rb") if line[:3] != b"@PG")

def written():
    names = [name for name in os.listdir(".") if name[0] != "." and name not in ("d", "r.json")]
    return {name: content(name) for name in names}

def done(words, at=None):
    if os.fork() == 0:
        events, calls = itertools.count(), collections.Counter()
        def watch(frame, event, function):
            if event == "c_call" and function.__name__ in CALLS and frame.f_code.co_filename in PLACES:
                calls[frame.f_code, frame.f_lasti] += 1
                is_reading = READING & {frame.f_code.co_name, frame.f_back.f_code.co_name}
                is_new = calls[frame.f_code, frame.f_lasti] <= int(often)
                if is_new and not is_reading and next(events) == at:
                    os.kill(os.getpid(), signal.SIGKILL)
        if at is not None:
            threading.setprofile(watch)
            sys.setprofile(watch)
        code = run(words)
        sys.setprofile(None)
        os._exit(code)
    return os.waitstatus_to_exitcode(os.wait()[1])

assert run(commands[kind if len(commands[kind]) == 1 and kind != "merge" else "alone"][0]) == 0
expected = written()
assert len(expected) == {"sorted": 2, "bam": 2, "parquet": 1, "npz": 1}.get(kind.split()[0], 5)
victim, *others = commands[kind]
for at in itertools.count():
    for name in expected:
        if os.path.exists(name):
            os.unlink(name)
    if "shards" in kind:
        shutil.rmtree("d", ignore_errors=True)
    elif kind == "merge" and at == 0:
        assert [done(words) for words in commands["shards"]] == [0, 0]
    code = done(victim, at)
    assert all(expected[name] == data for name, data in written().items()), (at, "incomplete")
    after = [victim, *others, *(commands["merge"] if "shards" in kind else ())]
    assert [done(words) for words in after] == [0] * len(after), at
    if kind == "shards":
        assert all(os.path.getsize(f"d/000{i}-of-0002/al") > 99 for i in (1, 2))
    assert written() == expected, at
    if code == 0:
        break
    assert code == -signal.SIGKILL
print(at)
"""


KINDS = ["alone", "shards", "merge", "sorted cram", "parquet", "npz", "parquet shards"]


@pytest.mark.parametrize("often", [1, nightly(9**9)])
@pytest.mark.parametrize("kind", [*KINDS, *map(nightly, ("sorted", "bam --sort shards"))])
def test_what_is_killed_and_run_again_writes_the_same(kind, often, tmp_path):
    """At the first ``often`` calls of each line."""
    (tmp_path / "few.fq").write_bytes(cases.fastq(reads(30)))
    for name, contigs in (("one", CONTIGS[:1]), ("two", CONTIGS[1:])):
        cases.build(tmp_path / f"{name}.fmx", contigs)
    (tmp_path / "groups.tsv").write_text(f"{CONTIGS[0][0]}\tgroup\n")
    workflow.add_groups(tmp_path / "one.fmx", tmp_path / "groups.tsv")
    place = tmp_path / "run"
    place.mkdir()
    command = [sys.executable, "-c", PROGRAM, tmp_path / "one.fmx", kind, str(often)]
    command += ["-x", tmp_path / "two.fmx", tmp_path / "few.fq"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > (10 if kind in ("alone", "shards", "merge") else 5)
