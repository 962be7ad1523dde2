"""The small references that cases use, their indexes, and reads that ask something of them."""

import random
from pathlib import Path

import cases
import naive
import workflow

from fmx.index import layouts

FOLDER = "../world"  # as cases see it


def _contigs() -> list:
    rng = random.Random("world")
    unit = "".join(rng.choices("ACGT", k=60))
    first = "".join(rng.choices("ACGT", k=150)) + unit + "".join(rng.choices("ACGT", k=30))
    return [
        ("chr1", first),
        ("two|b", unit + "NNN" + naive.reverse_complement(unit)[7:] + "RY" + "AC" * 12),
        ("c", "acgTTGUA" + unit[20:50].lower()),
        ("d.1", "A"),
    ]


CONTIGS = _contigs()
SEVERAL = ["bvsfm-k2-d96", *(str(layouts.parse_name(family, 400)) for family in layouts.REGISTRY)]
INDEXES = {  # name -> what it is built with
    "whole.fmx": {"with_lcp": True},
    "sampled.fmx": {"layouts": list(dict.fromkeys(SEVERAL)), "sa_rate": 3},
    "parts.fmx": {"part_size": 300, "layouts": SEVERAL[:1]},
}


def make(folder: Path) -> None:
    """Build the reference's indexes in a folder."""
    folder.mkdir()
    for name, how in INDEXES.items():
        workflow.build_index(cases.fasta(CONTIGS), folder / name, workflow.IndexOptions(**how))


def files_of(folder: Path, name: str) -> dict:
    """The files of an index, {name with its folder: bytes}."""
    index = folder / name
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(index.rglob("*"))
        if path.is_file()
    }


def ways(rng, name: str) -> list:
    """Options that choose how an index is searched."""
    if name == "whole.fmx":
        return rng.choice([[], [], ["--method", "verify"], ["--method", "backward"]])
    if name == "sampled.fmx":
        return rng.choice([[], ["--layout", rng.choice(INDEXES[name]["layouts"])]])
    return rng.choice([[], ["--method", "backward"]])


def searching(rng) -> list:
    """Options for an index, how it is searched, and threads."""
    name = rng.choice(["whole.fmx", "whole.fmx", "sampled.fmx", "parts.fmx"])
    return ["-q", "-x", f"{FOLDER}/{name}", *ways(rng, name), "-t", str(rng.choice([1, 1, 2]))]


def sequences(rng, n: int, longest=45, others="") -> list:
    """Reads from the reference, on both strands, some changed or free, some letters from ``others``."""
    found = []
    for _ in range(n):
        source = rng.choice(CONTIGS[:3])[1]
        start = rng.randrange(len(source))
        read = source[start : start + rng.randrange(1, longest)]
        kind = rng.randrange(6)
        if kind == 0:
            read = naive.reverse_complement(read)
        elif kind == 1:
            i = rng.randrange(len(read))
            read = read[:i] + rng.choice("ACGTN") + read[i + 1 :]
        elif kind == 2:
            read = "".join(rng.choices("ACGT", k=rng.randrange(1, 12)))
        letters = list(read)
        for _ in range(rng.randrange(4) if others else 0):
            letters[rng.randrange(len(letters))] = rng.choice(others)
        found.append("".join(letters))
    return found


def fastq(rng, n: int, others="") -> bytes:
    """Records with qualities that may start with any letter, '@' and '+' too."""
    records = []
    for i, read in enumerate(sequences(rng, n, others=others)):
        qualities = "".join(rng.choices("@+>!~IJ#", k=len(read)))
        plus = rng.choice(["+", "+", f"+r{i}"])
        records.append(f"@r{i}{rng.choice(['', '', ' 1:N:0', '/1'])}\n{read}\n{plus}\n{qualities}\n")
    return "".join(records).encode()


def fasta(rng, n: int, longest=45, others="") -> bytes:
    """The same as FASTA, in lines of some length."""
    records = [(f"r{i}", read) for i, read in enumerate(sequences(rng, n, longest, others))]
    return cases.fasta(records, rng.choice([0, 0, 7, 20]))


def reference(rng) -> bytes:
    """A reference of a few contigs."""
    contigs = [(f"k{i}", sequence) for i, sequence in enumerate(sequences(rng, rng.randrange(1, 6), 80))]
    return cases.fasta(contigs, rng.choice([0, 13]))
