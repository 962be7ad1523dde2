"""Reads made records on a GPU: the bytes, the counts and the complaints are those of the CPU.

Both map in this process, in the simulator by plain Python.
"""

import gzip
import json
from dataclasses import replace

import cases
import naive
import numpy as np
import pytest
import workflow
from cuda.devices import CPU, GPU, POLICIES, both, complaint, search
from output_of import bgzf
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.index.reference import Groups
from fmx.input import spans
from fmx.input.reads import Trim
from fmx.machines import gpu
from fmx.machines.gpu import GpuSession, GpuStream
from fmx.machines.progress import Clock, Progress
from fmx.output.files import ReadsOutput
from fmx.output.search_output import ReadGroups, SearchOutput
from fmx.report import Report
from fmx.search.gpu.gpu_mapper import GpuMapper
from fmx.search.mapping import GpuSizes, Hooks, MapOptions, RunSizes

SMALL = RunSizes(gpu=GpuSizes(chunk=300, least_chunk=300))
UNIT = random_letters(150, "road")
CONTIGS = numbered([UNIT, "TT" + UNIT[90:140] + "NN" + UNIT[:20], "ACG" * 9])
SEQUENCES = [
    UNIT[:40], naive.reverse_complement(UNIT[50:90]), UNIT[100:130], "ACG", "ACGTN", "", UNIT[5:37].lower(),
    UNIT[:33].replace("T", "U"), "A" * 31, UNIT, "CGACGACGACGACG",
]  # fmt: skip
RECORDS = [(f"r{i}{'x' * 40 * (i == 3)} more {i}", sequence) for i, sequence in enumerate(SEQUENCES)]
FASTQ, FASTA = cases.fastq(RECORDS), cases.fasta(RECORDS, width=30)
FEW = FASTQ[: FASTQ.index(b"@r4")]
FILES = {
    "FASTQ": FASTQ,
    "FASTQ, CRLF": FASTQ.replace(b"\n", b"\r\n"),
    "FASTQ without names, its third lines long": FASTQ.replace(b"@r", b"@ r").replace(b"\n+\n", b"\n+ r\n"),
    "FASTQ without final newline": FASTQ[:-1],
    "BGZF": bgzf(FASTQ, 400),
    "FASTA": FASTA,
    "FASTA, CRLF and blanks": FASTA.replace(b"\n", b"\r\n").replace(b"ACG", b"A CG"),
}


@pytest.fixture
def opened(index_of):
    return fm_index.load(index_of(CONTIGS))


@pytest.fixture
def compare(opened, tmp_path, on_cpu):
    """A function (bytes of a file, ...): what both devices write of its reads, as ``both`` gives it."""

    def compare(data, *options, **output):
        (tmp_path / "reads").write_bytes(data)
        return both(opened, [tmp_path / "reads"], tmp_path, on_cpu, *options, **output)

    return compare


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_bytes_of_the_cpu(name, compare):
    written, _, summary, n = compare(FILES[name])
    assert n == 0
    assert summary.reads == len(RECORDS)
    assert written.count(b"NH:i:1\t") > 1


@pytest.mark.parametrize("policy", POLICIES)
def test_hits_are_chosen_and_counted_as_on_the_cpu(policy, opened, tmp_path, on_cpu):
    (tmp_path / "reads").write_bytes(FASTQ)
    by_group = policy in ("all", "limited")
    groups = Groups(["x", "y"], np.array([0, 1, 0], np.uint32))
    opened = replace(opened, reference=replace(opened.reference, groups=groups))
    options = MapOptions(POLICIES[policy])
    _, counts, _, n = both(opened, [tmp_path / "reads"], tmp_path, on_cpu, options, by_group=by_group)
    assert n == 0
    assert counts.count(b"\n") == 1 + (2 if by_group else len(CONTIGS))


def test_a_report_tells_what_that_of_the_cpu_tells(opened, tmp_path, on_cpu):
    (tmp_path / "reads").write_bytes(FASTQ + cases.fastq([("long", 30 * UNIT), ("short", UNIT[:40])]))
    found = []
    HITS = ("multiplicity", "strands")
    for device in (CPU, GPU):
        on_cpu.clear()
        report = Report((str(tmp_path / "run.json"),), {})
        output = SearchOutput(str(tmp_path / "o.sam"), report=report)
        workflow.search(opened, [tmp_path / "reads"], MapOptions(), output, device=device)
        told = json.loads((tmp_path / "run.json").read_text())
        found.append({name: told[name] for name in ("counts", "shares", "lengths", "contigs", *HITS)})
    assert on_cpu == []
    assert found[0] == found[1]
    assert sum(n for *_, n in found[1]["lengths"]) == found[1]["counts"]["reads"]
    assert found[1]["lengths"][-1] == [4480, 4543, 1]
    assert min(found[1]["strands"].values()) > 0
    assert len(found[1]["multiplicity"]) > 1
    assert any({"search", "count"} <= stages.keys() for stages in told["stages"].values())


@pytest.mark.parametrize("clock", [None, Clock()], ids=["no report", "report"])
def test_streams_are_timed_for_a_report_only(clock, opened):
    session, writer = GpuSession(), workflow.make_writer(opened.reference, SearchOutput())[0]
    mapper = GpuMapper(opened, MapOptions(), session, "cuda", Hooks(clock=clock))
    for span in spans.plan([FEW]):
        mapper.map(span, writer, writer.written)
    assert ("search" in session.clock.seconds) == (clock is not None)


EVERY = MapOptions(POLICIES["all"])
OUTPUTS = {
    "BAM": (MapOptions(), {"kind": "bam", "groups": ReadGroups("@RG\tID:x", "x")}),
    "no unmapped": (MapOptions(), {"unmapped": False}),
    **{name: (EVERY, {"kind": name.lower()}) for name in ("TSV", "BED", "PAF", "Parquet")},
    "few tags": (MapOptions(POLICIES["drawn"]), {"kind": "bam", "tags": 1 | 4 | 16}),
    "trimmed": (MapOptions(trim=Trim(3, 1, 20, 9)), {}),
    "in small chunks": (MapOptions(POLICIES["drawn"], sizes=SMALL), {}),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_format_has_the_bytes_of_the_cpu(name, compare):
    if name == "Parquet":
        pytest.importorskip("pyarrow", reason="pip install '.[parquet]'")
    options, records = OUTPUTS[name]
    assert compare(FASTQ.replace(b"@r0", b"@ r0"), options, **records)[3] == 0


@pytest.mark.parametrize("name", ["FASTQ", "FASTA, CRLF and blanks"])
def test_reads_as_they_came_are_those_of_the_cpu(name, opened, tmp_path, on_cpu):
    (tmp_path / "reads").write_bytes(FILES[name])
    found, reads = [], ReadsOutput(str(tmp_path / "al"), str(tmp_path / "un.gz"))
    for device in (CPU, GPU):
        on_cpu.clear()
        search(device, opened, [tmp_path / "reads"], tmp_path, MapOptions(POLICIES["limited"]), reads=reads)
        found.append(((tmp_path / "al").read_bytes(), gzip.decompress((tmp_path / "un.gz").read_bytes())))
    assert on_cpu == []
    assert found[0] == found[1]
    assert all(name.count(b"more") > 1 for name in found[0])


def test_where_a_gpu_has_too_little_memory_the_cpu_deflates(opened, compare, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "shared_bytes", lambda: 1 << 16)
    compare(FEW, kind="bam")
    output = SearchOutput(str(tmp_path / "x.bam"), "bam")
    workflow.search(opened, [tmp_path / "reads"], MapOptions(), output, Progress(), GPU)
    said = "BAM is compressed on the CPU: a block of threads of this GPU has 65536 bytes"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["long", "room", "hits"])
def test_what_is_too_much_for_a_gpu_goes_the_way_of_the_cpu(name, compare, on_cpu):
    sizes = RunSizes(gpu=GpuSizes(chunk=1 << 20, **{name: 1e-6}))
    compare(FASTQ, replace(EVERY, sizes=sizes))
    assert max(chunk.n_bound for chunk in on_cpu) == len(RECORDS)  # threads take chunks in any order


DAMAGES = {
    "letter": (b"AC", b"A!", "not a base"),
    "quality": (b"\n!", b"\n\x7f", "outside"),
    "no third line": (b"\n+\n", b"\nA\n", "third line"),
    "truncated": (FASTQ[-20:], b"", "truncated"),
    "long name": (b"@r1 ", b"@" + b"r" * 255 + b" ", "254 characters"),
    "CR inside": (b"more 1", b"more\r1", "CR inside"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_the_cpu_says_what_is_wrong(name, opened, tmp_path):
    damaged, by, said = DAMAGES[name]
    assert FASTQ.count(damaged) >= 1
    (tmp_path / "reads").write_bytes(FASTQ.replace(damaged, by, 1))
    assert said in complaint(opened, [tmp_path / "reads"], tmp_path)


# The host is told so little of the ends of blocks that it must ask for more.
SMALL_CHUNKS = GpuSizes(chunk=300, least_chunk=300, ends=40)
FEW_ENDS = MapOptions(sizes=RunSizes(gpu=SMALL_CHUNKS))


def test_a_span_of_the_empty_last_block_alone(compare, monkeypatch):
    """A GPU refuses to launch no threads, but the simulator does not."""
    n, launch, launched = SMALL_CHUNKS.chunk, GpuStream.launch, []

    def noted(stream, kernel, n, *more):
        launched.append(n)
        launch(stream, kernel, n, *more)

    monkeypatch.setattr(GpuStream, "launch", noted)
    compare(bgzf((FASTA * 9)[: 2 * n], n // 2), FEW_ENDS)
    assert min(launched) > 0


BLOCKS = {  # and whether the GPU maps them all
    "FASTQ": (bgzf(FEW[:-1], 130), True),
    "FASTA": (bgzf(FASTA[: FASTA.index(b">r4")], 130), True),
    "blank lines": (bgzf(b"\n \n" + FEW + b"\n" * 150, 250), False),
    "no end": (bgzf(FEW, 150)[:-28], False),
    "other gzip": (bgzf(FEW[:333], 150) + gzip.compress(FEW[333:400]) + bgzf(FEW[400:], 150), False),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_any_kind_are_what_they_are_on_the_cpu(name, compare):
    data, by_gpu = BLOCKS[name]
    assert compare(data, FEW_ENDS)[3] == 0 or not by_gpu


WHOLE = bgzf(FEW, 150)
FLIPPED = WHOLE.index(b"\x1f\x8b", 99) + 40
WRONG = {
    "a blank line between records": (bgzf(FEW + b"\n" * 150 + FEW[:99], 250), "blank line"),
    "a bit": (WHOLE[:FLIPPED] + bytes([WHOLE[FLIPPED] ^ 4]) + WHOLE[FLIPPED + 1 :], "gzip stream"),
    "cut in a block": (WHOLE[:-40], "gzip stream"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_blocks_are_what_they_are_on_the_cpu(name, opened, tmp_path):
    data, said = WRONG[name]
    (tmp_path / "reads").write_bytes(data)
    assert said in complaint(opened, [tmp_path / "reads"], tmp_path, FEW_ENDS)
