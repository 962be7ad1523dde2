"""fmx tune: the arithmetic of its predictions, what it keeps, and a small run for real."""

import json
import re

import journeys
import pytest
from texts import numbered, random_letters

from fmx.errors import UnsupportedError
from fmx.index import layouts, plan
from fmx.index.disk import store as index_store
from fmx.index.layouts import Fetches
from fmx.machines.progress import Progress
from fmx.tuning import choices, journey, rates
from fmx.tuning import rates as store
from fmx.tuning.choices import Choice, SearchPlace
from fmx.tuning.rates import Rates

MB, GB = 10**6, 10**9
# 100 M fetches a second of a line from 1 MB, 10 M from 1 GB; of two lines 50 M and 5 M.
ROUND = Rates("round", {64: {MB: 1e8, GB: 1e7}, 128: {MB: 5e7, GB: 5e6}})
PROGRESS = Progress(quiet=True)


def test_seconds_of_a_fetch():
    assert ROUND.seconds(8, MB) == ROUND.seconds(64, 1000) == 1e-8
    assert ROUND.seconds(64, GB) == ROUND.seconds(33, 50 * GB) == 1e-7
    assert ROUND.seconds(96, GB) == pytest.approx(1.5e-7)
    assert ROUND.seconds(256, GB) == pytest.approx(4e-7)  # two of the largest
    assert ROUND.seconds(64, (MB * GB) ** 0.5) == pytest.approx((1e-8 + 1e-7) / 2)


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("sampled-k1-d64", 2), ("sampled-k1-d960", 16), ("kstep-k2-d64", 6), ("kstep-k2-d448", 18),
        ("alternate-k2-d192", 8), ("bvsfm-k2-d96", 1), ("bvsfm-k3-d224", 2), ("bvsfm-k2-d64", 1),
        ("cofi-k12", 0), ("verify", 0),
    ],
)  # fmt: skip
def test_units_are_those_of_the_layouts(name, units):
    assert choices.units_of(name) == units


@pytest.mark.parametrize(
    ("way", "touched"),
    [
        ("bvsfm-k2-d96", 16), ("bvsfm-k2-d224", 32), ("sampled-k1-d192", 64), ("sampled-k1-d960", 256),
        ("kstep-k2-d64", 128), ("kstep-k2-d192", 192), ("kstep-k2-d448", 320),  # of 96, 160 and 288 bytes
        ("alternate-k2-d64", 96), ("alternate-k2-d192", 160),  # every other one begins amid 64 bytes
        ("alternate-k1-d64", 80),  # of 32 bytes at every 16: one in four lies across
    ],
)  # fmt: skip
def test_pieces_of_memory_that_an_entry_lies_in(way, touched):
    assert choices.search_fetches(MB, 100, Choice(way, 1, 9, "cpu"))[1].entry == touched


def test_fetches_of_backward_search_by_hand():
    """2^20 symbols, 30 bases, k = 2, q = 9: 8 looked up, 11 steps, the first from 2^20 / 4^8 = 16 rows."""
    choice = Choice("bvsfm-k2-d96", 1, 9, "cpu")
    table, steps = choices.search_fetches(2**20, 30, choice)
    assert table == Fetches(1, 8, 8 * (4**10 - 1) / 3)
    assert steps.times == pytest.approx(11 + 16 / 96 + 10 / 96)
    assert (steps.entry, steps.footprint) == (16, pytest.approx(2**20 * 16 * 16 / 96))
    assert choices.locate_fetches(2**20, choice) == [Fetches(1, 4, 2**22)]


def test_fetches_of_a_sampled_suffix_array_by_hand():
    """Every 5th position: two steps on the way, each of all 16 entries of a run."""
    marks, walk, position = choices.locate_fetches(6 * MB, Choice("bvsfm-k2-d96", 5, 9, "cpu"))
    assert marks == Fetches(3, 16, MB)
    assert (walk.times, walk.entry, walk.footprint) == (2, pytest.approx(256), pytest.approx(16 * MB))
    assert position == Fetches(1, 4, 4 * 6 * MB / 5)


def test_fetches_of_cofi_by_hand():
    """2^24 symbols, k = 10, 97 bases: columns of 16 rows; q = 4 holds no 7 symbols, so COFI looks them up."""
    *borders, offsets, changes = choices.search_fetches(2**24, 97, Choice("cofi-k10", 1, 4, "cpu"))
    assert borders == [Fetches(2, 8, 4 * 4**10), Fetches(2, 64, 2**26)]
    assert (offsets.times, changes.times) == (9, pytest.approx(9 + 1 + 8 / 16))  # from 1024 rows, from 1
    assert (
        choices.search_fetches(2**24, 97, Choice("cofi-k10", 1, 7, "cpu"))[0].footprint == 8 * (4**8 - 1) / 3
    )


def test_fetches_of_seed_and_verify_by_hand():
    """2^26 symbols: 13 symbols are looked up, and another row begins like the read's own: a seed, some rows,
    a word of text, 33 bytes of text.  Of 2^30 symbols 16 others do, and are halved twice."""
    own = Fetches(1, 33, 2**24)
    found = choices.search_fetches(2**26, 100, Choice("verify", 1, 10, "cpu"))
    assert found == [Fetches(1, 8, 4 * 4**13), Fetches(1, 4, 2**28), Fetches(1, 8, 2**24), own]
    _, rows, others, _ = choices.search_fetches(2**30, 100, Choice("verify", 1, 10, "cpu"))
    assert (rows.times, others.times) == (1 + 2, 2 + 17 / 4 - 1)
    on_gpu = Choice(
        "verify", 1, 10, "cuda_task-naive16"
    )  # four times as many strings are looked up, of 16 symbols
    wide = [Fetches(1, 8, 4 * 4**16), Fetches(1, 8, 2**33), Fetches(1, 32, 2**30)]
    assert choices.search_fetches(2**30, 100, on_gpu) == wide
    _, rows, sectors = choices.search_fetches(2**34, 300, on_gpu)
    assert (rows.times, sectors.times) == (1 + 1, 3)  # five rows begin alike; 268 symbols are left
    assert choices.locate_fetches(2**26, Choice("verify", 1, 10, "cpu")) == []


@pytest.mark.parametrize("way", ["bvsfm-k2-d96", "kstep-k3-d63", "cofi-k10"])
def test_the_longest_reads_are_predicted_at_once(way):
    """Steps beyond the first ones, where an interval has one row, are like each other."""
    choice, k = Choice(way, 1, 9, "cpu"), layouts.parse_name(way).k
    few, some, many = (
        choices.search_fetches(2**40, 40 + k * steps, choice)[-1] for steps in (100, 200, 2**30)
    )
    a_step = (some.times - few.times) / 100
    assert a_step >= 1
    assert many.times == pytest.approx(few.times + (2**30 - 100) * a_step)


def test_seconds_of_a_read_by_hand():
    """Four fetches from much memory at 10 M/s, of which a share is reached; once for each part."""
    far = Rates("far", {64: {1: 1e7}})
    verify, share = Choice("verify", 1, 10, "cpu"), choices.VERIFY_CPU
    assert choices.search_seconds([2**26], 100, verify, far) == pytest.approx(4e-7 / share)
    assert choices.search_seconds([2**26, 2**26], 100, verify, far) == pytest.approx(8e-7 / share)


def test_a_gpu_is_held_up_by_its_memory_or_by_what_it_counts(monkeypatch):
    """100 M entries a second from little, 10 M from much, of which engines reach a half and a tenth."""
    monkeypatch.setitem(choices.SHARES, 2, ("cuda_full", 0.5, 0.5))
    monkeypatch.setitem(choices.SHARES, 4, ("cuda_full", 0.5, 0.01))
    rates = Rates("round", {32: {MB: 1e8, GB: 1e7}, 64: {MB: 1e8, GB: 1e7}})
    for way, seconds in (("sampled-k1-d64", 1e-7 / 0.5), ("sampled-k1-d192", 1e-8 / 0.01)):
        choice = Choice(way, 1, 10, "cuda_full")
        table, entries = choices.search_fetches(4 * GB, 100, choice)
        expected = (entries.times + rates.seconds(8, table.footprint) / 1e-7) * seconds
        assert choices.search_seconds([4 * GB], 100, choice, rates) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("family", layouts.REGISTRY)
def test_a_layout_without_units_says_what_it_fetches(family):
    kind, has_units = layouts.REGISTRY[family], layouts.parse_name(family).units > 0
    assert 0 < kind.cpu_share <= 1
    assert has_units == (kind.fetches is None) == (kind.gpu_shares == ())


def test_the_engine_offered_can_search_its_layout():
    offered = {(choice.way, choice.engine) for choice in choices.every(100 * MB, "cuda")}
    assert ("verify", "cuda_task-naive16") in offered
    assert ("bvsfm-k2-d96", "cuda_task-improved") in offered  # one unit: nothing to share
    assert {engine for way, engine in offered if way == "sampled-k1-d192"} == {"cuda_full"}
    assert {way for way, _ in offered if way != "verify"} == {
        str(name) for name in layouts.all_names() if layouts.REGISTRY[name.family].fits(name.k, 100 * MB)
    }


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, in which the CPU has round rates; how often they were measured."""
    monkeypatch.setenv("FMX_CACHE", str(tmp_path))
    measured = []

    def measure(device, n_threads):
        measured.append(device)
        return Rates(device, ROUND.table)

    monkeypatch.setattr(journey, "measure_cpu", measure)
    monkeypatch.setattr("fmx.measure.timing.machine", lambda: "round machine")
    return measured


def test_less_memory_leaves_fewer_choices_and_none_is_refused(cache):
    previous = None
    for memory in (10 * GB, 600 * MB, 300 * MB, 70 * MB, 30 * MB):
        found = choices.ranked(
            [100 * MB], 100, [SearchPlace("cpu", ROUND, memory)], lambda kind: choices.every(100 * MB, kind)
        )
        assert all(prediction.n_bytes <= memory for prediction in found)
        assert [x.reads for x in found] == sorted((x.reads for x in found), reverse=True)
        ways = {prediction.choice.way for prediction in found}
        assert previous is None or ways <= previous
        previous = ways
    assert not found
    question = journey.Question(None, 100 * MB, 100, MB, "cpu", 1)
    with pytest.raises(UnsupportedError, match="raise --max-memory"):
        journey.tune(question, plan_only=True, progress=PROGRESS)


PLAN = """\
machine     round machine, 2 threads
memory      10 M lines/s from 1.0 GB
reference   a reference, 1,000,000 symbols; reads of 50 bases, one strand

million reads/s, searched and one hit located:

search by           engine              sa-rate  prefix  reads MB      predicted      on sample      corrected
"""


def test_the_plan_is_printed_and_nothing_tried(cache, command, monkeypatch):
    monkeypatch.setattr(journey, "reads_per_second", None)
    arguments = ["tune", "-q", "--bases", "1M", "--length", "50", "--engine", "cpu", "-t", "2", "--plan"]
    result = command(*arguments, "--max-memory", "7M")
    assert (result.code, result.err) == (0, "")
    text = result.out.decode()
    assert text.startswith(PLAN)
    assert text.count("\n") == PLAN.count("\n") + 10 + 3
    best = choices.ranked(
        [MB], 50, [SearchPlace("cpu", ROUND, 7 * MB)], lambda kind: choices.every(MB, kind)
    )[0]
    row = text.splitlines()[7].split()
    assert row[:4] == [best.choice.way, "cpu", str(best.choice.sa_rate), str(best.choice.prefix_length)]
    assert row[5] == f"{best.reads / 1e6:,.1f}"
    assert best.n_bytes < 7 * MB < plan.verify_bytes([MB])
    assert f"index by     fmx index --layout {best.choice.way}" in text
    assert len(cache) == 1
    assert command(*arguments).code == 0
    assert len(cache) == 1


def test_a_small_run_for_real_is_kept(cache, command, tmp_path, monkeypatch):
    monkeypatch.setitem(journey.SAMPLE, "cpu", 50_000)
    monkeypatch.setitem(journey.N_READS, "cpu", 2000)
    monkeypatch.setattr(choices.layouts, "all_names", lambda: [layouts.parse_name("bvsfm-k2-d96")])
    arguments = ["tune", "-q", "--bases", "1M", "--length", "50", "--engine", "cpu", "-t", "2"]
    result = command(*arguments)
    assert (result.code, result.err) == (0, "")
    rows = [line.split() for line in result.out.decode().splitlines() if re.match("verify|bvsfm", line)]
    assert sorted(row[0] for row in rows) == ["bvsfm-k2-d96", "verify"]
    assert [len(row) for row in rows] == [10, 10]  # both tried: predicted > measured, corrected
    assert float(rows[0][-1]) >= float(rows[1][-1])
    monkeypatch.setattr(journey, "reads_per_second", None)
    again = command(*arguments).out.decode()
    assert again.startswith(result.out.decode().rstrip())
    kept = json.loads((tmp_path / "fmx" / "tune" / "round-machine-2-threads.json").read_text())
    assert again.rstrip().endswith("to measure again")
    assert len(kept["results"]) == 1


def test_an_index_is_tried_as_it_is(cache, command, tmp_path, monkeypatch):
    monkeypatch.setitem(journey.N_READS, "cpu", 500)
    contigs = numbered([random_letters(9000, 1), random_letters(7000, 2)])
    path = tmp_path / "r.fmx"
    journeys.workflow.build_index(
        journeys.fasta(contigs), path, journeys.workflow.IndexOptions(["bvsfm"], part_size=9001)
    )
    text = command("tune", "-q", path, "--length", "40", "--engine", "cpu", "-t", "1").out.decode()
    assert f"-x {path} READS" in text
    assert {line.split()[0] for line in text.splitlines()[7:9]} == {"verify", "bvsfm-k2-d96"}
    assert "16,002 symbols" in text
    assert set(plan.ways_to_search(index_store.read_meta(path))) == {"verify", "bvsfm-k2-d96"}
    result = command("tune", "-q", path, "--length", "10000", "--engine", "cpu")
    assert result.code == 1
    assert "use a smaller --length" in result.err
    assert command("tune", "--plan").code == 2


def test_a_sparse_suffix_array_is_offered_and_tried(cache, command, tmp_path, monkeypatch):
    monkeypatch.setitem(journey.N_READS, "cpu", 500)
    contigs = numbered([random_letters(9000, 1), random_letters(7000, 2)])
    path = journeys.build(tmp_path / "s.fmx", contigs, ["sparse"])
    text = command("tune", "-q", path, "--length", "40", "--engine", "cpu", "-t", "1").out.decode()
    assert f"search by    fmx search --layout sparse-k21-w16 --engine cpu -x {path} READS" in text
    ways = {length: {found.choice.way for found in choices.ranked(
        [MB], length, [choices.SearchPlace("cpu", ROUND, 10**10)], lambda kind: choices.every(MB, kind)
    )} for length in (35, 36)}  # fmt: skip
    assert ways[36] - ways[35] == {"sparse-k21-w16"}


def test_fetches_of_a_sparse_suffix_array_by_hand():
    starts, rows, text = choices.search_fetches(17 * 2**20, 100, Choice("sparse-k21-w16", 1, 0, "cpu"))
    assert (starts.footprint, rows.footprint, text.entry) == (4 * 2**21, 8 * 2**21, 33)
    assert {fetch.times for fetch in (starts, rows, text)} == {0.5}
    assert choices.locate_fetches(MB, Choice("sparse-k21-w16", 1, 0, "cpu")) == []


def test_a_trial_corrects_the_prediction(cache, monkeypatch):
    """Measured at half of what was predicted for the sample: the search of the whole takes twice as long."""
    monkeypatch.setattr(journey, "_on_sample", lambda question, choice, n: {"cpu": rate(choice, n) / 2})

    def rate(choice, n):
        return 1 / choices.search_seconds([n + 1], 100, choice, ROUND)

    answer = journey.tune(journey.Question(None, 50 * MB, 100, None, "cpu", 2), progress=PROGRESS)
    tried = [row for row in answer["rows"] if "corrected" in row]
    assert len(tried) == journey.N_TRIED
    for row in tried:
        choice = Choice(row["way"], row["sa_rate"], row["prefix_length"], "cpu")
        search = choices.search_seconds([50 * MB], 100, choice, ROUND)
        locate = choices.locate_seconds([50 * MB], choice, ROUND)
        assert row["predicted"] == pytest.approx(1 / (search + locate))
        assert row["corrected"] == pytest.approx(1 / (2 * search + locate))


@pytest.mark.parametrize(
    "text",
    ["", "{", "5", "null", "[]", "[" * 100_000, "{}", '{"rates": 5}', '{"rates": [[64, 1]], "results": []}',
     lambda text: text.replace("100000000.0", "200000000.0"), lambda text: text.replace("64", '"64"')],
)  # fmt: skip
def test_a_damaged_store_is_measured_anew(text, cache):
    kept = store.Store("a device")
    assert kept.rates(lambda: ROUND).table == ROUND.table
    assert store.Store("a device").rates(None).table == ROUND.table
    kept.path.write_text(text if isinstance(text, str) else text(kept.path.read_text()))
    assert store.Store("a device").result("anything") is None
    assert store.Store("a device").rates(lambda: Rates("x", {64: {1: 2.0}})).table == {64: {1: 2.0}}


def test_rates_of_this_cpu_are_plausible(monkeypatch):
    monkeypatch.setattr(rates, "CPU_FOOTPRINTS", (2**15, 2**22))
    found = rates.measure_cpu("here", 2).table
    assert list(found) == [64, 128, 256]
    for entry, row in found.items():
        assert list(row) == [2**15, 2**22]
        assert all(1e4 < rate < 64e9 / entry * 1000 for rate in row.values())
