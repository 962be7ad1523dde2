"""Pairs on a GPU, which searches and locates mates: the bytes of the CPU, of one part or several."""

import journeys
import naive
from several import part_size_of
from texts import numbered, random_letters

from fmx import workflow
from fmx.index import fm_index
from fmx.input import PairedFiles
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions
from fmx.search.pairs.proper import Pairing

UNIT = random_letters(90, "pairs on a GPU")
CONTIGS = numbered([UNIT, "ACG" * 9, UNIT[20:] + "N" + UNIT[:30]])
MATES = [
    (UNIT[:20], UNIT[60:85]),
    (UNIT[25:44], UNIT[50:71]),
    ("ACGAC", "CGACG"),
    (UNIT[:9], "ACN"),
    ("A", ""),
]
RULES = {"all": SelectionPolicy(ALL), "drawn": SelectionPolicy(2, seed=3)}


def mapped(index, files, path, policy, device):
    """(records, summary) of pairs."""
    options = MapOptions(policy, pairing=Pairing("fr", 0, 90))
    summary = workflow.search(index, files, options, SearchOutput(RecordOutput(str(path))), device=device)
    return path.read_bytes(), summary


def test_the_bytes_are_those_of_the_cpu(tmp_path):
    for i in (0, 1):
        reads = [
            (f"r{r}", naive.reverse_complement(pair[i]) if i else pair[i]) for r, pair in enumerate(MATES)
        ]
        (tmp_path / f"{i}.fq").write_bytes(journeys.fastq(reads))
    files = PairedFiles((str(tmp_path / "0.fq"),), (str(tmp_path / "1.fq"),))
    journeys.build(tmp_path / "one.fmx", CONTIGS)
    options = workflow.IndexOptions(part_size=part_size_of(CONTIGS))
    workflow.build_index(journeys.fasta(CONTIGS), tmp_path / "parts.fmx", options)
    indexes = [fm_index.load(tmp_path / f"{name}.fmx") for name in ("one", "parts")]
    for policy in RULES.values():
        expected = mapped(indexes[0], files, tmp_path / "cpu", policy, workflow.Device())
        assert (expected[1].pairs, expected[1].proper) == (5, 3)
        for index in indexes:
            assert mapped(index, files, tmp_path / "gpu", policy, workflow.Device("cuda")) == expected
