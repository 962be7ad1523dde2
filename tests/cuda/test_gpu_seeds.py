"""fmx mem on a GPU: its lines are those of the CPU, and the matches those of plain comparison."""

import io
import subprocess
import sys

import cases
import naive
import pytest
from conftest import ON_CPU, ROOT, SIMULATED
from mems import expect_rows, rows
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.input import spans
from fmx.input.chunks import literal_fasta
from fmx.input.reads import FORWARD, REVERSE
from fmx.mem import matching, pipeline, seeds_gpu
from fmx.mem.seeds import make_seeds
from fmx.mem.seeds_gpu import BLOCK
from fmx.output.formats import tsv

UNIT = random_letters(70 if SIMULATED else 400, "mem")
REPEATS = [UNIT[:90] * 3, "A" * 50 + UNIT + "NN" + "ACG" * 30, *(UNIT[i : i + 7] for i in range(60))]
TEXTS = {  # name: (sequences, queries)
    "plain": ([UNIT], [UNIT[5:], "ACGTN", "", naive.reverse_complement(UNIT)]),
    "repeats": (REPEATS, [UNIT, "A" * 70 + "C", UNIT[50:90] + "N" + UNIT[20:200]]),
}


@pytest.fixture(scope="module", params=["plain"] if SIMULATED else TEXTS)
def text(request, tmp_path_factory):
    """(contigs, queries, opened index), built by a process of its own: the simulator is slow."""
    sequences, queries = TEXTS[request.param]
    contigs, path = numbered(sequences), tmp_path_factory.mktemp("seeds") / "ref.fmx"
    command = [sys.executable, "-m", "fmx", "index", "-q", "-", "-o", path]
    subprocess.run(command, input=cases.fasta(contigs), env=ON_CPU, cwd=ROOT, check=True)
    return contigs, queries, fm_index.load(path, method="verify")


@pytest.mark.parametrize("least", (5, 12) if SIMULATED else (1, 3, 6, 9, 20, 40))
def test_lines_are_those_of_the_cpu_and_of_plain_comparison(text, least, device):
    contigs, queries, opened = text
    expected = expect_rows(contigs, queries, least, FORWARD | REVERSE, matching.ALL)
    writer, _ = tsv.open_matches(opened.reference, None, 0, lambda names: b"")
    for n_rows in (None, 17, 300, seeds_gpu.ROWS):  # the CPU, and the GPU with three ways to slice
        matcher = seeds_gpu.GpuSeeds(make_seeds(opened, least), device, n_threads=3) if n_rows else None
        if matcher:
            matcher.n_rows, matcher.n_windows = n_rows, max(n_rows // BLOCK, 1) * BLOCK
        options = matching.MemOptions(least, FORWARD | REVERSE, matching.ALL, 3)
        finder, sink = matching.Finder(opened, options, writer, matcher), io.BytesIO()
        matching.compile_all([finder])
        finder.task_size = 100  # so that threads share the work
        pipeline.find_all([finder], spans.plan([literal_fasta(queries)], finder.task_size), sink)
        assert rows(sink.getvalue()) == expected, n_rows
