"""Where a search runs: what --engine auto sends to a GPU, and what --engine cuda refuses."""

import gzip
import os

import cases
import pytest
import workflow
from output_of import bgzf, without_program
from texts import numbered, random_letters

from fmx.errors import DeviceError
from fmx.index import fm_index
from fmx.machines import places
from fmx.output.search_output import SearchOutput
from fmx.search import mappers
from fmx.search.mapping import Hooks, MapOptions

UNIT = random_letters(300, "where")
CONTIGS = numbered([UNIT, UNIT[:80] + "T" + UNIT[81:200]])
FASTQ = cases.fastq([(f"r{i}", UNIT[7 * i : 7 * i + 40]) for i in range(30)])
FILES = {
    "plain": (FASTQ, 1),
    "FASTA": (cases.fasta([("a", UNIT)]), 1),
    "BGZF": (bgzf(FASTQ, 900), places.BGZF_RATIO),
    "gzip": (gzip.compress(FASTQ), 0),
    "BAM": (bgzf(b"BAM\1" + bytes(99)), 0),
    "damaged": (bgzf(FASTQ, 900)[:18] + b"\7" * 99, 0),
    "empty": (b"", 0),
}


@pytest.mark.parametrize("name", FILES)
def test_large_files_of_plain_or_bgzf_reads_go_to_a_gpu(name, tmp_path, monkeypatch):
    data, ratio = FILES[name]
    path = str(tmp_path / "reads")
    (tmp_path / "reads").write_bytes(data)
    size = ratio * len(data)
    monkeypatch.setattr(places, "LARGE", max(size, 1))
    assert places.is_large([path]) == (ratio > 0)
    assert places.is_large([path, path], n_shards=2) == (ratio > 0)
    assert not places.is_large([path], n_shards=2)
    monkeypatch.setattr(places, "LARGE", size + 1)
    assert not places.is_large([path])


def test_what_is_not_a_regular_file_stays_with_the_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "LARGE", 1)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "reads").write_bytes(FASTQ)
    for path in ("-", b"@r\nA\n+\nI\n", str(tmp_path), str(tmp_path / "pipe"), str(tmp_path / "none")):
        assert not places.is_large([path])
        assert not places.is_large([path, str(tmp_path / "reads")])


def chosen(index, monkeypatch, is_large, error=None):
    """("GPU" or the mapper of --engine auto, what is said)."""

    class Gpu:
        session = "GPU 0"

    def choose(device, on_gpu, on_cpu, tell):
        assert device.engine == "auto"
        tell(f"the CPU: {error}" if error else "GPU 0")
        return on_cpu() if error else Gpu()

    said = []
    monkeypatch.setattr(mappers, "choose_place", choose)
    writer, _ = workflow.make_writer(index.reference, SearchOutput())
    device, hooks = workflow.Device("auto"), Hooks(say=said.append)
    made = mappers.choose_mapper(index, MapOptions(), device, hooks, writer, is_large)
    return "GPU" if isinstance(made, Gpu) else type(made).__name__, said


def test_auto_takes_a_gpu_for_large_inputs_if_there_is_one(index_of, monkeypatch):
    index = fm_index.load(index_of(CONTIGS))
    assert chosen(index, monkeypatch, True) == ("GPU", ["searching on GPU 0"])
    why = "searching on the CPU: it is faster for inputs of this kind or size"
    assert chosen(index, monkeypatch, False) == ("Mapper", [why])
    no_gpu = DeviceError("no GPU that CUDA can use was found")
    assert chosen(index, monkeypatch, True, no_gpu) == ("Mapper", [f"searching on the CPU: {no_gpu}"])


CORES = {
    "search r.fq --mismatches 1": "mismatches",
    "search r.fq --mismatches 1 --strata": "mismatches",
    "search -1 r.fq -2 r2.fq --mismatches 1": "mismatches",
    "search r.fq --collapse": "--collapse",
    "search -1 r.fq -2 r2.fq --counts n.tsv": "--counts or --report of pairs",
    "search -1 r.fq -2 r2.fq --report run.json": "--counts or --report of pairs",
    "search r.fq -x two.fmx --screen s.tsv": "--screen",
    "search r.fq --al {target}.fq": "{target} in --al",
    "locate -p GATTACA --iupac": "--iupac or --pairs",
    "locate -p GATTACA --mismatches 1": "mismatches",
    "locate r.fq --matrix counts -x two.fmx": "this output",
    "locate --pairs primers.tsv": "--iupac or --pairs",
    "search r.fq -x parts.fmx": "several -x or an index in parts",
    "search -a r.fq": "-a",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("where")
    cases.build(folder / "ref.fmx", CONTIGS)
    workflow.build_index(cases.fasta(CONTIGS), folder / "parts.fmx", workflow.IndexOptions(part_size=310))
    for name in ("a", "b"):
        (folder / f"{name}.fa").write_bytes(cases.fasta([(name, UNIT)]))
    files = [str(folder / f"{name}.fa") for name in ("a", "b")]
    workflow.build_index(files, folder / "two.fmx", workflow.IndexOptions())
    (folder / "r.fq").write_bytes(FASTQ)
    (folder / "r2.fq").write_bytes(FASTQ)
    (folder / "primers.tsv").write_text(f"one\t{UNIT[:20]}\t{UNIT[40:60]}\n")
    return folder


@pytest.mark.parametrize("line", CORES)
def test_what_only_the_cores_do_is_an_error_with_cuda_and_done_by_them_with_auto(
    line, home, monkeypatch, command
):
    monkeypatch.chdir(home)
    words = line.split() if "-x" in line else [*line.split(), "-x", "ref.fmx"]
    refused = command(*words, "--engine", "cuda")
    assert (refused.code, refused.out) == (1, b"")
    (told,) = (each for each in refused.err.splitlines() if "error" in each)
    what = f"no GPU search with {CORES[line]}"
    assert told == f"fmx: error: {what}: leave out --engine to use the CPU's cores"
    expected, found = command(*words, "-q"), command(*words, "--engine", "auto")
    assert (expected.code, found.code) == (0, 0)
    assert without_program(found.out) == without_program(expected.out)
    assert f"searching on the CPU: {what}" in found.err


@pytest.mark.parametrize("index", ["ref.fmx", "parts.fmx"])
def test_matches_by_seeds_are_found_by_the_cores(index, home, monkeypatch, command):
    monkeypatch.chdir(home)
    words = ["mem", "-x", index, "r.fq"]
    refused = command(*words, "--engine", "cuda")
    assert (refused.code, refused.out) == (1, b"")
    assert "maximal matches are found by seeds on the CPU only: leave out --engine" in refused.err
    found = command(*words, "--engine", "auto")
    assert (found.code, found.out) == (0, command(*words).out)
    assert "searching on the CPU" in found.err
    if index == "parts.fmx":
        refused = command(*words, "--engine", "cuda", "--algorithm", "mummergpu")
        assert refused.code == 1
        assert "an index in parts is searched on the CPU only: leave out --engine" in refused.err
