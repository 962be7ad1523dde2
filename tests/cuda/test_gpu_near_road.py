"""Near matches made records on a GPU: the bytes, the counts and the report are those of the CPU."""

import gzip
import json
from dataclasses import replace

import cases
import naive
import numpy as np
import pytest
from texts import numbered, random_letters

from fmx import workflow
from fmx.index import fm_index
from fmx.input.reads import FORWARD, REVERSE, Trim
from fmx.output.search_output import CountsOutput, RecordOutput, SearchOutput
from fmx.report.facts import Report
from fmx.search.gpu import gpu_near
from fmx.search.hits import ALL, Near, SelectionPolicy
from fmx.search.mapper import Mapper
from fmx.search.mapping import GpuSizes, MapOptions, RunSizes
from fmx.search.queries import near

GPU = workflow.Device("cuda")
SHOWN = "counts", "lengths", "contigs", "strands", "multiplicity", "mismatches"
TOO_MUCH = {"rows": GpuSizes(rows_of_read=1, rows=4), "matches": GpuSizes(hits=0, rows=4)}
UNIT = random_letters(160, "near to records")
CONTIGS = numbered([UNIT, "TT" + UNIT[:40] + "T" + UNIT[41:90] + "NN" + UNIT[20:60], "ACG" * 9])


def with_changes(read, *places):
    """A read with another base at some places, each the next one."""
    for i in places:
        read = read[:i] + "ACGT"["TACG".index(read[i])] + read[i + 1 :]
    return read


SEQUENCES = [
    UNIT[:40],
    naive.reverse_complement(with_changes(UNIT[50:90], 3)),
    with_changes(UNIT[95:150], 7, 50),
    with_changes(UNIT[100:125], 0, 24).lower(),
    with_changes(UNIT[20:50], 5, 6, 7),
    UNIT[30:60].replace("A", "N", 1),
    naive.reverse_complement(with_changes(UNIT[90:130], 9).replace("C", "R", 1)).replace("T", "U"),
    "N" * 12,
    "ACGACGTCG",
    "AC",
    "",
    UNIT[3:33].replace("A", "N", 2),
]
RECORDS = [(f"r{i} {i}", sequence) for i, sequence in enumerate(SEQUENCES)]
DRAWN = SelectionPolicy(2, 9, 3)
MODES = {
    "one, strata": MapOptions(SelectionPolicy(ALL), near=Near(1, strata=True)),
    "two, strata": MapOptions(SelectionPolicy(ALL), near=Near(2, strata=True)),
    "two": MapOptions(SelectionPolicy(ALL), near=Near(2)),
    "first": MapOptions(near=Near(2)),
    "drawn": MapOptions(DRAWN, near=Near(2)),
    "drawn, strata": MapOptions(DRAWN, near=Near(1, strata=True)),
    "few": MapOptions(SelectionPolicy(3, 1), near=Near(2, strata=True)),
    "by position": MapOptions(SelectionPolicy(ALL), near=Near(1, best_first=False)),
    "forward": MapOptions(near=Near(2, strata=True), strands=FORWARD),
    "reverse": MapOptions(near=Near(1), strands=REVERSE),
    "trimmed": MapOptions(near=Near(1), trim=Trim(3, 1, 24, 12)),
}


@pytest.fixture
def opened(tmp_path):
    cases.build(tmp_path / "x.fmx", CONTIGS)
    return fm_index.load(tmp_path / "x.fmx", method="verify", with_text=True)


@pytest.fixture
def reads(tmp_path):
    (tmp_path / "reads.fq").write_bytes(cases.fastq(RECORDS))
    return tmp_path / "reads.fq"


@pytest.fixture
def on_cpu(monkeypatch):
    """The chunks that the CPU maps."""
    chunks, map_chunk = [], Mapper.map_chunk

    def noted(mapper, chunk, *given):
        chunks.append(chunk)
        return map_chunk(mapper, chunk, *given)

    monkeypatch.setattr(Mapper, "map_chunk", noted)
    return chunks


def search(opened, reads, path, device, options, kind="sam"):
    """(records, counts, what the report has of hits, summary)."""
    output = SearchOutput(
        RecordOutput(str(path), kind, mismatches=2), CountsOutput(str(path.with_suffix(".tsv"))),
        report=Report((str(path.with_suffix(".json")),), {}),
    )  # fmt: skip
    summary = workflow.search(opened, [reads], options, output, device=device)
    told, written = json.loads(path.with_suffix(".json").read_text()), path.read_bytes()
    shown = {name: told[name] for name in SHOWN}
    records = gzip.decompress(written) if kind == "bam" else written
    return records, path.with_suffix(".tsv").read_bytes(), shown, facts(summary)


def facts(summary):
    """The numbers of a Summary, comparable."""
    return {name: np.asarray(value).tolist() for name, value in vars(summary).items()}


def both(opened, reads, tmp_path, on_cpu, *how):
    """What both write, after they were compared, and how many chunks the CPU mapped for the GPU."""
    expected = search(opened, reads, tmp_path / "cpu", workflow.Device(), *how)
    on_cpu.clear()
    assert search(opened, reads, tmp_path / "gpu", GPU, *how) == expected
    return expected, len(on_cpu)


@pytest.mark.parametrize("mode", MODES)
def test_hits_are_those_of_the_cpu(mode, opened, reads, tmp_path, on_cpu):
    options = MODES[mode]
    (*_, summary), n_on_cpu = both(opened, reads, tmp_path, on_cpu, options)
    assert n_on_cpu == 0
    if options.policy == SelectionPolicy(ALL):
        found = [[hit[0] for hit in naive.near(CONTIGS, read, options.near.mismatches)] for read in SEQUENCES]
        strata = options.near.strata
        assert summary["hits"] == sum(x.count(x[0]) if strata else len(x) for x in found if x)
        assert sum(map(bool, found)) == summary["mapped"] >= 4


@pytest.mark.parametrize("kind", ["bam", "tsv", "bed", "paf"])
def test_every_format_has_the_bytes_of_the_cpu(kind, opened, reads, tmp_path, on_cpu):
    _, n_on_cpu = both(opened, reads, tmp_path, on_cpu, MODES["drawn"], kind)
    assert n_on_cpu == 0


@pytest.mark.parametrize("n_text", [10**8, 10**4])
def test_pieces_as_for_a_larger_text_give_the_same(n_text, opened, reads, tmp_path, on_cpu, monkeypatch):
    monkeypatch.setattr(gpu_near, "Lookups", lambda _: near.Lookups(float(n_text)))
    _, n_on_cpu = both(opened, reads, tmp_path, on_cpu, MODES["two"])
    assert n_on_cpu == 0


def test_words_and_rows_in_runs_give_the_same(opened, reads, tmp_path, on_cpu):
    for mode in ("two", "two, strata"):
        options = replace(MODES[mode], sizes=RunSizes(gpu=GpuSizes(words=15, rows=4)))
        assert both(opened, reads, tmp_path, on_cpu, options)[1] == 0


@pytest.mark.parametrize("what", TOO_MUCH)
def test_what_is_too_much_goes_the_way_of_the_cpu(what, opened, reads, tmp_path, on_cpu):
    options = replace(MODES["two"], sizes=RunSizes(gpu=TOO_MUCH[what]))
    assert both(opened, reads, tmp_path, on_cpu, options)[1] == 1


def test_backward_search_finds_the_same(opened, reads, tmp_path, on_cpu):
    other = fm_index.load(tmp_path / "x.fmx", method="backward", with_text=True)
    assert both(other, reads, tmp_path, on_cpu, MODES["two, strata"])[1] == 0
    found = [search(each, reads, tmp_path / "o", GPU, MODES["two"]) for each in (opened, other)]
    assert found[0] == found[1]
