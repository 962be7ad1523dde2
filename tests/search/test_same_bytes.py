"""Real genomes through the whole command: every layout, method, number of threads and batch size writes the
same bytes."""

import gzip

import pytest
import workflow
from cases import fasta
from output_of import without_program

from fmx.index import fm_index, layouts
from fmx.output.search_output import SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions

WAYS = [
    "verify", "sampled-k1", "kstep-k2", "kstep-k3", "alternate-k1", "alternate-k2", "bvsfm-k1", "bvsfm-k2",
    "bvsfm-k3", "cofi", "sparse",
]  # fmt: skip
POLICIES = {"one": SelectionPolicy(), "all": SelectionPolicy(ALL), "drawn": SelectionPolicy(3, 40, 7)}


def lines_of(path, n, skip=0) -> list:
    with gzip.open(path, "rt") as file:
        return [line for i, line in enumerate(file) if i < n][skip:]


def contigs_of(path, n_lines) -> list:
    """The contigs in the first lines of a FASTA file, the last perhaps cut short."""
    contigs = []
    for line in lines_of(path, n_lines):
        if line.startswith(">"):
            contigs.append((line[1:].split()[0], []))
        else:
            contigs[-1][1].append(line.strip())
    return [(name, "".join(parts)) for name, parts in contigs]


def drawn(sequence, n, length) -> str:
    """Reads of a sequence at even distances, as FASTA."""
    step = (len(sequence) - length) // n
    return "".join(f">r{i}\n{sequence[i * step : i * step + length]}\n" for i in range(n))


def together(name):
    """A genome whose tests run in one process, which builds its index once."""
    return pytest.param(name, marks=pytest.mark.xdist_group(f"bytes of {name}"))


@pytest.fixture(scope="module", params=map(together, ["yeast", "chrX", "miRBase"]))
def case(request, data, tmp_path_factory):
    """(index with every layout, reads): a part of the genome, so that all layouts are quickly built."""
    folder = tmp_path_factory.mktemp(request.param)
    reads = folder / "reads"
    if request.param == "yeast":
        contigs = contigs_of(data("scerevisiae_sacCer3.fa.gz"), 4_000)
        reads.write_text("".join(lines_of(data("yeast_SRR5204809_input1_R1.fastq.gz"), 12_000)))
    elif request.param == "chrX":
        contigs = contigs_of(data("human_hs37_chrX_20M-30M.fa.gz"), 4_000)
        reads.write_text(drawn(contigs[0][1], 3_000, 60))
    else:
        contigs = contigs_of(data("mirbase_hairpin.fa.gz"), 8_000)
        reads.write_text("".join(lines_of(data("mirbase_mature.fa.gz"), 8_000)))
    n_bases = sum(len(sequence) for _, sequence in contigs)
    names = [str(layouts.parse_name(way, n_bases)) for way in WAYS[1:-1]]
    workflow.build_index(fasta(contigs), folder / "ref.fmx", workflow.IndexOptions([*names, "sparse"]), 2)
    return folder / "ref.fmx", reads


def sam(case, way, policy, n_threads=1, chunk_size=1 << 21) -> bytes:
    """The SAM of all reads, without the line that holds the command."""
    path, reads = case
    is_method = way in ("verify", "sparse")
    opened = fm_index.load(path, None if is_method else way, way if is_method else "backward")
    output = SearchOutput(str(reads.with_suffix(".sam")))
    workflow.search(opened, [reads], MapOptions(policy, n_threads=n_threads, chunk_size=chunk_size), output)
    return without_program(reads.with_suffix(".sam").read_bytes())


@pytest.fixture(scope="module")
def expected(case):
    """What seed and verify writes for each policy, by one thread in one batch."""
    found = {name: sam(case, "verify", policy) for name, policy in POLICIES.items()}
    assert found["all"].count(b"\n") > found["one"].count(b"\n") > 2000
    assert b"\tNH:i:1\t" in found["one"]
    return found


@pytest.mark.parametrize("name", WAYS)
def test_ways_threads_and_batches(case, expected, name):
    assert sam(case, name, POLICIES["all"], n_threads=2, chunk_size=40_000) == expected["all"]
    assert sam(case, name, POLICIES["one"], n_threads=1, chunk_size=100_000) == expected["one"]
    assert sam(case, name, POLICIES["drawn"], n_threads=3, chunk_size=9_000) == expected["drawn"]
