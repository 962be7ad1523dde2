"""Shards are merged in order, each checked against its manifest and the shard before it."""

import re

import pytest

from fmx.errors import OutputError
from fmx.jobs.merge import in_order, manifests
from fmx.jobs.shard import MANIFEST, Manifest
from fmx.output import PLAIN, as_fields

RUN = {"fmx": "1", "command": "search", "inputs": [["r.fq", 9, "0"]], "--counts": "by contig", "--al": None}


def made(folder, number, count=3, **fields) -> Manifest:
    """The Manifest of a shard, in its folder."""
    given = {
        "run": RUN, "begin": None, "end": None, "is_empty": False, "around": [5, 5], "files": {},
        "output": {}, "container": as_fields(PLAIN), "seconds": 1.0,
    }  # fmt: skip
    shard = Manifest(number=number, count=count, **{**given, **fields})
    (folder / shard.name).mkdir()
    (folder / shard.name / MANIFEST).write_text(shard.to_json())
    return shard


def said(words):
    return pytest.raises(OutputError, match=f"^{re.escape(str(words))}$")


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ([(1, 3), (3, 3)], "shards that are missing: 2 (of 3); run them first"),
        ([(1, 12), (2, 12)], "shards that are missing: 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 (of 12); run"),
        ([(13, 13)], "shards that are missing: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more (of 13); run"),
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


def test_what_is_no_folder_of_shards_is_named(command, tmp_path):
    (tmp_path / "hits.sam").write_text("@HD\n")
    empty = (
        f"{tmp_path}: contains no shards; 'fmx search --shard 1/8 -o {tmp_path} ...' writes the first of 8"
    )
    assert empty in command("merge", tmp_path).err
    assert "none: No such file or directory" in command("merge", tmp_path / "none").err
    assert "hits.sam: Not a directory" in command("merge", tmp_path / "hits.sam").err
    (tmp_path / "1-of-2").mkdir()
    (tmp_path / "1-of-2" / "manifest.json").write_text("{}")
    refused = command("merge", tmp_path / "1-of-2")
    assert refused.err.endswith(f"1-of-2: this is one shard: name the folder of all shards, {tmp_path}\n")
