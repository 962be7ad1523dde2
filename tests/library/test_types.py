"""What type checkers are told of the library is right: names of choices, results, nothing of any type."""

import subprocess
import sys

from conftest import ROOT

PROGRAM = """\
from pathlib import Path

import fmx

index = fmx.open("genome.fmx", engine="auto")
with fmx.build(["a.fa", "b.fa"], Path("x.fmx")) as other:
    other.close()
hits = index.search({"a": "ACGT"}, strands="forward", k=None)
reveal_type(index)
reveal_type(hits)
reveal_type(hits["position"])
reveal_type(hits[hits["reverse"]])
reveal_type(hits[1:])
reveal_type(hits.names["read"][3])
reveal_type(hits.names["read"][hits["read"]])
reveal_type(index.count(["ACGT"]))
reveal_type(next(index.search_chunks(Path("reads.fq"))))
reveal_type(index.groups)
index.search(["ACGT"], strands="minus")
index.search_pairs("1.fq", "2.fq", orientation="rr")
index.mem("q.fa", unique="query")
fmx.open("genome.fmx", engine="gpu")
fmx.pairwise(["A"], engine="cuda_full")
fmx.build("a.fa", engine="both")
index.search(5)
index.search(["ACGT"], k="3")
fmx.serach
"""
WANTED = [
    "Index", "Table", "ndarray", "Table", "Table", "str", "list[str]", "ndarray", "Table", "list[str] | None",
]  # fmt: skip


def test_a_strict_program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=",
         f"--cache-dir={tmp_path}", "--show-error-codes", "program.py"],
        cwd=tmp_path, env={"MYPYPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = [line for line in done.stdout.splitlines() if line.startswith("program.py:")]
    revealed = [line.split('"')[1] for line in told if "Revealed type" in line]
    for found, wanted in zip(revealed, WANTED, strict=True):
        plain = found.replace("builtins.", "")
        assert wanted in plain, (found, wanted)
        assert plain != "Any"
    wrong = sorted({int(line.split(":")[1]) for line in told if ": error: " in line})
    first = PROGRAM.splitlines().index('index.search(["ACGT"], strands="minus")') + 1
    assert wrong == list(range(first, first + 9)), done.stdout
