"""Several GPUs write the bytes of the CPU: two pretended ones in the simulator, or those that are there."""

import io
import subprocess
import sys
import threading

import journeys
import pytest
from conftest import ON_CPU, ON_GPU, ROOT, SIMULATED
from texts import numbered, random_letters

from fmx import workflow
from fmx.compiler.cuda import cuda
from fmx.index import fm_index
from fmx.input.chunks import literal_fasta
from fmx.machines.places import Device
from fmx.machines.progress import Progress
from fmx.search import mapping
from fmx.search.mapper import MapOptions

pytestmark = pytest.mark.skipif(not SIMULATED and len(cuda.gpus) < 2, reason="needs two GPUs")
UNIT = random_letters(240, "several")
CONTIGS = numbered([UNIT, UNIT[100:140] + "NN" + UNIT[:20]])
READS = [UNIT[i : i + 31] for i in range(0, 200, 40)]


def run(*arguments, env=ON_GPU):
    """(standard output without @PG, standard error) of a command."""
    command = [sys.executable, "-m", "fmx", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith(b"@PG")], done.stderr.decode()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with an index, ref.fmx, and three files of reads, which are a span each."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "ref.fa").write_bytes(journeys.fasta(CONTIGS))
    run("index", "-q", folder / "ref.fa", env=ON_CPU)
    for i in range(3):
        lines = (f">r{i}.{j}\n{read}\n" for j, read in enumerate(READS[i:]))
        (folder / f"{i}.fa").write_text("".join(lines))
    return folder


@pytest.mark.parametrize(
    "command", [["search", "-a"], ["locate"], ["mem", "-b", "-l", 20], ["mem", "--mum"]], ids=str
)
def test_two_gpus_write_the_bytes_of_the_cpu(command, home):
    given = [*command, "-t", 2, "-x", home / "ref.fmx", *(home / f"{i}.fa" for i in range(3))]
    expected, _ = run(*given, env=ON_CPU)
    found, said = run(*given, "--engine", "cuda", "--gpus", 2)
    assert len(expected) > 5
    assert found == expected
    assert "searching on GPUs 0 and 1, " in said


def test_each_thread_maps_on_its_own_gpu(home, monkeypatch):
    """More GPUs than threads have a thread each, and all of them work at once."""
    opened = fm_index.load(home / "ref.fmx", method="verify")
    options, where = MapOptions(n_threads=1), Device("cuda", n_gpus=2)
    mappers = workflow.make_mappers(opened, options, where, Progress(quiet=True))
    assert [session.number for mapper in mappers for session in mapper.sessions] == [0, 1]
    both, search, mapped = threading.Barrier(2), type(mappers[0]).search, []

    def in_step(mapper, chunk):
        both.wait(60)
        mapped.append(mapper.sessions[0].number)
        return search(mapper, chunk)

    writer, _ = workflow.make_writer(opened.reference, workflow.Output())
    monkeypatch.setattr(type(mappers[0]), "search", in_step)
    mapping.map_reads(mappers, [literal_fasta([read]) for read in READS[:4]], writer, io.BytesIO())
    assert sorted(mapped) == [0, 0, 1, 1]
