"""The library on a GPU gives what it gives on the CPU, and keeps there what it has brought."""

import cases
import pytest
from texts import TEXTS, reads_of

import fmx
from fmx.machines import gpu_session

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)[:12]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return cases.build(tmp_path_factory.mktemp("index") / "ref.fmx", CONTIGS)


def test_what_a_gpu_finds(path, monkeypatch):
    opened = []
    start = gpu_session.GpuSession.__init__
    monkeypatch.setattr(
        gpu_session.GpuSession, "__init__", lambda *arguments: (opened.append(1), start(*arguments))[1]
    )
    there, here = (fmx.open(path, threads=2, engine=engine) for engine in ("cuda", "cpu"))
    assert there.search(READS, k=3).tolist() == here.search(READS, k=3).tolist()
    assert there.locate(READS, strands="reverse").tolist() == here.locate(READS, strands="reverse").tolist()
    assert there.count(READS).tolist() == here.count(READS).tolist()
    assert len(opened) == 1
    near = [index.locate(READS[4:7], mismatches=1).tolist() for index in (there, here)]
    assert near[0] == near[1]
    matches = [index.mem([CONTIGS[0][1]], min_length=4, strands="both").tolist() for index in (there, here)]
    assert matches[0] == matches[1] != []
    assert len(opened) == 3
