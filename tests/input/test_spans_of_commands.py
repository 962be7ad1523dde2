"""Whatever spans a command reads, and by however many threads, its output is the same."""

import gzip

import cases
import pytest
from output_of import bgzf, without_program
from texts import numbered, random_letters

from fmx.input import spans

GENOME = numbered([random_letters(900, "spans"), random_letters(400, "of commands")])
LETTERS = GENOME[0][1]
READS = [(f"r{i}", LETTERS[3 * i : 3 * i + 20 + i % 9]) for i in range(60)] + [("long", LETTERS * 2)]
BLANK = b"\n" * 40
FILES = {
    "plain FASTQ": BLANK + cases.fastq(READS) + BLANK,
    "FASTA in lines": cases.fasta(READS, width=30),
    "BGZF": bgzf(cases.fastq(READS), 300),
    "gzip": gzip.compress(cases.fastq(READS)),
    "BGZF and then gzip": bgzf(cases.fastq(READS[:30]), 300) + gzip.compress(cases.fastq(READS[30:])),
}
COMMANDS = [["search", "-a"], ["locate"], ["mem", "-l", "15"]]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize("name", FILES)
def test_the_output_is_the_same(name, arguments, folder, index_of, command, monkeypatch):
    (folder / "in").write_bytes(FILES[name])
    run = [*arguments, "-q", "-x", index_of(GENOME), "in"]
    expected, plan, planned = command(*run, "-t", 1), spans.plan, []
    assert (expected.code, expected.err) == (0, "")
    assert expected.out.count(b"\n") > 60
    for size, threads in ((1, 2), (100, 1), (100, 3), (4000, 5)):

        def small(paths, given=spans.CHUNK_SIZE, *more, size=size, **others):
            size = given if isinstance(paths[0], bytes) else size  # a read that is made up to compile
            for span in plan(paths, size, *more, **others):
                planned.append(span)
                yield span

        monkeypatch.setattr(spans, "plan", small)
        found = command(*run, "-t", threads)
        assert without_program(found.out) == without_program(expected.out)
    assert len(planned) > 20
