"""Spans that are left are closed on purpose, with the files that they read, whoever still holds them."""

import gzip

import cases
import pytest
from output_of import bgzf
from texts import numbered, random_letters

from fmx import workflow
from fmx.errors import InputError
from fmx.index import fm_index
from fmx.input import PairedFiles, mates, spans
from fmx.input.reads import WHOLE
from fmx.input.streams import Source
from fmx.output.run import Run
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.mapping import MapOptions, Pairing

GENOME = numbered([random_letters(300, "left")])
READS = cases.fastq([(f"r{i}", GENOME[0][1][i : i + 30]) for i in range(200)])
DAMAGED = READS.replace(b"@r9\n", b"@r9\nACGT\n+\nIII\n@r9\n", 1)
OPTIONS = {
    "all": MapOptions(),
    "the first": MapOptions(first=100),
    "collapsed": MapOptions(collapse=WHOLE),
    "pairs": MapOptions(pairing=Pairing()),
}


def test_pairs_close_the_spans_of_their_files():
    planned = spans.plan([READS], 100)
    passed = mates.pair_spans(["x"], [planned])
    next(passed)
    passed.close()
    assert planned.gi_frame is None


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("form", [bytes, gzip.compress, lambda data: bgzf(data, 200)], ids=["", "gz", "bgzf"])
def test_files_are_closed_after_an_error(options, form, index_of, tmp_path, monkeypatch):
    held, make, plan = [], Source.__init__, spans.plan

    def made(source, path):
        held.append(source)
        make(source, path)

    def planned(paths, _=0, *more, **named):
        held.append(plan(paths, 500, *more, **named))
        return held[-1]

    monkeypatch.setattr(spans, "plan", planned)
    opened, options = fm_index.load(index_of(GENOME)), OPTIONS[options]
    (tmp_path / "reads").write_bytes(form(DAMAGED))
    paths = [tmp_path / "reads"]
    files = PairedFiles(paths, paths) if options.pairing else paths
    output = SearchOutput(RecordOutput(str(tmp_path / "out")))
    prepared = workflow.prepare(opened, files, options, output, workflow.Progress(quiet=True), workflow.CPU)
    del held[:]
    monkeypatch.setattr(Source, "__init__", made)
    with pytest.raises(InputError, match="bases but"):
        workflow.write_hits(prepared, files, output, workflow.Progress(quiet=True), Run())
    assert any(isinstance(each, Source) for each in held)
    assert all(each._raw.closed if isinstance(each, Source) else each.gi_frame is None for each in held)
