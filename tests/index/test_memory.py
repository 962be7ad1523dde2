"""Memory is bounded: by the index, not by the reads; and by 12 bytes a base while an index is built."""

import gzip
import json
import subprocess
import sys

import cases
import pytest
from cover import nightly
from texts import numbered, random_letters

# The high-water mark of /proc, since that of getrusage begins with the memory of the process that starts it.
MEASURED = """
import re, sys
from fmx.cli.main import run
code = run(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1], file=sys.stderr)
sys.exit(code)
"""
MB = 1_000_000


def peak(arguments, feed=()) -> int:
    """Largest resident memory of a command, in bytes; ``feed`` are pieces of its standard input."""
    command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with process:
        for piece in feed:
            process.stdin.write(piece)
        process.stdin.close()
        said = process.stderr.read().decode().splitlines()
    assert process.returncode == 0, said
    return int(said[-1]) * 1024


def test_reads_do_not_raise_the_peak(index_of):
    contigs = numbered([random_letters(100_000, "memory")])
    piece = cases.fastq([(f"r{i}", contigs[0][1][i * 90 : i * 90 + 100]) for i in range(1000)])
    arguments = ["search", "-q", "-t", "2", "-x", index_of(contigs), "-"]
    peak(arguments, [piece])  # compiles
    few, many = (peak(arguments, [piece] * n) for n in (100 * MB // len(piece), 300 * MB // len(piece)))
    assert many - few < 70 * MB  # how much of what may wait for its turn, 64 MB, does so is luck
    assert many < 400 * MB


def test_a_read_with_a_million_hits_does_not_raise_the_peak_by_its_records(index_of):
    """All records of -a would be 90 MB at once."""
    index = index_of(numbered([random_letters(4_000_000, "hits", "AC")]))
    arguments = ["search", "-q", "-t", "1", "-x", index, "-a", "-"]
    few, many = (peak(arguments, [b">r\n%s\n" % read]) for read in (b"ACACACACACACACACACACACACACACACA", b"A"))
    assert many - few < 100 * MB


@pytest.mark.parametrize(
    ("name", "n_bases", "parts"),
    [
        nightly("human_hs37_chrX_20M-30M.fa.gz", 10_000_000, ["--with-lcp"]),
        ("scerevisiae_sacCer3.fa.gz", 12_157_105, []),
    ],
)
def test_building_takes_at_most_12_bytes_a_base(name, n_bases, parts, data, tmp_path):
    genome, output = data(name), tmp_path / "x.fmx"
    (tmp_path / "tiny.fa").write_bytes(b">x\nACGTTGCA\n")
    arguments = ["-q", "-t", "2", *parts, "-o", output]
    base, grown = (  # the first of each may compile
        min(peak(["index", fasta, *arguments]) for _ in range(2)) for fasta in (tmp_path / "tiny.fa", genome)
    )
    assert grown - base < 12 * n_bases
    assert json.loads((output / "meta.json").read_text())["n_bases"] == n_bases


def test_one_gzip_by_many_threads_does_not_raise_the_peak(index_of, tmp_path):
    """Each thread holds one range of the file, wherever it is read."""
    contigs = numbered([random_letters(100_000, "memory")])
    piece = cases.fastq([(f"r{i}", contigs[0][1][i * 90 : i * 90 + 100]) for i in range(1000)] * 20)
    member, peaks = gzip.compress(piece, 1), []
    for n in (1, 60 * MB // len(piece), 200 * MB // len(piece)):  # the first compiles
        (tmp_path / "reads.gz").write_bytes(member * n)
        reads = tmp_path / "reads.gz"
        peaks.append(peak(["search", "-q", "-t", "6", "-x", index_of(contigs), reads, "-o", "/dev/null"]))
    assert peaks[2] - peaks[1] < 100 * MB
    assert peaks[2] < 700 * MB
