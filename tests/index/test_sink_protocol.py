"""Each of IndexSink keeps the arrays that it was given, and says the same of them."""

import json

import numpy as np
import pytest

from fmx.index.disk import META
from fmx.index.writer import IndexWriter, MemoryIndex


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_a_sink_tells_what_it_was_given(kind, tmp_path):
    path = tmp_path / "x.fmx"
    array = np.arange(1000, dtype=np.uint32)
    with MemoryIndex() if kind == "memory" else IndexWriter(path) as sink:
        sink.add("some", array)
        sink.commit({"n_text": 5})
    meta = sink.meta if kind == "memory" else json.loads((path / META).read_text())
    assert meta["n_text"] == 5
    assert list(meta["arrays"]) == ["some"]
    entry = meta["arrays"]["some"]
    assert (entry["dtype"], entry["shape"], entry["bytes"]) == ("uint32", [1000], 4000)


def test_a_sink_without_commit_leaves_nothing(tmp_path):
    path = tmp_path / "x.fmx"
    with IndexWriter(path) as sink:
        sink.add("some", np.arange(10))
    assert list(tmp_path.iterdir()) == []
