"""Pairs made records on a GPU: the bytes and the summary are those of the CPU."""

from dataclasses import replace

import cases
import naive
import naive_pairs
import pytest
from cuda.devices import CPU, POLICIES, both, complaint, search
from output_of import bgzf
from texts import numbered, random_letters

from fmx.dna import FORWARD
from fmx.index import fm_index
from fmx.input import PairedFiles
from fmx.input.reads import Trim
from fmx.machines.gpu import PinnedBuffers
from fmx.output.search_output import ReadGroups
from fmx.search.mapping import GpuSizes, MapOptions, Pairing, RunSizes

UNIT = random_letters(140, "pairs to records")
CONTIGS = numbered([UNIT, "ACG" * 11, UNIT[20:90] + "NN" + UNIT[:50]])
FRAGMENTS = [
    (UNIT[:20], UNIT[60:85]),
    (UNIT[25:44], UNIT[50:71]),
    (UNIT[100:120], UNIT[5:30]),
    ("ACGACGACG", "CGACGACG"),
    (UNIT[:39], "ACN"),
    ("TTTTTTTTTTTT", UNIT[30:60]),
    ("A", ""),
    ("GGGGGGGGGGGG", "CCCCCCCCCCCCC"),
    (UNIT[40:70].lower(), UNIT[40:66].replace("T", "U")),
]
MATES = [(one, naive.reverse_complement(two.replace("U", "T"))) for one, two in FRAGMENTS]
MATES += [(two, one) for one, two in MATES[:4]]
FR = Pairing("fr", 0, 95)
MODES = {
    "first": MapOptions(pairing=FR),
    "all": MapOptions(POLICIES["all"], pairing=FR),
    "drawn": MapOptions(POLICIES["drawn"], pairing=FR),
    "limited": MapOptions(POLICIES["limited"], pairing=FR),
    "rf": MapOptions(POLICIES["all"], pairing=Pairing("rf", 10, 200)),
    "ff": MapOptions(POLICIES["all"], pairing=Pairing("ff", 0, 300)),
    "forward": MapOptions(POLICIES["all"], pairing=FR, strands=FORWARD),
    "trimmed": MapOptions(POLICIES["all"], pairing=FR, trim=Trim(1, 2, 18, 4)),
}
OUTPUTS = {
    "BAM": {"kind": "bam", "groups": ReadGroups("@RG\tID:x", "x")},
    "no unmapped": {"unmapped": False},
    "TSV": {"kind": "tsv"},
    "BED": {"kind": "bed"},
    "PAF": {"kind": "paf"},
}


@pytest.fixture
def opened(tmp_path):
    return fm_index.load(cases.build(tmp_path / "x.fmx", CONTIGS))


def files_of(folder, is_named=True, mates=MATES):
    """Two files of mates, the second with longer names."""
    files = []
    for i in (0, 1):
        names = [f"r{r}/{i + 1}{' more' * (1 + 3 * i)}" if is_named else "" for r in range(len(mates))]
        data = cases.fastq(zip(names, (pair[i] for pair in mates), strict=True))
        (folder / f"{i}.fq").write_bytes(data)
        files.append((str(folder / f"{i}.fq"),))
    return PairedFiles(*files)


@pytest.mark.parametrize("mode", MODES)
def test_pairs_are_those_of_the_cpu(mode, opened, tmp_path, on_cpu):
    _, _, summary, n = both(opened, files_of(tmp_path), tmp_path, on_cpu, MODES[mode])
    assert n == 0
    assert summary.pairs == len(MATES)
    if mode == "all":
        proper = [len(naive_pairs.proper_pairs(CONTIGS, *pair, "fr", 0, 95)) for pair in MATES]
        assert (summary.proper, summary.hits) == (sum(map(bool, proper)), sum(proper))
        assert summary.unique < summary.proper < summary.hits
        assert summary.alone > 2


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_format_has_the_bytes_of_the_cpu(name, opened, tmp_path, on_cpu):
    files = files_of(tmp_path, is_named=name in ("BAM", "no unmapped"))
    mode = MODES["drawn" if name == "BAM" else "all"]  # the simulator deflates slowly
    assert both(opened, files, tmp_path, on_cpu, mode, **OUTPUTS[name])[3] == 0


def test_files_of_any_kind_give_the_same(opened, tmp_path, on_cpu):
    files = files_of(tmp_path)
    *_, expected = search(CPU, opened, files, tmp_path, MODES["all"])
    interleaved = [(f"r{r}", mate) for r, pair in enumerate(MATES) for mate in pair]
    (tmp_path / "2.fq").write_bytes(bgzf(cases.fastq(interleaved), 300))
    (tmp_path / "2.fa").write_bytes(cases.fasta([pair for pair in interleaved], width=12))
    for name in ("2.fq", "2.fa"):
        found = both(opened, PairedFiles((str(tmp_path / name),)), tmp_path, on_cpu, MODES["all"])
        assert found[2:] == (expected, 0)


SIZES = {  # of work on a GPU, and whether all pairs go the way of the CPU
    "mates wait for each other": (GpuSizes(chunk=600, least_chunk=600, hits=1000, room=1000), False),
    "occurrences are located again": (GpuSizes(hits_of_mate=0), False),
    "too many hits": (GpuSizes(hits=0), True),
    "too many bytes": (GpuSizes(room=0), True),
    "long reads": (GpuSizes(long=0), True),
}


@pytest.mark.parametrize(
    ("name", "mode"),
    [*((name, "all") for name in SIZES), *zip(list(SIZES)[:2], ("drawn", "first"), strict=True)],
)
def test_sizes_do_not_matter(name, mode, opened, tmp_path, on_cpu):
    sizes, by_cpu = SIZES[name]
    options = replace(MODES[mode], sizes=RunSizes(gpu=sizes))
    n = both(opened, files_of(tmp_path), tmp_path, on_cpu, options)[3]
    assert n >= len(MATES) if by_cpu else n == 0


def test_files_of_two_types_go_the_way_of_the_cpu(opened, tmp_path, on_cpu):
    files = files_of(tmp_path)
    fasta = cases.fasta([(f"r{r}/2", pair[1]) for r, pair in enumerate(MATES)])
    (tmp_path / "1.fa").write_bytes(fasta)
    mixed = PairedFiles(files.first, (str(tmp_path / "1.fa"),))
    assert both(opened, mixed, tmp_path, on_cpu, MODES["all"])[3] >= len(MATES)


@pytest.mark.parametrize("fault", ["another name", "one too many", "damaged"])
def test_errors_are_those_of_the_cpu(fault, opened, tmp_path):
    files, path = files_of(tmp_path), tmp_path / "1.fq"
    data = path.read_bytes()
    if fault == "another name":
        data = data.replace(b"@r5/2", b"@r55/2")
    else:
        data += b"@more\nACGT\n+\nIII" + (b"I\n" if fault == "one too many" else b"\n")
    path.write_bytes(data)
    words = {"another name": "record 6", "one too many": "same number", "damaged": "3 qualities"}
    assert words[fault] in complaint(opened, files, tmp_path, MODES["all"])


def test_a_sparse_suffix_array_finds_the_same(tmp_path, on_cpu):
    letters = random_letters(400, "sparse pairs")
    contigs = numbered([letters + letters[100:200]])
    sparse = fm_index.load(cases.build(tmp_path / "x.fmx", contigs, ["sparse"]))
    data = [[], []]
    for r, i in enumerate(range(0, 320, 16)):
        data[0].append((f"r{r}", letters[i : i + 40]))
        data[1].append((f"r{r}", naive.reverse_complement(letters[i + 30 : i + 75])))
    for i in (0, 1):
        (tmp_path / f"{i}.fq").write_bytes(cases.fastq(data[i]))
    files = PairedFiles((str(tmp_path / "0.fq"),), (str(tmp_path / "1.fq"),))
    _, _, summary, n = both(sparse, files, tmp_path, on_cpu, MODES["all"])
    assert n == 0
    assert summary.proper == 20 < summary.hits


def test_a_sampled_suffix_array_locates_the_same(tmp_path, on_cpu):
    sampled = fm_index.load(cases.build(tmp_path / "x.fmx", CONTIGS, sa_rate=3))
    assert both(sampled, files_of(tmp_path), tmp_path, on_cpu, MODES["drawn"])[3] == 0


def test_pinned_memory_is_used_again_once_no_view_of_it_is_left():
    buffers = PinnedBuffers()
    view = buffers(100)[20:50]
    address = view.ctypes.data - 20
    assert buffers.owns(view)
    assert buffers.owns(view[5:])
    assert not buffers.owns(view.copy())
    assert buffers(100).ctypes.data != address
    del view
    assert buffers(100).ctypes.data == address
    assert buffers(1000).size >= 1000
