"""Whatever spans a command reads, and by however many threads, its output is the same; files are closed."""

import gzip

import cases
import pytest
import workflow
from output_of import bgzf, without_program
from texts import numbered, random_letters

from fmx.errors import InputError
from fmx.index import fm_index
from fmx.input import PairedFiles, spans
from fmx.input.reads import WHOLE
from fmx.input.streams import Source
from fmx.output.run import Run
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.mapping import MapOptions, Pairing

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
DAMAGED = cases.fastq(READS).replace(b"@r9\n", b"@r9\nACGT\n+\nIII\n@r9\n", 1)
OPTIONS = {
    "all": MapOptions(),
    "the first": MapOptions(first=100),
    "collapsed": MapOptions(collapse=WHOLE),
    "pairs": MapOptions(pairing=Pairing()),
}


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize("name", FILES)
def test_the_output_is_the_same(name, arguments, folder, index_of, command, monkeypatch):
    (folder / "in").write_bytes(FILES[name])
    run = [*arguments, "-q", "-x", index_of(GENOME), "in"]
    expected, plan, planned = command(*run, "-t", 1), spans.RecordFile.spans, []
    assert (expected.code, expected.err) == (0, "")
    assert expected.out.count(b"\n") > 60
    for size, threads in ((1, 2), (100, 1), (100, 3), (4000, 5)):

        def small(file, usual, *more, size=size, **others):
            size = size if file.path == "in" else usual  # not of a read that is made up to compile
            for span in plan(file, size, *more, **others):
                planned.append(span)
                yield span

        monkeypatch.setattr(spans.RecordFile, "spans", small)
        result = command(*run, "-t", threads)
        assert without_program(result.out) == without_program(expected.out)
    assert len(planned) > 20


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("form", [bytes, gzip.compress, lambda data: bgzf(data, 200)], ids=["", "gz", "bgzf"])
def test_files_are_closed_after_an_error(options, form, index_of, tmp_path, monkeypatch):
    opened, make, plan = [], Source.__init__, spans.RecordFile.spans

    def noted(source, path):
        opened.append(source)
        make(source, path)

    def planned(file, _, *more, **others):
        opened.append(plan(file, 500, *more, **others))
        return opened[-1]

    monkeypatch.setattr(spans.RecordFile, "spans", planned)
    index, options = fm_index.load(index_of(GENOME)), OPTIONS[options]
    (tmp_path / "reads").write_bytes(form(DAMAGED))
    paths = [tmp_path / "reads"]
    files = PairedFiles(paths, paths) if options.pairing else paths
    output = SearchOutput(RecordOutput(str(tmp_path / "out")))
    prepared = workflow.prepare(index, files, options, output, workflow.Progress(quiet=True), workflow.CPU)
    del opened[:]
    monkeypatch.setattr(Source, "__init__", noted)
    with pytest.raises(InputError, match="bases but"):
        workflow.write_hits(prepared, files, output, workflow.Progress(quiet=True), Run())
    assert any(isinstance(each, Source) for each in opened)
    assert all(each._raw.closed if isinstance(each, Source) else each.gi_frame is None for each in opened)
