"""--first and --skip: exact, whoever reads which span, and blind for what lies behind."""

import gzip

import journeys
import pytest
from output_of import bgzf, without_program
from texts import numbered, random_letters

from fmx import workflow
from fmx.index import fm_index
from fmx.search.mapping import MapOptions

GENOME = numbered([random_letters(500, "chosen")])
RECORDS = [(f"r{i}", GENOME[0][1][3 * i : 3 * i + 20 + i % 7]) for i in range(60)]
FORMS = {
    "FASTQ": [journeys.fastq(RECORDS[:25]), journeys.fastq(RECORDS[25:])],
    "FASTA and gzip": [journeys.fasta(RECORDS[:25], 9), gzip.compress(journeys.fastq(RECORDS[25:]))],
    "BGZF": [bgzf(journeys.fastq(RECORDS[:25]), 100), bgzf(journeys.fasta(RECORDS[25:], 9), 200)],
    "no final newline": [journeys.fastq(RECORDS[:25])[:-1] + b"\n\n\n", journeys.fasta(RECORDS[25:])[:-1]],
}
WANTED = [(0, 1), (0, 25), (10, 30), (25, 1), (24, 2), (59, 9), (60, 1), (7, None), (0, 60), (31, 1000)]


@pytest.fixture
def written(folder, index_of):
    """A function: what is written of the reads of files, as the MapOptions say."""
    opened = fm_index.load(index_of(GENOME))

    def written(files, **options):
        for i, data in enumerate(files):
            (folder / str(i)).write_bytes(data)
        places, options = [folder / str(i) for i in range(len(files))], MapOptions(**options)
        workflow.search(opened, places, options, workflow.Output("out.sam"))
        lines = without_program((folder / "out.sam").read_bytes()).splitlines()
        return [line.split(b"\t")[0].decode() for line in lines if not line.startswith(b"@")]

    return written


@pytest.mark.parametrize("form", FORMS)
def test_just_these_reads_are_mapped(form, written):
    names = [name for name, _ in RECORDS]
    for skip, first in WANTED:
        stop = None if first is None else skip + first
        for threads, size in ((1, 1 << 20), (3, 70)):
            found = written(FORMS[form], skip=skip, first=first, n_threads=threads, chunk_size=size)
            assert found == names[skip:stop]


def test_damage_behind_the_last_read_is_not_met(folder, index_of, command):
    good = journeys.fastq(RECORDS)
    (folder / "r.fq").write_bytes(good + b"@bad\nAC\n+\nI\n")
    for arguments, code in (
        ("--first 60", 0),
        ("--first 61", 1),
        ("--skip 59 --first 1", 0),
        ("--skip 60", 1),
    ):
        result = command("search", "-q", "-x", index_of(GENOME), "r.fq", "-o", "o.sam", *arguments.split())
        assert (result.code, "r.fq: record 61: " in result.err) == (code, code == 1)


def test_a_shard_cannot_count_the_reads_before_it(folder, index_of, command):
    (folder / "r.fq").write_bytes(journeys.fastq(RECORDS))
    for option in ("--first", "--skip"):
        result = command(
            "search", "-x", index_of(GENOME), "r.fq", option, "3", "--shard", "1/2", "-o", "out.d"
        )
        assert (result.code, f"{option} is for all of the inputs together" in result.err) == (2, True)
