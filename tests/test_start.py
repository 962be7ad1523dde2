"""How many modules of ours a command imports: what it does not need, it does not wait for."""

import subprocess
import sys

import cases
import pytest
from texts import numbered, random_letters

CONTIGS = numbered([random_letters(2000, "start")])
SLOW = ("numba", "pysam", "numpy", "llvmlite", "pydivsufsort", "isal")
PROGRAM = """
import sys
from fmx.cli.main import run
code = run(sys.argv[1:])
print(code, *sys.modules, file=sys.stderr)
"""
BUILDING = ("fmx.index.build", "fmx.index.writer")
OTHERS = ("fmx.search.near", "fmx.search.products", "fmx.search.collapse", "fmx.jobs.cluster")
NO_INDEX = ("fmx.search.mapping", "fmx.jobs.search", "fmx.index.fm_index", *OTHERS)
COMMANDS = {  # at most so many modules, and some that are not among them
    "search": (["search", "few.fq", "-x", "{}"], 70, (*BUILDING, *OTHERS, "fmx.jobs.shard")),
    "locate": (["locate", "-p", "ACGTTGCA", "-x", "{}"], 73, (*BUILDING, *OTHERS, "fmx.mem.matching")),
    "mem": (["mem", "few.fq", "-x", "{}"], 75, (*BUILDING, *OTHERS, "fmx.jobs.search")),
    "count": (["count", "-l", "guides.csv", "--anywhere", "few.fq"], 52, NO_INDEX),
    "pairwise": (["pairwise", "few.fa"], 62, NO_INDEX),
    "index": (["index", "few.fa", "-o", "out.fmx"], 60, ("fmx.search.mapping", "fmx.jobs.search", *OTHERS)),
    "inspect": (["inspect", "{}"], 38, (*BUILDING, *OTHERS)),
    "help": (["search", "--help"], 16, ("fmx.input.chunks", "fmx.output.search_output", *SLOW)),
    "all help": (["--help"], 25, SLOW),
    "version": (["--version"], 18, SLOW),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_only_what_it_needs(name, index_of, folder):
    words, most, others = COMMANDS[name]
    letters = CONTIGS[0][1]
    reads = [(f"r{i}", letters[i : i + 60]) for i in range(25)]
    (folder / "few.fq").write_bytes(cases.fastq(reads))
    (folder / "few.fa").write_bytes(cases.fasta(reads[:3]))
    (folder / "guides.csv").write_text(f"id,sequence,gene\na,{letters[30:50]},g\nb,{letters[60:80]},g\n")
    words = [word.format(index_of(CONTIGS)) for word in words]
    for _ in range(2):  # the first one may compile, for which it imports more
        program = [sys.executable, "-c", PROGRAM, *words]
        done = subprocess.run(program, capture_output=True, text=True, check=True)
        code, *modules = done.stderr.splitlines()[-1].split()
        ours = [name for name in modules if name.split(".")[0] == "fmx"]
        if "numba" not in modules:
            break
    assert code == "0", done.stderr
    assert {"numba", *others} & set(modules) == set()
    assert len(ours) <= most
