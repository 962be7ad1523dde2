"""Pairs counted on a GPU: tables, reports and unchanged reads are those of the CPU and of the oracle."""

import gzip
import json
from dataclasses import replace

import cases
import naive
import naive_pairs
import numpy as np
import pytest
from search.test_near_pairs import PAIRS, REPEATS, change
from search.test_near_pairs import UNIT as COPIED

from fmx import workflow
from fmx.index import fm_index
from fmx.index.reference import Groups
from fmx.input import PairedFiles
from fmx.machines.progress import Progress
from fmx.output.search_output import CountsOutput, ReadsOutput, RecordOutput, SearchOutput
from fmx.report.facts import Report
from fmx.search import mappers
from fmx.search.counts.owners import owners_of
from fmx.search.counts.tally import Tally
from fmx.search.hits import ALL, Near, SelectionPolicy
from fmx.search.mapping import GpuSizes, MapOptions, Observers, RunSizes
from fmx.search.pairs.pair_mapper import PairMapper
from fmx.search.pairs.proper import Pairing

GPU = workflow.Device("cuda")
FR = Pairing("fr", 0, 90)
SHORT = ("AC", "GT")  # 10,000 near pairs, which take the simulator 20 seconds
MATES = [(one, two) for _, (one, _), (two, _) in PAIRS if (one, two) != SHORT]
MATES += [(two, two) for _, two in MATES[::3]]
MATES += [(change(COPIED[:18], 3), naive.reverse_complement(change(COPIED[30:52], 5)))]
MATES += [(contig[-9:], naive.reverse_complement(contig[-9:])) for _, contig in REPEATS]
MATES += [(REPEATS[0][1][:8], "N"), ("", "A"), ("GACGT", ""), ("GATTACAGATTACA", "CCCCCCCCCCCC")]
MODES = {
    "first": MapOptions(pairing=FR),
    "all": MapOptions(SelectionPolicy(ALL), pairing=FR),
    "drawn": MapOptions(SelectionPolicy(2, 9, 3), pairing=FR),
    "limited": MapOptions(SelectionPolicy(2, 3), pairing=FR),
    "rf": MapOptions(pairing=Pairing("rf", 10, 200)),
    "ff": MapOptions(pairing=Pairing("ff", 0, 300)),
    "near": MapOptions(SelectionPolicy(3, 40, 7), pairing=FR, near=Near(2)),
    "near, all": MapOptions(SelectionPolicy(ALL), pairing=FR, near=Near(1)),
    "strata": MapOptions(SelectionPolicy(ALL), pairing=FR, near=Near(2, strata=True)),
    "strata, limited": MapOptions(SelectionPolicy(3, 4), pairing=FR, near=Near(1, strata=True)),
    "strata, ff": MapOptions(pairing=Pairing("ff", 0, 60), near=Near(2, strata=True)),
}
FACTS = ("counts", "lengths", "inserts", "multiplicity", "contigs")


@pytest.fixture
def opened(tmp_path):
    cases.build(tmp_path / "x.fmx", REPEATS)
    return fm_index.load(tmp_path / "x.fmx", method="verify", with_text=True)


@pytest.fixture
def on_cpu(monkeypatch):
    """The pairs that the CPU maps."""
    found, map_mates = [], PairMapper.map_mates

    def noted(mapper, mates, *given):
        found.append(mates)
        return map_mates(mapper, mates, *given)

    monkeypatch.setattr(PairMapper, "map_mates", noted)
    return found


@pytest.fixture
def files(tmp_path):
    for i in (0, 1):
        named = ((f"r{r}/{i + 1} of {r % 3}", pair[i]) for r, pair in enumerate(MATES))
        (tmp_path / f"{i}.fq").write_bytes(cases.fastq(named))
    return PairedFiles((str(tmp_path / "0.fq"),), (str(tmp_path / "1.fq"),))


def search(opened, files, folder, device, options, told=True, **beside):
    """(counts, facts of the report, reads with a hit and without, records)."""
    report = Report((str(folder / "run.json"),), {}) if told else None
    most = options.near.mismatches if options.near else 0
    reads = ReadsOutput(str(folder / "al.fq"), str(folder / "un.fq.gz"), has_mates=True)
    own = {"counts": CountsOutput(str(folder / "counts.tsv")), "reads": reads} | beside
    output = SearchOutput(RecordOutput(str(folder / "o.sam"), mismatches=most), report=report, **own)
    workflow.search(opened, files, options, output, device=device)
    facts = json.loads((folder / "run.json").read_text()) if told else {}
    names = [name for name in (*FACTS, "mismatches") if name in facts]
    split = [(folder / f"al_{i}.fq").read_bytes() for i in (1, 2)]
    split += [gzip.decompress((folder / f"un_{i}.fq.gz").read_bytes()) for i in (1, 2)]
    records = (folder / "o.sam").read_bytes()
    return (folder / "counts.tsv").read_text(), {name: facts[name] for name in names}, split, records


def both(opened, files, folder, on_cpu, options, **how):
    """What both write, after they were compared."""
    expected = search(opened, files, folder, workflow.Device(), options, **how)
    on_cpu.clear()
    assert search(opened, files, folder, GPU, options, **how) == expected
    assert on_cpu == []
    return expected


def lists_of(options):
    """The occurrences of each read that counts, by the oracle."""
    near = (options.near.mismatches, options.near.strata) if options.near else (0, False)
    rule, found = options.pairing, []
    for mates in MATES:
        how = rule.orientation, rule.least, rule.most, *near
        proper = naive_pairs.proper_pairs(REPEATS, *mates, *how)
        sides = [[pair[i] for pair in proper] for i in (0, 1)]
        if not proper:
            sides = [naive_pairs.occurrences(REPEATS, mate, *near) if mate else [] for mate in mates]
        found += [side for side in sides if len(side) <= options.policy.at_most]
    return found


@pytest.mark.parametrize("mode", MODES)
def test_pairs_are_counted_as_by_the_cpu_and_the_oracle(mode, opened, files, tmp_path, on_cpu):
    options = MODES[mode]
    counts, facts, (al, _, un, _), _ = both(opened, files, tmp_path, on_cpu, options)
    assert counts.splitlines()[1:] == naive.counts(REPEATS, lists_of(options))
    assert al.count(b"\n@") + un.count(b"\n@") == len(MATES) - 2
    assert sum(n for *_, n in facts["lengths"]) == 2 * len(MATES)
    assert sum(n for *_, n in facts["inserts"]) == sum(n for *_, n in facts["multiplicity"]) > 0
    assert ("mismatches" in facts) == (options.near is not None)


@pytest.mark.parametrize("mode", ["all", "near, all"])
def test_pairs_are_counted_by_group(mode, opened, files, tmp_path, on_cpu):
    groups = Groups(["x", "y"], np.array([0, 1, 0], np.uint32))
    opened = replace(opened, reference=replace(opened.reference, groups=groups))
    by_group = {"counts": CountsOutput(str(tmp_path / "counts.tsv"), by_group=True)}
    counts, *_ = both(opened, files, tmp_path, on_cpu, MODES[mode], told=False, **by_group)
    reads = [tuple(map(int, line.split("\t")[4:6])) for line in counts.splitlines()[1:]]
    assert all(only and shared for only, shared in reads)


@pytest.mark.parametrize("mode", ["drawn", "strata"])
def test_small_spans_are_counted_once(mode, opened, files, tmp_path, on_cpu):
    sizes = RunSizes(gpu=GpuSizes(chunk=600, least_chunk=600, hits=1000, room=1000))
    both(opened, files, tmp_path, on_cpu, replace(MODES[mode], sizes=sizes))


def test_pairs_that_go_the_way_of_the_cpu_are_counted_once(opened, files, tmp_path, on_cpu):
    expected = search(opened, files, tmp_path, workflow.Device(), MODES["all"])
    options = replace(MODES["all"], sizes=RunSizes(gpu=GpuSizes(hits=0)))
    on_cpu.clear()
    assert search(opened, files, tmp_path, GPU, options) == expected
    assert sum(mates.one.length.size for mates in on_cpu) >= len(MATES)


@pytest.mark.parametrize("pairing", [None, FR], ids=["reads", "pairs"])
def test_a_mapper_that_is_told_of_nothing_counts_nothing(pairing, opened):
    """As that of ``auto``, which maps an artificial read while others count."""
    tally, output = Tally(owners_of(opened)), SearchOutput(RecordOutput("-", mismatches=1))
    options = MapOptions(pairing=pairing, near=Near(1))
    writer, _ = workflow.make_writer(opened.reference, output, pairing is not None)
    (mapper,) = mappers.make_mappers(
        opened, options, GPU, Progress(quiet=True), writer, Observers(tally)
    )  # fmt: skip
    read = REPEATS[0][1][:20].encode()
    mappers.warm_up(mapper.untold(), writer, read)
    assert tally.table().sum() == 0
    mappers.warm_up(mapper, writer, read)
    assert tally.table().sum() > 0
