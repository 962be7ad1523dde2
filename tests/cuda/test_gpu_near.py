"""Near matches on a GPU: the bytes of the CPU, of an index in one part and in several."""

import gzip

import cases
import naive
import pytest
from several import part_size_of
from texts import numbered, random_letters

from fmx import workflow
from fmx.index import fm_index
from fmx.output.search_output import CountsOutput, RecordOutput, SearchOutput
from fmx.search.hits import ALL, Near, SelectionPolicy
from fmx.search.mapping import GpuSizes, MapOptions, RunSizes

UNIT = random_letters(90, "near on a GPU")
CONTIGS = numbered([UNIT, UNIT[:40] + "T" + UNIT[41:], "ACG" * 9])
READS = [UNIT[:26], UNIT[20:50].replace("A", "N", 1), UNIT[30:70], "ACGACGTCG", "AC"]
READS[2] = naive.reverse_complement(READS[2])
READS.append(naive.reverse_complement(UNIT[3:30].replace("C", "R", 1).replace("T", "n", 1)))

USUAL = RunSizes()


@pytest.fixture
def opened(tmp_path):
    """The same index twice: whole, for seed and verify; in parts, for backward search."""
    cases.build(tmp_path / "one.fmx", CONTIGS)
    options = workflow.IndexOptions(part_size=part_size_of(CONTIGS))
    workflow.build_index(cases.fasta(CONTIGS), tmp_path / "parts.fmx", options)
    whole = fm_index.load(tmp_path / "one.fmx", method="verify", with_text=True)
    return [whole, fm_index.load(tmp_path / "parts.fmx", method="backward", with_text=True)]


def mapped(index, reads, path, device, kind, strata, sizes=USUAL):
    """(records, counts, summary) of near matches."""
    counts, near = path.with_suffix(".tsv"), Near(2, strata=strata)
    output = SearchOutput(RecordOutput(str(path), kind, mismatches=2), CountsOutput(str(counts)))
    options = MapOptions(SelectionPolicy(ALL), near=near, sizes=sizes)
    summary = workflow.search(index, [reads], options, output, device=device)
    written = path.read_bytes()
    return gzip.decompress(written) if kind == "bam" else written, counts.read_bytes(), summary


@pytest.mark.parametrize(("kind", "strata"), [("sam", False), ("sam", True), ("bam", False)])
def test_the_bytes_are_those_of_the_cpu(kind, strata, opened, tmp_path):
    reads = tmp_path / "reads.fq"
    reads.write_bytes(cases.fastq([(f"r{i}", read) for i, read in enumerate(READS)]))
    expected = mapped(opened[0], reads, tmp_path / "cpu", workflow.Device(), kind, strata)
    assert kind == "bam" or expected[0].count(b"NM:i:2") > 1
    found = [[hit[0] for hit in naive.near(CONTIGS, read, 2)] for read in READS]
    assert expected[2].hits == sum(len(x) if not strata else x.count(x[0]) for x in found if x)
    assert mapped(opened[1], reads, tmp_path / "cpu", workflow.Device(), kind, strata) == expected
    sizes = RunSizes(gpu=GpuSizes(rows=4))
    for index in opened:
        found = mapped(index, reads, tmp_path / "gpu", workflow.Device("cuda"), kind, strata, sizes)
        assert found == expected
