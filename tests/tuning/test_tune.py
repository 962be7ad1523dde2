"""fmx tune: the ways that fit into memory, trials of them, and the results that it keeps."""

import json

import cases
import pytest
from texts import numbered, random_letters

from fmx.errors import UnsupportedError
from fmx.index import layouts, plan
from fmx.index.disk import store as index_store
from fmx.index.layouts import parse_sparse
from fmx.machines.progress import Progress
from fmx.measure.texts import random_codes
from fmx.tuning import trials
from fmx.tuning.trials import KeptResults, Question, SearchPlace

MB, GB = 10**6, 10**9
PROGRESS = Progress(quiet=True)
CONTIGS = numbered([random_letters(9000, 1), random_letters(7000, 2)])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, a machine with a name, and few reads per trial."""
    monkeypatch.setenv("FMX_CACHE", str(tmp_path))
    monkeypatch.setattr("fmx.measure.timing.machine", lambda: "round machine")
    monkeypatch.setitem(trials.N_READS, "cpu", 500)


def choices(memory, n=100 * MB, kind="cpu"):
    return list(trials.choices_of_reference([n], SearchPlace(kind, "here", memory)))


def test_every_way_is_listed_with_the_lowest_sampling_that_fits():
    found = choices(10 * GB)
    assert [choice.way for choice in found[:4]] == ["verify", "sparse-k21-w16", "cofi-k13", "bvsfm-k3-d224"]
    assert {choice.sa_rate for choice in found} == {1}
    assert found[0].n_bytes == plan.verify_bytes([100 * MB])
    small = {choice.way: choice.sa_rate for choice in choices(100 * MB)}
    assert "verify" not in small
    for way, sa_rate in small.items():
        assert plan.backward_bytes([100 * MB], way, sa_rate) <= 100 * MB
        if sa_rate > 1:
            larger = trials.SA_RATES[trials.SA_RATES.index(sa_rate) - 1]
            assert plan.backward_bytes([100 * MB], way, larger) > 100 * MB
    assert max(small.values()) > 1


def test_less_memory_leaves_fewer_choices_and_none_is_refused(cache):
    previous = None
    for memory in (10 * GB, 600 * MB, 300 * MB, 70 * MB, 30 * MB):
        found = choices(memory)
        assert all(choice.n_bytes <= memory for choice in found)
        ways = {choice.way for choice in found}
        assert previous is None or ways <= previous
        previous = ways
    assert not found
    question = Question(None, 100 * MB, 100, MB, "cpu", 1)
    with pytest.raises(UnsupportedError, match="raise --max-memory"):
        trials.tune(question, plan_only=True, progress=PROGRESS)


@pytest.mark.parametrize("n_bases", [1, 2, 3, 4])
def test_a_random_text_may_be_tiny(n_bases):
    assert random_codes(n_bases).size == n_bases + 1


@pytest.mark.parametrize("way", trials.WAYS[2:])
def test_every_way_is_a_layout(way):
    assert layouts.parse_name(way).family in layouts.REGISTRY


PLAN = """\
machine     round machine, 2 threads
reference   1,000,000 bases; reads of 50 bases

method              engine              sa-rate memory MB
"""


def test_the_plan_is_printed_and_nothing_tried(cache, command, monkeypatch):
    monkeypatch.setattr(trials, "reads_per_second", None)
    arguments = ["tune", "-q", "--bases", "1M", "--length", "50", "--engine", "cpu", "-t", "2", "--plan"]
    result = command(*arguments, "--max-memory", "4M")
    assert (result.code, result.err) == (0, "")
    text = result.out.decode()
    assert text.startswith(PLAN)
    first, *rest = choices(4 * MB, MB)
    assert text.count("\n") == PLAN.count("\n") + 1 + len(rest) + 3
    assert text.splitlines()[4].split() == [first.way, "cpu", "1", f"{first.n_bytes / MB:,.0f}"]
    assert f"to index:   fmx index --layout {first.way} REFERENCE" in text


def test_trials_are_made_and_kept(cache, command, tmp_path, monkeypatch):
    monkeypatch.setitem(trials.SAMPLE, "cpu", 50_000)
    monkeypatch.setattr(trials, "WAYS", ("verify", "bvsfm-k2-d96"))
    arguments = ["tune", "-q", "--bases", "1M", "--length", "50", "--engine", "cpu", "-t", "2"]
    result = command(*arguments)
    assert (result.code, result.err) == (0, "")
    rows = [line.split() for line in result.out.decode().splitlines()[4:6]]
    assert sorted(row[0] for row in rows) == ["bvsfm-k2-d96", "verify"]
    file = tmp_path / "fmx" / "tune" / "round-machine-2-threads.json"
    (kept,) = json.loads(file.read_text())[1].values()
    assert [row["way"] for row in kept["rows"]] == [row[0] for row in rows]
    speeds = [row["speed"] for row in kept["rows"]]  # printed in millions: 0.0 on a busy machine
    assert speeds[0] >= speeds[1] > 0
    monkeypatch.setattr(trials, "reads_per_second", None)
    again = command(*arguments).out.decode()
    assert again.startswith(result.out.decode().rstrip())
    assert again.rstrip().endswith("to measure again")
    assert str(file) in again


def test_the_fastest_of_the_first_ways_is_chosen(cache, monkeypatch):
    """The first ways are tried; the others follow, in order, without a speed."""
    speeds = {"verify": 1e6, "sparse-k21-w16": 2e6, "cofi-k13": 3e6, "bvsfm-k3-d224": 5e5}
    monkeypatch.setattr(
        trials, "reads_per_second", lambda path, choice, length, n_threads: {"cpu": speeds[choice.way]}
    )
    monkeypatch.setattr(trials, "build_index", lambda *arguments: None)
    answer = trials.tune(Question(None, 100 * MB, 100, 10 * GB, "cpu", 2), progress=PROGRESS)
    ways = [row["way"] for row in answer["rows"]]
    assert ways[:4] == ["cofi-k13", "sparse-k21-w16", "verify", "bvsfm-k3-d224"]
    assert ways[4:] == [choice.way for choice in choices(10 * GB)[4:]]
    assert "to search:  fmx search --layout cofi-k13 --engine cpu READS" in trials.text(answer)


def test_an_index_is_tried_as_it_is(cache, command, tmp_path):
    path = tmp_path / "r.fmx"
    cases.workflow.build_index(
        cases.fasta(CONTIGS), path, cases.workflow.IndexOptions(["bvsfm"], sa_rate=4, part_size=9001)
    )
    text = command("tune", "-q", path, "--length", "40", "--engine", "cpu", "-t", "1").out.decode()
    assert f"-x {path} READS" in text
    ways = {"bvsfm-k2-d96"}
    assert set(plan.ways_to_search(index_store.read_meta(path))) == ways
    (row,) = (line.split() for line in text.splitlines()[4:] if line.startswith("bvsfm"))
    assert (row[:3], len(row)) == (["bvsfm-k2-d96", "cpu", "4"], 5)
    assert f"{path}, 16,000 bases; reads of 40 bases, searched on one strand only" in text
    moved = path.rename(tmp_path / "moved.fmx")  # the kept result is of its checksum
    text = command("tune", "-q", moved, "--length", "40", "--engine", "cpu", "-t", "1").out.decode()
    assert f"-x {moved} READS" in text
    assert "to measure again" in text
    assert str(path) not in text
    path = moved
    for more in ((), ("--plan",)):
        result = command("tune", "-q", path, "--length", "10000", "--engine", "cpu", *more)
        why = "reads of 10,000 bases are longer than every contig: use a smaller --length"
        assert (result.code, result.err) == (1, f"fmx: error: no search method fits: {why}\n")
    assert command("tune", "-q", path, "--length", "9000", "--engine", "cpu", "--plan").code == 0
    assert command("tune", "--plan").code == 2


def test_a_sparse_suffix_array_is_offered_and_tried(cache, command, tmp_path):
    path = cases.build(tmp_path / "s.fmx", CONTIGS, ["sparse"])
    text = command("tune", "-q", path, "--length", "40", "--engine", "cpu", "-t", "1").out.decode()
    assert f"to search:  fmx search --layout sparse-k21-w16 --engine cpu -x {path} READS" in text
    short = command("tune", "-q", path, "--length", "20", "--engine", "cpu", "--plan").err
    assert "no search method fits: sparse-k21-w16 finds only reads of 36 bases or more, on the CPU" in short
    tried = {}
    for length in (35, 36):
        question = Question(None, MB, length, GB, "cpu", 1)
        tried[length] = trials.tune(question, PROGRESS, plan_only=True)["rows"]
    assert [any(parse_sparse(row["way"]) for row in tried[length]) for length in (35, 36)] == [False, True]


@pytest.mark.parametrize(
    "text",
    ["", "{", "5", "null", "[]", "[" * 100_000, "{}", '["", {}]', "[1, 2, 3]", "[[], 7]",
     lambda text: text.replace("12.5", "13.5"), lambda text: text.replace('"a"', '"b"')],
)  # fmt: skip
def test_a_damaged_file_of_results_is_empty(text, cache):
    kept = KeptResults("a device")
    kept.keep("a", {"speed": 12.5})
    assert KeptResults("a device").get("a")["speed"] == 12.5
    kept.path.write_text(text if isinstance(text, str) else text(kept.path.read_text()))
    assert KeptResults("a device").get("a") is KeptResults("a device").get("b") is None
