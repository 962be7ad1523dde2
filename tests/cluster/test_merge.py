"""Shards are merged in order, each checked against its manifest and the shard before it."""

import io
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import xxhash

from fmx.codecs import BGZF_END
from fmx.errors import OutputError
from fmx.jobs.identity import MANIFEST, OUTPUT, REPORT, Manifest, name_of
from fmx.jobs.merge import in_order, manifests, merge, whole
from fmx.jobs.shard import ShardRun
from fmx.mem.matching import MemSummary
from fmx.output import PLAIN, as_fields
from fmx.output.files import ReadsOutput
from fmx.output.formats.matrix import SparseMatrix
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.report import Report

RUN = {"fmx": "1", "inputs": [["r.fq", 9, "0"]], "--counts": "by contig", "--al": None}
LARGE = b"0123456789" * 300_001  # read in three pieces


def made(folder, number, count=3, files=None, **fields) -> Manifest:
    """A shard: its folder with its files, and its Manifest."""
    files = {OUTPUT: b"head\nbody %d\ntail\n" % number} if files is None else files
    own = folder / name_of(number, count)
    own.mkdir(parents=True)
    for name, data in files.items():
        (own / name).write_bytes(data)
    listed = {name: [len(data), xxhash.xxh3_64(data).hexdigest()] for name, data in files.items()}
    given = {
        "run": RUN, "begin": None, "end": None, "is_empty": False, "around": (5, 5),
        "container": as_fields(PLAIN), "seconds": 1.0,
    }  # fmt: skip
    shard = Manifest(number=number, count=count, files=listed, **{**given, **fields})
    (own / MANIFEST).write_text(shard.to_json())
    return shard


def test_sums_of_numpy_are_stored_in_the_manifest(tmp_path):
    with ShardRun(1, 1, tmp_path).opened(SearchOutput()) as outputs:
        outputs.finish(MemSummary(np.int64(3), 150, np.int64(7), lengths=np.ones(4, np.int64)))
    assert manifests(tmp_path)[0].summary == {"queries": 3, "bases": 150, "matches": 7}


def said(words):
    return pytest.raises(OutputError, match=f"^{re.escape(str(words))}$")


def test_manifests_are_in_order_whatever_else_is_there(tmp_path):
    expected = [made(tmp_path, number, 12) for number in (*range(7, 13), *range(1, 7))]
    (tmp_path / "x1-of-0012").mkdir()
    (tmp_path / "notes").write_text("")
    assert manifests(str(tmp_path)) == sorted(expected, key=lambda shard: shard.number)


def test_a_folder_without_shards_is_named(tmp_path):
    with said(
        f"{tmp_path}: contains no shards; 'fmx search --shard 1/8 -o {tmp_path} ...' writes the first of 8"
    ):
        manifests(tmp_path)
    with said(f"{tmp_path / 'none'}: No such file or directory"):
        manifests(tmp_path / "none")


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ([(1, 3), (3, 3)], "shard 2 of 3 is missing: run it, then merge again"),
        (
            [(1, 12), (2, 12)],
            f"shards {', '.join(map(str, range(3, 12)))} and 12 (of 12) are missing: run them, then",
        ),
        ([(13, 13)], f"shards {', '.join(map(str, range(1, 11)))} and 2 more (of 13) are missing: run"),
        ([(12, 12)], f"shards {', '.join(map(str, range(1, 11)))} and 1 more (of 12) are missing: run"),
        (
            [(1, 2), (2, 9)],
            "contains shards of runs with 2 and 9 shards: keep only the folders *-of-0002 or *-of-0009 and",
        ),
    ],
)
def test_missing_shards_and_those_of_other_runs_are_named(there, words, tmp_path):
    for number, count in there:
        made(tmp_path, number, count)
    with pytest.raises(OutputError, match=f"^{re.escape(f'{tmp_path}: {words}')}"):
        manifests(tmp_path)


def test_a_renamed_copy_is_named(tmp_path):
    made(tmp_path, 1, 2)
    made(tmp_path, 2, 2)
    (tmp_path / name_of(2, 2)).rename(tmp_path / "02-of-02")
    with said(f"{tmp_path / '02-of-02'} contains shard 2 of 2: it is a renamed copy; delete it"):
        manifests(tmp_path)


def test_shards_are_passed_on_as_soon_as_those_before_them_are_done(tmp_path):
    shards, taken = [made(tmp_path, number) for number in (1, 2, 3)], []

    def done():
        for number in (2, 1, 3):
            taken.append(number)
            yield shards[number - 1]

    found = in_order(tmp_path, done())
    assert [(next(found).number, list(taken)) for _ in shards] == [(1, [2, 1]), (2, [2, 1]), (3, [2, 1, 3])]
    assert list(found) == []


CUT, OTHER = ["r.fq", 70, 1], ["r.fq", 70, 2]


@pytest.mark.parametrize(
    ("borders", "fit"),
    [
        ([(None, CUT), (CUT, None), (None, None)], True),
        ([(None, CUT), "empty", (CUT, None)], True),  # a shard of a short file
        (["empty", (None, CUT), (CUT, None)], True),
        ([(None, CUT), (OTHER, None), (None, None)], False),
        ([(None, CUT), "empty", (OTHER, None)], False),
        ([(None, None), (CUT, None), (None, None)], False),
        ([(None, CUT), (None, None), (None, None)], False),
    ],
)
def test_a_shard_begins_where_the_one_before_it_ends(borders, fit, tmp_path):
    shards = []
    for number, border in enumerate(borders, 1):
        begin, end = (None, None) if border == "empty" else border
        shards.append(made(tmp_path, number, begin=begin, end=end, is_empty=border == "empty"))
    if fit:
        assert list(in_order(tmp_path, shards)) == manifests(tmp_path) == shards
        return
    number = 3 if borders[1] == "empty" else 2
    with said(
        f"{tmp_path}: shards 1 and {number} do not meet in r.fq: records near byte 70 are damaged, or the "
        "file was changed between the two runs"
    ):
        list(in_order(tmp_path, shards))


def to(path, **more) -> SearchOutput:
    """An output into a file."""
    return SearchOutput(RecordOutput(path and str(path)), **more)


def test_outputs_tables_and_reads_are_put_together(tmp_path):
    table = "contig\tlength\treads\nc\t9\t%s\n"
    shards = [
        made(tmp_path / "d", i, 2,
             {OUTPUT: b"head %d\n%stail\n" % (i, own), "counts.tsv": (table % i).encode(),
              "al": reads + BGZF_END},
             around=(7, 5))
        for i, own, reads in ((1, LARGE, b"a"), (2, b"", LARGE))
    ]  # fmt: skip
    out, counts, reads = (str(tmp_path / name) for name in ("out", "table", "reads.gz"))
    output = to(out, counts=counts, reads=ReadsOutput(reads))
    assert merge(tmp_path / "d", iter(shards), output) == shards
    written = [(tmp_path / name).read_bytes() for name in ("out", "table", "reads.gz")]
    assert written == [b"head 1\n" + LARGE + b"tail\n", (table % 3).encode(), b"a" + LARGE + BGZF_END]
    assert merge(tmp_path / "d", shards, to(None)) == shards  # nowhere
    assert whole(tmp_path / "d", shards[1], OUTPUT) == b"head 2\ntail\n"


def test_nothing_appears_before_the_report_is_complete(tmp_path):
    facts = [
        {
            "started": f"2026-01-0{i}",
            "counts": {"reads": i},
            "seconds": {"wall": i},
            "stages": {},
            "places": [],
        }
        for i in (1, 2)
    ]
    shards = [
        made(tmp_path / "d", i, 2, {OUTPUT: b"head\ntail\n", REPORT: json.dumps(own).encode()})
        for i, own in enumerate(facts, 1)
    ]
    out, there = tmp_path / "out", []
    wall = SimpleNamespace(over=lambda: there.append(out.exists()) or 9.0)
    output = to(out, report=Report((str(tmp_path / "r.json"),), {"command": "search"}))
    for over, seconds in ((wall, 9), (None, 3)):
        merge(tmp_path / "d", shards, output, over)
        assert out.exists()
        found = json.loads((tmp_path / "r.json").read_text())
        assert [found[name] for name in ("command", "shards", "started")] == ["search", 2, "2026-01-01"]
        assert (found["counts"]["reads"], found["seconds"]["wall"]) == (3, seconds)
    assert there == [False]


def matrix() -> bytes:
    """An npz file of no rows."""
    file = io.BytesIO()
    with SparseMatrix(["group"], True).opened(SimpleNamespace(file=file), 1):
        pass
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "container"),
    [
        (b"body 3\n", PLAIN), (b"head\nbody 2\ntail\n!", PLAIN), (b"head\nbody 2\ntail", PLAIN), (b"", PLAIN),
        (b"compared before it is opened", SparseMatrix(["group"], True)),
    ],
)  # fmt: skip
def test_an_output_unlike_its_manifest_is_named(data, container, tmp_path):
    shards = [
        made(tmp_path / "d", 1, container=as_fields(container)) if container == PLAIN else
        made(tmp_path / "d", 1, files={OUTPUT: matrix()}, container=as_fields(container)),
        *(made(tmp_path / "d", number) for number in (2, 3)),
    ]  # fmt: skip
    path = tmp_path / "d" / name_of(2, 3)
    (path / OUTPUT).write_bytes(data)
    with said(f"{path / OUTPUT}: damaged; delete its folder and run shard 2 again"):
        merge(tmp_path / "d", shards, to(tmp_path / "out"))
    (path / OUTPUT).unlink()
    with said(f"{path / OUTPUT}: No such file or directory; run shard 2 again"):
        merge(tmp_path / "d", shards, to(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_what_is_no_folder_of_shards_is_named(command, tmp_path):
    (tmp_path / "hits.sam").write_text("@HD\n")
    assert "hits.sam: this is a file, not a folder of shards" in command("merge", tmp_path / "hits.sam").err
    (tmp_path / "1-of-2").mkdir()
    (tmp_path / "1-of-2" / "manifest.json").write_text("{}")
    refused = command("merge", tmp_path / "1-of-2")
    assert refused.err.endswith(f"1-of-2: this is one shard: name the folder of all shards, {tmp_path}\n")
