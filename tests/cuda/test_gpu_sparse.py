"""Reads searched on a GPU by a sparse suffix array: the CPU's bytes, and as many hits as a naive scan finds.

In the simulator there are few reads, for a simulated thread is a Python thread.
"""

import itertools
import random

import cases
import naive
import pytest
import workflow
from conftest import SIMULATED
from cover import covered, pairs
from cuda import devices
from cuda.devices import POLICIES
from search.test_sparse import in_memory, long_enough
from texts import TEXTS, numbered, random_letters, reads_of

from fmx.dna import FORWARD, REVERSE
from fmx.errors import UnsupportedError
from fmx.machines.progress import Progress
from fmx.output.search_output import SearchOutput
from fmx.search.gpu import gpu_sparse
from fmx.search.mapping import BOTH, MapOptions

NAMES = (
    [(3, 1), (5, 4), (21, 16)] if SIMULATED else [(3, 1), (3, 2), (3, 7), (5, 4), (7, 16), (21, 16), (31, 64)]
)


@pytest.fixture
def both(tmp_path, on_cpu):
    """A function (index, sequences, ...): the summary of both, after what they write was compared."""

    def both(index, sequences, policy=POLICIES["all"], strands=BOTH, by_gpu=True, **output):
        (tmp_path / "reads").write_bytes(cases.fastq((f"r{i}", x) for i, x in enumerate(sequences)))
        options = MapOptions(policy, strands)
        *_, summary, n = devices.both(index, [tmp_path / "reads"], tmp_path, on_cpu, options, **output)
        assert n == 0 or not by_gpu
        return summary

    return both


def n_naive(contigs, sequences, strands=(naive.FORWARD, naive.REVERSE)):
    return sum(len(naive.locate(contigs, sequence, strands)) for sequence in sequences)


FEW = [name for name in TEXTS if not (SIMULATED and name.startswith("text of"))]


every_text = pytest.mark.parametrize(
    ("name", "sampled"), covered(itertools.product(FEW, NAMES), set if SIMULATED else pairs), ids=str
)


@every_text
def test_the_bytes_of_the_cpu(name, sampled, both):
    contigs, (k, w) = TEXTS[name], sampled
    sequences = long_enough(reads_of(contigs), k + w - 1)
    if SIMULATED:
        sequences = sequences[:: len(sequences) // 30 + 1]
    index = in_memory(contigs, k, w)
    assert both(index, sequences).hits == n_naive(contigs, sequences)
    for policy in sorted(POLICIES)[len(name) % 4 :: 4] if SIMULATED else POLICIES:
        both(index, sequences, POLICIES[policy], kind="tsv")
    if not SIMULATED:
        for strands, which in ((FORWARD, naive.FORWARD), (REVERSE, naive.REVERSE)):
            assert both(index, sequences, strands=strands).hits == n_naive(contigs, sequences, (which,))


def test_any_reads_of_any_reference(both):
    """Blocks, units, palindromes and N in any order, and reads that begin in one and end in another."""
    rng = random.Random("any")
    for trial in range(2 if SIMULATED else 60):
        k, w = rng.choice([3, 5, 7, 9]), rng.randrange(1, 9)
        pieces = [random_letters(rng.randrange(1, 40), f"{trial} {i}") for i in range(6)]
        pieces += [piece + naive.reverse_complement(piece) for piece in pieces[:2]]
        pieces += [piece[: rng.randrange(1, 6)] * rng.randrange(1, 60) for piece in pieces[2:4]]
        pieces += ["N", "NN", "A" * 50, "T" * 33]
        contigs = numbered("".join(rng.choices(pieces, k=5)) for _ in range(3))
        joined, sequences = "".join(sequence for _, sequence in contigs), []
        for _ in range(12 if SIMULATED else 200):
            start = rng.randrange(len(joined))
            sequences.append(joined[start : start + rng.randrange(k + w - 1, k + w + 70)])
        sequences = long_enough([*sequences, *map(naive.reverse_complement, sequences)], k + w - 1)
        assert both(in_memory(contigs, k, w), sequences).hits == n_naive(contigs, sequences)


def test_reads_with_many_rows(both):
    """Buckets that a thread looks at, that a warp looks at, and that binary search narrows."""
    unit, n = random_letters(60, "many"), 1 if SIMULATED else 50
    contigs = numbered([unit * 20 * n, "A" * 700 * n + "C", "ACCT" * 40, "A" * 30 + "N" + unit, "A" * 20])
    units = [(unit * 3)[start : start + 70] for start in range(0, 60, 20)]
    sequences = [
        *units,
        "A" * 30,
        "A" * 300,
        "A" * 30 + "C",
        "C" + "T" * 40,
        "ACCT" * 7,
        "A" * 29 + "G",
        "T" * 21,
    ]
    sequences += [(unit * 9)[start : start + 400] for start in (0, 7)]
    for k, w in ((5, 4), (9, 12)):
        assert both(in_memory(contigs, k, w), sequences).hits == n_naive(contigs, sequences)


def test_equal_reads_with_many_rows(both):
    """More of them than a warp has threads, so that later ones take what earlier ones found."""
    contigs = numbered(["A" * 400, "C" + "T" * 80 + "G"])
    for strands in (BOTH, REVERSE):
        sequences = ["A" * 30] * 50 + ["T" * 30] * 20 + ["A" * 31, "A" * 29 + "C"]
        found = both(in_memory(contigs, 5, 4), sequences, POLICIES["first"], strands)
        assert found.mapped == len(sequences) - 1


def test_different_reads_with_very_many_rows(both, monkeypatch):
    """Some stand where others are looked for, or find no slot at all, and are looked up by themselves."""
    units = ["A", "C", "AC", "AAC", "ACCT"]
    if SIMULATED:
        for name, few in (("_SLOTS", 1), ("_ROWS_OF_WARP", 20), ("_WARPS_OF_READ", 2)):
            monkeypatch.setattr(gpu_sparse, name, few)
        units = ["A", "AC"]
    n, most = (40, 2) if SIMULATED else (20_000, 30)
    contigs = numbered([unit * n + "G" for unit in units])
    sequences = [(unit * 20)[start : start + 12] for unit in units for start in range(len(unit))]
    sequences += [(units[-1] * 100)[: 12 + size] for size in range(1, most)]
    sequences = 2 * [*sequences, *map(naive.reverse_complement, sequences)]
    found = both(in_memory(contigs, 5, 4), sequences, POLICIES["first"], by_gpu=False)
    assert found.mapped == found.reads


def test_shorter_reads_are_left_to_the_cpu(tmp_path, on_cpu):
    contigs = numbered([random_letters(300, "short")])
    sequences = [contigs[0][1][i : i + n] for i, n in enumerate((40, 9, 36, 35))]
    (tmp_path / "reads").write_bytes(cases.fastq((f"r{i}", x) for i, x in enumerate(sequences)))
    index, said = in_memory(contigs, 21, 16, "bvsfm-k2-d96"), []
    progress = Progress(quiet=True)
    progress.say = said.append
    output = SearchOutput(str(tmp_path / "hits"))
    summary = workflow.search(index, [tmp_path / "reads"], MapOptions(), output, progress, devices.GPU)
    assert (summary.mapped, on_cpu[-1].n_bound) == (4, 4)
    assert "reads shorter than 36 bases are searched on the CPU" in said
    with pytest.raises(
        UnsupportedError, match="r1 has 9 bases, but this index finds only sequences of 36 bases or more"
    ):
        workflow.search(
            in_memory(contigs, 21, 16), [tmp_path / "reads"], MapOptions(), output, device=devices.GPU
        )
