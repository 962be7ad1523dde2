"""Whatever is asked for with --engine auto: the bytes of the CPU, with a stand-in for the GPUs that start."""

import io
from dataclasses import replace
from functools import partial

import cases
import pytest
from texts import numbered, random_letters

import fmx
from fmx import workflow
from fmx.index import fm_index
from fmx.input import PairedFiles, spans
from fmx.machines import places
from fmx.machines.progress import Progress
from fmx.mem import matching, pipeline
from fmx.output.formats import tsv
from fmx.output.search_output import CountsOutput, RecordOutput, SearchOutput
from fmx.search import mappers
from fmx.search.hits import ALL, Near, SelectionPolicy
from fmx.search.mapping import MapOptions, RunSizes
from fmx.search.pairs.proper import Pairing

UNIT = random_letters(400, "auto")
CONTIGS = numbered([UNIT, UNIT[:80] + "T" + UNIT[81:200]])
SMALL = RunSizes(auto_chunk=300)
READS = cases.fastq([(f"r{i}", UNIT[7 * i : 7 * i + 40]) for i in range(40)])
MODES = {
    "all": MapOptions(SelectionPolicy(ALL)),
    "near": MapOptions(near=Near(1)),
    "IUPAC": MapOptions(near=Near(0, iupac=True)),
    "pairs": MapOptions(pairing=Pairing()),
    "near pairs": MapOptions(near=Near(1), pairing=Pairing()),
    "collapsed": MapOptions(collapse=MapOptions().trim, chunk_size=300),
}


class Said(Progress):
    """Keeps what is said."""

    def __init__(self):
        super().__init__(quiet=True)
        self.lines = []

    def say(self, message):
        self.lines.append(message)


@pytest.fixture(autouse=True)
def gpus(monkeypatch):
    """GPUs that are started with the first item, are there with the second, and are the CPU in truth."""
    do = places.Auto.do

    def in_step(place, *given):
        result = do(place, *given)
        place.turns.starter.join()
        return result

    monkeypatch.setattr(places, "PACE", places.Pace(start=-1.0, settle=0.0, trial=0.0))
    monkeypatch.setattr(places.Auto, "do", in_step)
    for module in (mappers, pipeline):
        monkeypatch.setattr(module, "choose_place", lambda device, on_gpus, on_cpu, tell: on_cpu())


@pytest.mark.parametrize("name", MODES)
def test_the_bytes_and_counts_are_those_of_the_cpu(name, index_of, tmp_path):
    (tmp_path / "1.fq").write_bytes(READS)
    (tmp_path / "2.fq").write_bytes(READS)
    opened, options = fm_index.load(index_of(CONTIGS), with_text=True), replace(MODES[name], sizes=SMALL)
    paths = [str(tmp_path / "1.fq")]
    paths = PairedFiles(tuple(paths), (str(tmp_path / "2.fq"),)) if options.pairing else paths
    found = []
    for device in (workflow.Device(), workflow.Device("auto")):
        said = Said()
        records, counts = RecordOutput(str(tmp_path / "out.sam")), CountsOutput(str(tmp_path / "counts.tsv"))
        output = SearchOutput(records, counts)
        summary = workflow.search(opened, paths, options, output, said, device)
        found.append([(tmp_path / file).read_bytes() for file in ("out.sam", "counts.tsv")] + [summary])
    assert found[0] == found[1]
    assert said.lines[-1].startswith("searched on GPUs for ")


def test_matches_are_those_of_the_cpu(index_of):
    options = matching.MemOptions(12, tasks=matching.TaskSizes(auto=300))
    opened = fm_index.load(index_of(CONTIGS), method="verify")
    writer, _ = tsv.open_matches(opened.reference, None, 0, lambda names: b"")
    make, written = partial(matching.Finder, opened, writer=writer), []
    for device in (workflow.Device(), workflow.Device("auto")):
        finders = pipeline.make_finders(make, opened, options, device, Progress(quiet=True))
        written.append(io.BytesIO())
        pipeline.find_all(finders, spans.plan([READS], 300), written[-1])
    assert written[0].getvalue() == written[1].getvalue() != b""
    assert finders[0].sentence().startswith("GPUs for ")


def test_the_library_keeps_the_gpus(index_of):
    path, reads = index_of(CONTIGS), {f"r{i}": UNIT[7 * i : 7 * i + 40] for i in range(40)}
    alone, opened = fmx.open(path, engine="cpu"), fmx.open(path, engine="auto")
    for near in (0, 1):
        for k in (1, None):
            expected = alone.search(reads, k=k, mismatches=near).tolist()
            assert opened.search(reads, k=k, mismatches=near).tolist() == expected
        ((kept,),) = [opened._searchers._cache._kept[2]]
        assert kept.sentence().startswith("GPUs for ")
        assert kept.turns.ways.speeds


@pytest.mark.parametrize("name", ["all", "collapsed"])
def test_much_input_starts_gpus_at_once_unless_equal_reads_are_collapsed(name, index_of, monkeypatch):
    """The cores collect the reads, and only the distinct ones are mapped."""
    monkeypatch.setattr(mappers, "is_much", lambda *_: True)
    opened, device = fm_index.load(index_of(CONTIGS), with_text=True), workflow.Device("auto")
    (place,) = mappers.make_mappers(opened, MODES[name], device, Said(), paths=["reads.fq"])
    assert (place.turns.starter is not None) == (name == "all")
    assert (place.options.chunk_size == MODES[name].chunk_size) == (name == "collapsed")
