"""Pairs on a GPU, which searches and locates mates: the bytes of the CPU, of one part or several."""

import cases
import naive
import naive_pairs
import pytest
from several import part_size_of
from texts import numbered, random_letters

from fmx import workflow
from fmx.index import fm_index
from fmx.input import PairedFiles
from fmx.machines.gpu_session import GpuSession
from fmx.machines.progress import Clock
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.gpu import gpu_mapper
from fmx.search.gpu.gpu_parts import GpuLocator
from fmx.search.hits import ALL, Locator, Near, SelectionPolicy
from fmx.search.mapping import MapOptions, Observers
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


def mapped(index, files, path, policy, device, near=None):
    """(records, summary) of pairs."""
    options = MapOptions(policy, pairing=Pairing("fr", 0, 90), near=near)
    output = RecordOutput(str(path), mismatches=near.mismatches if near else 0)
    summary = workflow.search(index, files, options, SearchOutput(output), device=device)
    return path.read_bytes(), summary


def files_of(folder, mates):
    """Files with mates; those of mates 2 are reversed."""
    for i in (0, 1):
        reads = [
            (f"r{r}", naive.reverse_complement(pair[i]) if i else pair[i]) for r, pair in enumerate(mates)
        ]
        (folder / f"{i}.fq").write_bytes(cases.fastq(reads))
    return PairedFiles((str(folder / "0.fq"),), (str(folder / "1.fq"),))


def opened(folder, **how):
    """The index in one part, in several, and with a sampled suffix array, which GPUs locate with."""
    cases.build(folder / "one.fmx", CONTIGS)
    for name, own in ("parts", {"part_size": part_size_of(CONTIGS)}), ("sampled", {"sa_rate": 3}):
        workflow.build_index(cases.fasta(CONTIGS), folder / f"{name}.fmx", workflow.IndexOptions(**own))
    return [fm_index.load(folder / f"{name}.fmx", **how) for name in ("one", "parts", "sampled")]


@pytest.mark.parametrize("near", [Near(1), Near(2, strata=True)], ids=["all", "strata"])
def test_the_bytes_with_mismatches_are_those_of_the_cpu(near, tmp_path):
    mates = [(one[:9] + "N" + one[10:], two) for one, two in MATES]
    files = files_of(tmp_path, mates)
    indexes = opened(tmp_path, with_text=True)
    expected = mapped(indexes[0], files, tmp_path / "cpu", RULES["all"], workflow.Device(), near)
    rule = "fr", 0, 90, near.mismatches
    both = [(one, naive.reverse_complement(two)) for one, two in mates]
    proper = [naive_pairs.proper_pairs(CONTIGS, *pair, *rule) for pair in both]
    assert expected[1].proper == sum(map(bool, proper)) == 4
    for index in indexes:
        assert mapped(index, files, tmp_path / "gpu", RULES["all"], workflow.Device("cuda"), near) == expected


def test_the_bytes_are_those_of_the_cpu(tmp_path):
    files, indexes = files_of(tmp_path, MATES), opened(tmp_path)
    for policy in RULES.values():
        expected = mapped(indexes[0], files, tmp_path / "cpu", policy, workflow.Device())
        assert (expected[1].pairs, expected[1].proper) == (5, 3)
        for index in indexes:
            assert mapped(index, files, tmp_path / "gpu", policy, workflow.Device("cuda")) == expected


def test_the_host_locates_by_a_whole_suffix_array(tmp_path):
    kinds = []
    for index in opened(tmp_path):
        made = gpu_mapper.make_mapper(index, MapOptions(), len(index.parts) * [GpuSession()], None)
        kinds.append({type(part.locator) for part in made.parts})
    assert kinds == [{Locator}, {Locator}, {GpuLocator}]


@pytest.mark.parametrize("clock", [None, Clock()], ids=["no report", "report"])
def test_streams_are_timed_for_a_report_only(clock, tmp_path):
    session, observers = GpuSession(), Observers(clock=clock)
    index = opened(tmp_path)[0]
    made = gpu_mapper.make_mapper(index, MapOptions(), [session], None, None, observers)
    made.search(cases.chunk_of([UNIT[:20]]))
    assert ("search" in session.clock.seconds) == (clock is not None)
