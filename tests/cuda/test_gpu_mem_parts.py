"""fmx mem on a GPU with an index in parts: its lines are those of plain comparison."""

import io
import subprocess
import sys
from functools import partial

import cases
import pytest
from conftest import ON_CPU, SIMULATED
from mems import expect_rows, rows
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.input import spans
from fmx.input.chunks import literal_fasta
from fmx.input.reads import FORWARD, REVERSE
from fmx.machines.places import Device
from fmx.machines.progress import Progress
from fmx.mem import matching, pipeline
from fmx.output.formats import tsv

BUILD = """
import sys
from fmx import workflow
workflow.build_index("ref.fa", "ref.fmx", workflow.IndexOptions(part_size=int(sys.argv[1]), with_lcp=True))
"""
N = 60 if SIMULATED else 3000
UNIT = random_letters(N, "parts")
CONTIGS = numbered([UNIT[: N // 2], UNIT[N // 3 :], "ACG" * 9, UNIT[5:-5]])
QUERIES = [UNIT[3 : N - 9], UNIT[: N // 4] + "N" + "ACG" * 7, "", UNIT[N // 2 :]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The index, made by a process of its own: the simulator is slow."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "ref.fa").write_bytes(cases.fasta(CONTIGS))
    subprocess.run([sys.executable, "-c", BUILD, str(N)], cwd=folder, env=ON_CPU, check=True)
    return fm_index.load(folder / "ref.fmx", method="verify")


@pytest.mark.parametrize("algorithm", matching.ALGORITHMS)
@pytest.mark.parametrize("unique", (matching.ALL, matching.IN_BOTH) if SIMULATED else range(3))
@pytest.mark.parametrize("least", (9,) if SIMULATED else (4, 9, 20, 50))
def test_lines_are_those_of_plain_comparison(algorithm, unique, least, opened, device):
    assert len(opened.parts) > 2
    options = matching.MemOptions(least, FORWARD | REVERSE, unique, 1, algorithm)
    writer, _ = tsv.open_matches(opened.reference, None, 0, lambda names: b"")
    make = partial(matching.Finder, opened, writer=writer)
    (finder,) = pipeline.make_finders(make, opened, options, Device("cuda"), Progress(quiet=True))
    sink = io.BytesIO()
    pipeline.find_all([finder], spans.plan([literal_fasta(QUERIES)], finder.task_size), sink)
    assert rows(sink.getvalue()) == expect_rows(CONTIGS, QUERIES, least, FORWARD | REVERSE, unique)
