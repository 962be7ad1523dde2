"""Several GPUs write the bytes of the CPU: two pretended ones in the simulator, or those that are there."""

import io
import json
import subprocess
import sys
import threading
from types import SimpleNamespace

import cases
import pytest
from conftest import ON_CPU, ON_GPU, ROOT, SIMULATED
from fmx.bench import gpu_index, mem
from texts import numbered, random_letters

from fmx import workflow
from fmx.errors import DeviceError
from fmx.index import fm_index
from fmx.input import spans
from fmx.input.chunks import literal_fasta
from fmx.machines import gpu
from fmx.machines.gpu_session import GpuSession
from fmx.machines.places import CPU, Device
from fmx.machines.progress import Progress
from fmx.mem import pipeline
from fmx.mem.matching import MemOptions
from fmx.mem.seeds import make_seeds
from fmx.mem.seeds_gpu import BESIDE
from fmx.output import hits_gpu
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.gpu import gpu_parts
from fmx.search.gpu.gpu_search import n_bytes
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mappers import map_spans
from fmx.search.mapping import BOTH, MapOptions, make_query

pytestmark = pytest.mark.skipif(not SIMULATED and gpu.n_devices() < 2, reason="needs two GPUs")
UNIT = random_letters(240, "several")
CONTIGS = numbered([UNIT, UNIT[100:140] + "NN" + UNIT[:20]])
READS = [UNIT[i : i + 31] for i in range(0, 200, 40)]
IN_PARTS = """
import sys
from fmx import workflow
workflow.build_index(sys.argv[1], sys.argv[2], workflow.IndexOptions(part_size=241))
"""


def run(*arguments, env=ON_GPU):
    """(standard output without @PG, standard error) of a command."""
    command = [sys.executable, "-m", "fmx", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith(b"@PG")], done.stderr.decode()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with an index, ref.fmx, the same in parts, and three files of reads, which are a span each."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "ref.fa").write_bytes(cases.fasta(CONTIGS))
    run("index", "-q", folder / "ref.fa", env=ON_CPU)
    in_parts = [sys.executable, "-c", IN_PARTS, folder / "ref.fa", folder / "parts.fmx"]
    subprocess.run(in_parts, cwd=ROOT, env=ON_CPU, check=True)
    for i in range(3):
        lines = (f">r{i}.{j}\n{read}\n" for j, read in enumerate(READS[i:]))
        (folder / f"{i}.fa").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("command", [["search", "-a"], ["locate"], ["mem", "-b", "-l", 20]], ids=str)
def test_two_gpus_write_the_bytes_of_the_cpu(command, home):
    given = [*command, "-t", 2, "-x", home / "ref.fmx", *(home / f"{i}.fa" for i in range(3))]
    expected, _ = run(*given, env=ON_CPU)
    found, said = run(*given, "--engine", "cuda", "--gpus", 2)
    assert len(expected) > 5
    assert found == expected
    assert "searching on GPUs 0 and 1, " in said


def test_each_thread_maps_on_its_own_gpu(home, monkeypatch):
    """More GPUs than threads have a thread each, and both work at the same time, with what is their own."""
    opened = fm_index.load(home / "ref.fmx", method="verify")
    options, where = MapOptions(n_threads=1), Device("cuda", n_gpus=2)
    writer, _ = workflow.make_writer(opened.reference, SearchOutput())
    mappers = workflow.make_mappers(opened, options, where, Progress(quiet=True), writer)
    assert [session.number for mapper in mappers for session in mapper.sessions] == [0, 1]
    both, map_span, mapped = threading.Barrier(2), type(mappers[0]).map, []

    def in_step(mapper, span, writer, emit):
        both.wait(60)
        mapped.append(mapper.sessions[0].number)
        return map_span(mapper, span, writer, emit)

    makers, kind = [], hits_gpu.GpuHitWriter
    monkeypatch.setattr(hits_gpu, "GpuHitWriter", lambda own: makers.append(own) or kind(own))
    monkeypatch.setattr(type(mappers[0]), "map", in_step)
    map_spans(mappers, spans.plan(literal_fasta([read]) for read in READS[:4]), writer, io.BytesIO())
    assert sorted(mapped) == [0, 0, 1, 1]
    assert len(makers) == 2  # each from arrays of its own GPU


class Told(Progress):
    """Keeps what it is told."""

    def __init__(self):
        super().__init__(quiet=True)
        self.lines = []

    def say(self, line):
        self.lines.append(line)


@pytest.mark.parametrize(("n_gpus", "n_teams"), [(1, 0), (2, 1), (3, 1)])
def test_parts_are_spread_where_no_gpu_has_room_for_all(n_gpus, n_teams, home, tmp_path):
    """One GPU says so; two have a part each; so have three, one of which is idle."""
    if not SIMULATED and gpu.n_devices() < n_gpus:
        pytest.skip("needs three GPUs")
    opened, told = fm_index.load(home / "parts.fmx", method="verify"), Told()
    sizes = [n_bytes((make_query(part), part.sa)) for part in opened.parts]
    assert len(sizes) == 2
    memory = max(sizes) + gpu_parts.STREAM_BYTES
    paths, where = [home / f"{i}.fa" for i in range(3)], Device("cuda", 0, memory, n_gpus)
    options, output = (
        MapOptions(SelectionPolicy(ALL), n_threads=2),
        SearchOutput(RecordOutput(tmp_path / "found.sam")),
    )
    if not n_teams:
        with pytest.raises(DeviceError, match="raise --gpu-memory"):
            workflow.search(opened, paths, options, output, told, where)
        return
    workflow.search(opened, paths, options, output, told, where)
    assert any("spread" in line for line in told.lines)
    expected, _ = run("search", "-q", "-a", "-x", home / "ref.fmx", *paths, env=ON_CPU)
    found = (tmp_path / "found.sam").read_bytes().splitlines()
    assert [line for line in found if not line.startswith(b"@PG")] == expected


def test_matches_of_parts_on_two_gpus_are_those_of_the_cpu(home):
    opened, told, options = fm_index.load(home / "parts.fmx", method="verify"), Told(), MemOptions(9, BOTH)
    memory = max(n_bytes(make_seeds(part, 9)) for part in opened.parts) + BESIDE
    where = Device("cuda", 0, memory, 2)
    paths, found = [home / f"{i}.fa" for i in range(3)], []
    for device in (CPU, where):
        output = pipeline.MemOutput(home / "found.txt")
        pipeline.find(pipeline.prepare(opened, options, output, told, device), paths, output, told)
        found.append((home / "found.txt").read_bytes())
    assert found[0] == found[1]
    assert len(found[0].splitlines()) > 20
    assert any("spread" in line for line in told.lines)


def test_the_bench_shares_patterns_out_and_checks_all_answers(tmp_path, capsys):
    given = SimpleNamespace(bases=400, queries=11, length=20, names=["verify"], output=tmp_path)
    gpu_index.run_several(given, [GpuSession(number) for number in range(2)], "two", at_least=0)
    (table,) = json.loads((tmp_path / "gpus.json").read_text())
    rows = table["rows"]
    assert [(row["layout"], row["GPUs"], row["wrong"]) for row in rows] == [
        ("verify", 1, 0),
        ("verify", 2, 0),
    ]


def test_the_bench_of_mem_shares_queries_out_and_checks_all_matches(home, tmp_path, monkeypatch):
    (tmp_path / "two.fa").write_bytes(cases.fasta([("a", READS[0][:14]), ("b", READS[1][:14])]))
    work = [({"least": 12}, tmp_path / "two.fa", 2)]
    ways = [("seeds", ("cpu", 0)), ("seeds", ("cuda", 2))]
    given = {"device": 0, "threads": 2, "n_runs": 1}
    used, all_stages = set(), mem.all_stages
    monkeypatch.setattr(mem, "all_stages", lambda own, s: used.add(id(own)) or all_stages(own, s))
    rows = mem.stage_rows(home / "ref.fmx", work, ways, given, task_size=8)
    assert [row["matches"] for row in rows] == [rows[0]["matches"]] * 2
    assert rows[0]["matches"] >= 2
    assert rows[1]["engine"].startswith("GPUs 0 and 1, ")
    assert len(used) == 2
