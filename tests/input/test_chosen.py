"""--first and --skip: exact, whoever reads which span, and blind for what lies behind."""

import gzip
import random
from functools import partial

import cases
import pytest
import workflow
from output_of import bgzf, without_program
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.mapping import MapOptions

GENOME = numbered([random_letters(500, "chosen")])
RECORDS = [(f"r{i}", GENOME[0][1][3 * i : 3 * i + 20 + i % 7]) for i in range(60)]
FORMS = {
    "FASTQ": [cases.fastq(RECORDS[:25]), cases.fastq(RECORDS[25:])],
    "FASTA and gzip": [cases.fasta(RECORDS[:25], 9), gzip.compress(cases.fastq(RECORDS[25:]))],
    "BGZF": [bgzf(cases.fastq(RECORDS[:25]), 100), bgzf(cases.fasta(RECORDS[25:], 9), 200)],
    "no final newline": [cases.fastq(RECORDS[:25])[:-1] + b"\n\n\n", cases.fasta(RECORDS[25:])[:-1]],
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
        workflow.search(opened, places, options, SearchOutput(RecordOutput("out.sam")))
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
    good = cases.fastq(RECORDS)
    (folder / "r.fq").write_bytes(good + b"@bad\nAC\n+\nI\n")
    for arguments, code in (
        ("--first 60", 0), ("--first 61", 1), ("--skip 59 --first 1", 0), ("--skip 60", 1)
    ):  # fmt: skip
        result = command("search", "-q", "-x", index_of(GENOME), "r.fq", "-o", "o.sam", *arguments.split())
        assert (result.code, "r.fq: record 61: " in result.err) == (code, code == 1)


@pytest.mark.parametrize("seed", range(12))
def test_shards_of_a_range_are_the_range(seed, folder, index_of, command, cut_sizes):
    """Of single reads and of pairs, wherever files may be cut, and in as many shards as anybody wants."""
    rng = random.Random(f"range {seed}")
    cut_sizes(rng.choice([40, 100, 1000]))
    n, names = 0, []
    for i in range(rng.randint(1, 3)):
        records = [(f"r{i}.{j}", "ACGTTGCA"[: rng.randint(0, 8)]) for j in range(rng.randint(1, 40))]
        kind, form = rng.choice([bytes, gzip.compress, partial(bgzf, size=90)]), cases.fastq
        n += len(records)
        names.append((f"a{i}", f"b{i}"))
        for name in names[-1]:
            (folder / name).write_bytes(kind(form(records)))
    one, two = (",".join(files) for files in zip(*names, strict=True))
    given = rng.choice([one.split(","), ["-1", one, "-2", two]])
    skip, first, n_shards = rng.randint(0, n), rng.randint(1, n), rng.randint(1, 6)
    how = ["search", "-q", "-x", index_of(GENOME), *given, "--skip", skip, "--first", first]
    assert command(*how, "-o", "one.sam").code == 0
    for i in range(1, n_shards + 1):
        done = command(*how, "--shard", f"{i}/{n_shards}", "-o", "d")
        assert done.code == 0, done.err
    assert command("merge", "-q", "d", "-o", "all.sam").code == 0
    found, expected = ((folder / name).read_bytes() for name in ("all.sam", "one.sam"))
    assert without_program(found) == without_program(expected)
    n_records = sum(not line.startswith(b"@") for line in expected.splitlines())
    assert n_records == min(first, n - skip) * (2 if "-1" in given else 1)
