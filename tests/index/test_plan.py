"""What is chosen by size and memory, and that it is built and searched as chosen."""

import cases
import pytest
from texts import numbered, random_letters

from fmx.errors import UnsupportedError
from fmx.index import disk, fm_index, plan
from fmx.machines.progress import Progress
from fmx.search.mappers import make_mapper
from fmx.search.mapping import MapOptions

CONTIGS = numbered([random_letters(30_000, 1), random_letters(20_000, 2)])


def test_more_memory_never_gives_a_slower_index():
    n_text = 10**8
    order = ["verify", "sparse", *(f"{layout}/{rate}" for layout, rate in plan.CHOICES)]
    chosen = []
    for limit in (10**10, 10**9, 5 * 10**8, 3 * 10**8, 10**8, 8 * 10**7, 6 * 10**7 + 10**6):
        found = plan.plan_index([n_text], limit)
        assert found.n_bytes <= limit
        is_backward = found.method == "backward"
        chosen.append(f"{found.layout}/{found.sa_rate}" if is_backward else found.method)
    assert [order.index(name) for name in chosen] == sorted(order.index(name) for name in chosen)
    assert len(set(chosen)) > 4
    assert chosen[:2] == ["verify", "verify"]
    assert "sparse" in chosen
    with pytest.raises(UnsupportedError, match=r"more than 1 MB \(--max-memory\): raise --max-mem"):
        plan.plan_index([n_text], 10**6)


def holds(chosen, meta):
    """Whether an index is what was planned."""
    if chosen.method == "sparse":
        return (meta["layouts"], meta["sparse"]) == ([], chosen.layout)
    return (meta["layouts"], meta["sa_rate"]) == ([chosen.layout], chosen.sa_rate) and "sparse" not in meta


@pytest.mark.parametrize(
    ("max_memory", "method"),
    [(10**9, "verify"), (250_000, "sparse"), (120_000, "sparse"), (110_000, "backward")],
)
def test_a_planned_index_takes_what_was_promised_and_finds_all(max_memory, method, tmp_path):
    chosen = plan.plan_index([50_002], max_memory)
    path = cases.build(tmp_path / "r.fmx", CONTIGS, ["auto"], max_memory=max_memory)
    meta = disk.read_meta(path)
    assert chosen.method == method
    assert holds(chosen, meta)
    way, _ = plan.choose_way(meta, max_memory)
    assert way == ("verify" if chosen.method == "verify" else chosen.layout)
    assert plan.ways_to_search(meta)[way] == pytest.approx(chosen.n_bytes, rel=0.1, abs=40_000)
    opened = fm_index.load(path, max_memory=max_memory)
    assert opened.method == chosen.method
    reads = [CONTIGS[0][1][100:150], CONTIGS[1][1][-36:], random_letters(40, 9)]
    found = make_mapper(opened, MapOptions()).search(cases.chunk_of(reads))
    assert found.total.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("options", "is_sparse"),
    [({}, True), ({"layouts": ["auto"], "max_memory": 10**9}, False),
     *(({name: value}, False) for name, value in
       (("layouts", ["cofi"]), ("sa_rate", 4), ("prefix_length", 5), ("with_lcp", True)))],
)  # fmt: skip
def test_large_references_are_sparse_unless_options_need_more(options, is_sparse, monkeypatch, capsys):
    for n_text, large in ((plan.LARGE, False), (plan.LARGE + 1, True)):
        settled = plan.IndexOptions(**options).settled([n_text // 2, n_text - n_text // 2], Progress())
        assert bool(settled.sparse and not settled.layouts) == (large and is_sparse)
        assert ("because the reference has more than" in capsys.readouterr().err) == (large and is_sparse)


def test_a_large_reference_is_indexed_and_searched_without_options(folder, command, monkeypatch):
    monkeypatch.setattr(plan, "LARGE", 1000)
    (folder / "r.fa").write_bytes(cases.fasta(CONTIGS))
    (folder / "q.fa").write_bytes(cases.fasta([("q", CONTIGS[0][1][100:150])]))
    told = command("index", "r.fa").err.splitlines()
    (line,) = [line for line in told if "chose" in line]
    assert line.startswith(
        "fmx: chose --layout sparse-k21-w16, because the reference has more than 1,000 bases"
    )
    assert line.endswith("no IUPAC codes or primer pairs; for these, use --layout bvsfm-k2-d96")
    assert disk.read_meta("r.fmx")["layouts"] == []
    assert b"q\t%s\t100\t150\t+" % CONTIGS[0][0].encode() in command("locate", "-x", "r.fmx", "q.fa").out
    assert b"\tNH:i:1\t" in command("search", "-x", "r.fmx", "q.fa", "--mismatches", "1").out
    for arguments, remedy in (
        (("locate", "-p", "GATTACA"), "'fmx index --layout bvsfm-k2-d96 REFERENCE.fa'"),
        (("locate", "-p", "GATTACAN", "--iupac"), "build it again with --layout sparse-k21-w16,bvsfm-k2-d96"),
        (("mem", "q.fa"), "raise -l; to find shorter ones, build another index with"),
        (
            ("search", "q.fa", "--max-memory", "10k"),
            "build a smaller index with 'fmx index --max-memory SIZE'",
        ),
    ):
        assert remedy in command(*arguments, "-x", "r.fmx").err
    with_lcp = command("index", "r.fa", "-o", "l.fmx", "--with-lcp")
    assert (with_lcp.code, "chose" in with_lcp.err) == (0, False)
