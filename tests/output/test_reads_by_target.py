"""One file of reads per contig, group or index, by {target} in the name of --al: as a naive scan tells."""

import functools
import itertools
import re
import resource
import signal
import subprocess
import sys

import cases
import hypothesis
import naive
import naive_pairs
import pytest
from conftest import ON_CPU
from hypothesis import strategies as st
from screened import CONTIGS, GROUPS, PAIRS, READS, REFERENCES, UNIT

from fmx.errors import OutputError
from fmx.output import files
from fmx.output.files import ReadsOutput

NAMES = {"contig": ["h_1", "_h2", "p:1", "a"], "group": list(REFERENCES), "index": list(REFERENCES)}
NAMED = [(f"r{i}", read) for i, read in enumerate(READS)]
MATES = [[(f"p{i}", pair[mate]) for i, pair in enumerate(PAIRS)] for mate in (0, 1)]
LEAST = 20  # of a stretch


@functools.cache
def contigs_of(way, *mates) -> set:
    """Numbers of the contigs that a read or pair occurs in, as a screen counts them, by options ``way``."""
    if "--min-match" in way:
        return set().union(*(naive.contigs_of_stretches(CONTIGS, read, LEAST) for read in mates))
    near = int("--mismatches" in way), "--strata" in way
    proper = naive_pairs.proper_pairs(CONTIGS, *mates, "fr", 0, 500, *near) if len(mates) == 2 else []
    contigs: set = set()
    for read in mates:
        places = naive_pairs.occurrences(CONTIGS, read, *near)
        if "-m" not in way or len(proper or places) <= 3:
            contigs |= {contig for contig, *_ in places}
    return contigs


def expected(records, contigs, by, shared) -> dict:
    """{file: its records}, of records that occur in these ``contigs``."""
    names = [*NAMES[by], *(["ambiguous"] if shared == "ambiguous" else []), "un"]
    texts: dict = {name: [] for name in names}
    for record, numbers in zip(records, contigs, strict=True):
        of = {NAMES[by][i] if by == "contig" else GROUPS[i] for i in numbers} or {"un"}
        for name in of if shared == "each" or len(of) == 1 else {"ambiguous"}:
            texts[name].append(record)
    return {f"{name}.fq": cases.fastq(some) if some else b"" for name, some in texts.items()}


KILL = """
import os, sys
from fmx.cli.main import run
from fmx.output.files import OutputFile as File
complete = File.complete
def kill(file):
    complete(file)
    if file.path == "ambiguous.fq":
        os.kill(os.getpid(), 9)
File.complete = kill
run(sys.argv[1:])
"""
OPTIONS = {
    "exact": (), "at most": ("-m", "3"), "near": ("--mismatches", "1"),
    "near, best": ("--mismatches", "1", "--strata"), "stretches": ("--min-match", str(LEAST)),
}  # fmt: skip
READ_FILES = {"reads": ((NAMED,), ("r.fq",)), "pairs": (MATES, ("-1", "1.fq", "-2", "2.fq"))}


@pytest.mark.parametrize("by", NAMES)
@pytest.mark.parametrize("way", OPTIONS)
def test_reads_are_in_the_files_of_what_they_occur_in(
    way, by, screened, command, chunks_of, tmp_path, monkeypatch
):
    chunks_of(900)
    monkeypatch.chdir(screened)
    indexes = [f"{name}.fmx" for name in REFERENCES] if by == "index" else ["all.fmx"]
    words = ["search", "-q", *(word for index in indexes for word in ("-x", index)), *OPTIONS[way]]
    words += [] if way == "stretches" else ["-o", "/dev/null"]
    words += ["--counts-by", "group"] if by == "group" else []
    for (threads, shared), kind in itertools.product([(1, "ambiguous"), (3, "each")], READ_FILES):
        (folder := tmp_path / f"{kind} {shared}").mkdir()
        outputs = "--al", folder / "{target}.fq", "--un", folder / "un.fq"
        sides, files = READ_FILES[kind]
        result = command(*words, *files, "-t", threads, "--shared", shared, *outputs)
        assert (result.code, result.err) == (0, "")
        contigs = [
            contigs_of(OPTIONS[way], *(read for _, read in mates)) for mates in zip(*sides, strict=True)
        ]
        wanted = {}
        for mate, side in enumerate(sides, 1):
            ending = f"_{mate}.fq" if len(sides) == 2 else ".fq"
            texts = expected(side, contigs, by, shared)
            wanted |= {name.replace(".fq", ending): text for name, text in texts.items()}
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == wanted
        assert sum(map(bool, wanted.values())) >= 4


@hypothesis.given(st.lists(st.text(), unique=True, min_size=1, max_size=8), st.booleans())
def test_names_of_targets_are_fit_for_files_and_differ(names, to_each):
    fit = [re.sub(r"^(?=\.|$)\.?|[/\x00-\x1f\x7f]", "_", name) for name in names]
    fit += [] if to_each else ["ambiguous"]
    output = ReadsOutput("{target}.fq", to_each=to_each)
    if len(set(fit)) == len(fit):
        assert [*output.of_targets(names).files] == [f"{name}.fq" for name in fit]
    else:
        with pytest.raises(OutputError, match="would be written to the same file, with the name"):
            output.of_targets(names)


REFUSED = {
    "--al {target}.fq": "--al (a) a.fq is the same file as the input a.fq; choose another name",
    "--al {target}.fa --un b.fa": "--un b.fa is a file of --al {target}.fa, too: choose another name",
    "--al {target}.fq -x same.fmx": "--al {target}.fq: c/1 and c_1 would be written to the same file, with",
    "--al {target}.fq -x taken.fmx": "ambiguous and the reads of several targets would be written to the",
    "--al none/{target}.fa": "none/a.fa: cannot write: the folder 'none' does not exist",
    "--al {target}.fa -x long.fmx": "cannot write: File name too long",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_cannot_be_is_refused_before_any_work(options, folder, command):
    (folder / "a.fq").write_bytes(cases.fastq(NAMED))
    for name, contigs in (
        ("x", "ab"),
        ("same", ["c/1", "c_1"]),
        ("taken", ["ambiguous"]),
        ("long", ["c" * 260]),
    ):
        cases.build(folder / f"{name}.fmx", [(contig, UNIT) for contig in contigs])
    before = sorted(path.name for path in folder.iterdir())
    words = options.split()
    result = command("search", *([] if "-x" in words else ["-x", "x.fmx"]), "a.fq", "-o", "out.sam", *words)
    assert result.code in (1, 2)
    assert REFUSED[options] in result.err, result.err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_all_files_appear_or_none_does(screened, folder, command, monkeypatch, chunks_of):
    """As on a full disk, and when killed."""
    chunks_of(900)
    words = ["search", "-q", "-x", screened / "all.fmx", screened / "r.fq", "-o", "out.sam"]
    words += ["--al", "{target}.fq"]
    write, n_written = files.OutputFile.write, []

    def full(file, piece):
        n_written.append(file.path)
        if n_written.count("a.fq") == 2:
            raise OutputError("a.fq: cannot write: No space left on device")
        write(file, piece)

    with monkeypatch.context() as patched:
        patched.setattr(files.OutputFile, "write", full)
        result = command(*words)
    assert (result.code, result.err) == (1, "fmx: error: a.fq: cannot write: No space left on device\n")
    assert len(set(n_written)) > 3
    assert list(folder.iterdir()) == []
    killed = subprocess.run(
        [sys.executable, "-c", KILL, *map(str, words)], cwd=folder, env=ON_CPU, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    drafts = [path.name for path in folder.iterdir()]
    assert len(drafts) > 5
    assert all(name.startswith(".") and name.endswith(".partial") for name in drafts)
    assert command(*words).code == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*(f"{name}.fq" for name in [*NAMES["contig"], "ambiguous"]), "out.sam"]
    )


def test_too_many_targets_are_refused_before_any_work(folder, command, monkeypatch):
    cases.build(folder / "x.fmx", [(f"c{i}", UNIT) for i in range(300)])
    (folder / "r.fq").write_bytes(cases.fastq(NAMED))
    limits, of_process = [100, 200], resource.getrlimit

    def set_limit(_, values):
        limits[:] = values

    def get_limit(kind):
        return tuple(limits) if kind == resource.RLIMIT_NOFILE else of_process(kind)

    monkeypatch.setattr(files.resource, "getrlimit", get_limit)
    monkeypatch.setattr(files.resource, "setrlimit", set_limit)
    words = ["search", "-x", "x.fmx", "r.fq", "-o", "out.sam", "--al", "{target}.fq"]
    result = command(*words)
    assert (result.code, sorted(path.name for path in folder.iterdir())) == (1, ["r.fq", "x.fmx"])
    assert "--al: 301 files of reads are too many: this process may have 200 files open" in result.err
    limits[:] = 100, 400  # the lower limit is raised to the higher one
    assert (done := command(*words)).code == 0, done.err
    assert (limits, len(list(folder.glob("*.fq")))) == ([400, 400], 302)
    limits[:] = 100, resource.RLIM_INFINITY
    assert (done := command(*words)).code == 0, done.err
