"""An output format added by the steps of docs/adding.md, a file and a line of output.FORMATS."""

import journeys
import naive

from fmx import workflow
from fmx.input.chunks import literal_fasta
from fmx.output import FORMATS
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapper import BOTH, MapOptions

CONTIGS = [("one", "ACGTTGCAGATTACA")]
READS = ["ACGT", "TTT", "GATTACA", "TGTAATC"]


def test_a_search_writes_it(tmp_path, index_of, monkeypatch):
    monkeypatch.setitem(FORMATS, "plain", "plain_format")
    index = journeys.load(index_of(CONTIGS), "verify")
    output = workflow.Output(str(tmp_path / "hits"), "plain")
    options = MapOptions(SelectionPolicy(ALL), BOTH, 1)
    workflow.search(index, [literal_fasta(READS)], options, output)
    hits = [(i, hit) for i, read in enumerate(READS) for hit in naive.locate(CONTIGS, read)]
    lines = [f"{i} {position} {strand}" for i, (_, position, strand) in hits]
    assert len(lines) == 4
    assert (tmp_path / "hits").read_text().splitlines() == ["read position reverse", *lines, "end"]


def test_locate_offers_every_format_of_text(command):
    text = [kind for kind in FORMATS if kind != "bam"]
    assert f"[{'|'.join(text)}]" in command("locate", "--help").out.decode()
