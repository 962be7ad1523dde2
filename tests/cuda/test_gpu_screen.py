"""Several indexes as one on a GPU: hits, counts and screens are those of the CPU."""

import cases
import pytest
from texts import numbered, random_letters

from fmx import workflow
from fmx.index import fm_index
from fmx.index.fm_index import join
from fmx.output.search_output import CountsOutput, RecordOutput, SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions

UNIT = random_letters(40, "gpu screen")
LARGE, SMALL = numbered([UNIT + random_letters(900, 1)]), [("s", UNIT[10:])]
READS = [UNIT[:20], UNIT[12:30], LARGE[0][1][200:230], "ACGTN", UNIT[20:]]


@pytest.mark.parametrize("sa_rate", [1, 2])
def test_a_screen_is_that_of_the_cpu(sa_rate, tmp_path):
    (tmp_path / "r.fa").write_bytes(cases.fasta((f"r{i}", read) for i, read in enumerate(READS)))
    cases.build(tmp_path / "large.fmx", LARGE)
    cases.build(tmp_path / "small.fmx", SMALL, sa_rate=sa_rate)
    opened = join([fm_index.load(tmp_path / f"{name}.fmx") for name in ("large", "small")])
    found = []
    for engine in ("cpu", "cuda"):
        for limit, kind, path in ((ALL, "sam", str(tmp_path / "hits")), (0, "nothing", None)):
            output = SearchOutput(
                RecordOutput(path, kind), CountsOutput(tmp_path / "n", True), tmp_path / "s"
            )
            options, device = MapOptions(SelectionPolicy(limit)), workflow.Device(engine)
            workflow.search(opened, [tmp_path / "r.fa"], options, output, device=device)
            found.append([(tmp_path / name).read_bytes() for name in ("hits", "n", "s")])
    assert all(each == found[0] for each in found[1:])
    assert found[0][2].decode().split("\n")[1:5] == [
        "large\t1\t2\t40.00", "small\t1\t0\t0.00", "large,small\t2\t2\t40.00", "*\t0\t1\t20.00",
    ]  # fmt: skip


def test_a_matrix_is_that_of_the_cpu(tmp_path):
    (tmp_path / "r.fa").write_bytes(cases.fasta((f"r{i}", read) for i, read in enumerate(READS)))
    for name, contigs in (("large", LARGE), ("small", SMALL)):
        (tmp_path / f"{name}.fa").write_bytes(cases.fasta(contigs))
    workflow.build_index([tmp_path / "large.fa", tmp_path / "small.fa"], tmp_path / "both.fmx")
    opened, found = fm_index.load(tmp_path / "both.fmx"), []
    for engine in ("cpu", "cuda"):
        output = SearchOutput(RecordOutput(str(tmp_path / "m"), "tsv", matrix="counts"))
        options = MapOptions(SelectionPolicy(ALL))
        workflow.search(opened, [tmp_path / "r.fa"], options, output, device=workflow.Device(engine))
        found.append((tmp_path / "m").read_text())
    assert found[0] == found[1]
    assert found[0] == "pattern\tlarge\tsmall\nr0\t1\t0\nr1\t1\t1\nr2\t1\t0\nr3\t0\t0\nr4\t1\t1\n"
