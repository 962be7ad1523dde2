"""The command line: what it accepts, and that threads, chunks and layouts never change what it writes."""

import gzip
import os
import subprocess
import sys

import cases
import pytest
from conftest import ROOT
from output_of import bgzf
from texts import TEXTS, reads_of

import fmx

CONTIGS = TEXTS["repeats across separators"]
FASTA = cases.fasta(CONTIGS, width=11)
READS = [(f"r{i}", sequence) for i, sequence in enumerate(reads_of(CONTIGS))]
FASTQ = cases.fastq(READS)


def variants(data: bytes) -> dict:
    """The same records in all the ways that files come."""
    half = data.index(b"\n", len(data) // 2) + 1
    return {
        "plain": data,
        "CRLF": data.replace(b"\n", b"\r\n"),
        "no final newline": data.rstrip(b"\n"),
        "no final newline after CRLF": data.replace(b"\n", b"\r\n").rstrip(b"\r\n"),
        "blank lines at the end": data + b"\n\n\r\n",
        "blank lines at the start": b"\n \n" + data,
        "gzip": gzip.compress(data),
        "multi-member gzip": b"".join(gzip.compress(data[i : i + 1000]) for i in range(0, len(data), 1000)),
        "gzip of two members cut in a line": gzip.compress(data[: half - 5])
        + gzip.compress(data[half - 5 :]),
        "gzip with an empty member": gzip.compress(b"") + gzip.compress(data) + gzip.compress(b""),
        "bgzf": bgzf(data),
    }


@pytest.fixture
def expected(folder, index_of, command):
    """The records of FASTQ, from the plainest run there is."""
    (folder / "plain.fq").write_bytes(FASTQ)
    result = command("search", "-q", "-a", "-t", "1", "-x", index_of(CONTIGS), "plain.fq")
    assert len(result.records) > len(READS)
    return result.records


@pytest.mark.parametrize("how", ["file", "stdin"])
@pytest.mark.parametrize("name", variants(b"\n"))
def test_reads_are_accepted_as(name, how, expected, folder, index_of, command):
    data = variants(FASTQ)[name]
    (folder / "reads").write_bytes(data)
    source = "reads" if how == "file" else "-"
    result = command("search", "-q", "-a", "-x", index_of(CONTIGS), source, stdin=data)
    assert (result.code, result.err) == (0, "")
    assert result.records == expected


@pytest.mark.parametrize("name", variants(b"\n"))
def test_fasta_reads_are_accepted_as(name, expected, folder, index_of, command):
    (folder / "reads").write_bytes(variants(cases.fasta(READS, width=9))[name])
    result = command("search", "-q", "-a", "-x", index_of(CONTIGS), "reads")
    assert result.code == 0
    assert [record[:9] for record in result.records] == [record[:9] for record in expected]
    assert {record[10] for record in result.records} == {"*"}


REFERENCES = {
    **variants(FASTA),
    "one line a contig": cases.fasta(CONTIGS),
    "one letter a line": cases.fasta(CONTIGS, width=1),
    "lower case": b"".join(
        line if line.startswith(b">") else line.lower() for line in FASTA.splitlines(keepends=True)
    ),
    "blank lines between": FASTA.replace(b"\n>", b"\n\n\n>"),
    "descriptions": FASTA.replace(b"\n", b" some words\n", 1).replace(b">c2\n", b">c2\tmore > words\n"),
}


@pytest.mark.parametrize("how", ["file", "stdin"])
@pytest.mark.parametrize("name", REFERENCES)
def test_references_are_accepted_as(name, how, expected, folder, command):
    data = REFERENCES[name]
    (folder / "ref.fa").write_bytes(data)
    result = command("index", "-q", "ref.fa" if how == "file" else "-", "-o", "new.fmx", stdin=data)
    assert (result.code, result.err) == (0, "")
    result = command("search", "-q", "-a", "-x", "new.fmx", "plain.fq")
    assert result.records == expected


def test_several_files_are_mapped_in_order(expected, folder, index_of, command):
    border = FASTQ.index(b"@r60\n")
    (folder / "a.fq").write_bytes(FASTQ[:border].rstrip(b"\n"))
    (folder / "empty.fa").write_bytes(b"")
    (folder / "b.fq.gz").write_bytes(gzip.compress(FASTQ[border:]))
    result = command("search", "-q", "-a", "-x", index_of(CONTIGS), "a.fq", "empty.fa", "b.fq.gz")
    assert result.records == expected
    result = command("search", "-q", "-a", "-x", index_of(CONTIGS), "a.fq", "-", stdin=FASTQ[border:])
    assert result.records == expected


def test_version(command):
    for option in ("-V", "--version"):
        assert command(option).out.decode() == f"fmx {fmx.__version__}\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="only Linux lists the threads of a process")
def test_numpy_starts_no_threads_of_its_own_in_a_command():
    program = "import fmx.__main__, numpy, os; print(len(os.listdir('/proc/self/task')))"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, check=True)
    assert int(done.stdout) == 1


@pytest.mark.parametrize(
    ("words", "offered"),
    [("fmx sea", "search"), ("fmx search --eng", "--engine"), ("fmx mem --engine a", "auto")],
)
def test_a_shell_completes_commands_options_and_values(words, offered):
    environment = {"_FMX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "fmx"], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"plain,{offered}\n", "")
