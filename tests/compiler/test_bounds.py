"""Every index checked: fmx runs with NUMBA_BOUNDSCHECK=1 over hostile data, and writes the same bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import cases
import naive
import numpy as np
import pytest
from conftest import LAYOUTS, ROOT
from cover import nightly
from output_of import records_in, without_program
from texts import TEXTS, random_letters

from fmx import compiler
from fmx.compiler import primitives, simd
from fmx.compiler.functions import compiled, inlined

SIZE = 64


class Holder(NamedTuple):
    """An array in a tuple, as compiled code passes it."""

    data: Any


@inlined
def _piece(holder, i):
    return primitives.at(holder.data, i)


def write(holder, i):
    holder.data[i] = 1


# What reads or writes at an index, and the last index that it may be given.
CASES = {
    "read": (lambda holder, i: holder.data[i], SIZE - 1),
    "read in a piece": (lambda holder, i: _piece(holder, i), SIZE - 1),
    "write": (write, SIZE - 1),
    "read of a slice": (lambda holder, i: holder.data[8:][i - 8], SIZE - 1),
    "copy from": (lambda holder, i: primitives.copy_bytes(holder.data, 0, holder.data, i, 4), SIZE - 4),
    "copy to": (lambda holder, i: primitives.copy_bytes(holder.data, i, holder.data, 0, 4), SIZE - 4),
    "find": (lambda holder, i: primitives.find_byte(holder.data, np.uint8(9), 3, i), SIZE),
    "load a word": (lambda holder, i: primitives.load_big_endian(holder.data, i), SIZE - 8),
    "load bits": (lambda holder, i: primitives.load_two_bits(holder.data, i), SIZE - 32),
    "load lanes": (
        lambda holder, i: simd.equal_bits(simd.load(holder.data, i), simd.load(holder.data, 0)),
        SIZE - simd.LANES,
    ),
    "store lanes": (
        lambda holder, i: simd.store(holder.data, i, simd.load(holder.data, 0)), SIZE - simd.LANES,
    ),
}  # fmt: skip


def tell_what_is_caught() -> None:
    """For the process of the test: print the functions that refuse the index after their last."""
    holder, caught = Holder(np.zeros(SIZE, np.uint8)), []
    for name, (function, last) in CASES.items():
        run = compiled(function)
        run(holder, last)
        try:
            run(holder, last + 1)
        except IndexError:
            caught.append(name)
    holder.data.flags.writeable = False
    try:
        compiled(write)(holder, 0)
    except Exception as error:  # of numba
        caught.append("read-only" if "Cannot modify readonly array" in str(error) else str(error))
    print(json.dumps(caught))


def run_checked(code, checked=True, **given) -> subprocess.CompletedProcess:
    """A Python program whose compiled code checks its indices, or does not."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)])
    settings = {**os.environ, "PYTHONPATH": paths, "NUMBA_BOUNDSCHECK": str(int(checked))}
    return subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=False, **given
    )


def test_an_overrun_is_caught():
    done = run_checked("import test_bounds; test_bounds.tell_what_is_caught()")
    assert (done.stderr, json.loads(done.stdout)) == ("", [*CASES, "read-only"])
    assert not compiler.CHECKED  # of this process, whose code is not mixed with that


CONTIGS = [
    *((f"{'long' * 50}{i}", sequence) for i, (_, sequence) in enumerate(TEXTS["IUPAC"])),
    *((f"e{i}", sequence) for i, (_, sequence) in enumerate(TEXTS["repeats across separators"])),
    ("poly", "A" * 3000), ("n", "NNNNN"), ("x", "G"), ("random", random_letters(2500, "bounds")),
]  # fmt: skip
WHOLE = [sequence for _, sequence in CONTIGS]


def reads() -> list:
    """(name, letters): whole contigs and their ends on both strands; one letter, none, others."""
    ends = [s for whole in WHOLE for n in (1, 12, 33) for s in (whole[:n], whole[-n:])]
    known = [s for s in [*WHOLE, *ends] if set(s) <= set("ACGT") and len(s) < 2600]
    turned = [naive.reverse_complement(s) for s in known]
    odd = ["", "N", "acgu", "ACGTN", "T" * 40, random_letters(70, "nowhere"), random_letters(9000, "long")]
    named = enumerate([*known, *turned, *odd])
    return [("n" * (254 if i % 7 == 3 else i % 5), s) for i, s in named]


def mixed_fasta(records) -> bytes:
    """Records of lines of odd lengths that end with CR LF, without a line's end after the last."""
    lines = [f">{name} more\r\n" + "\r\n".join([s[:7], s[7:]]) for name, s in records]
    return "\r\n".join(lines).encode()


WAY = ["-q", "-x", "ref.fmx", "-t", "2"]


def backward(names=LAYOUTS[:5]) -> list:
    """Commands for indexes over which reads are searched backward, one of each family of layouts."""
    commands = []
    for layout in names:
        way = ["-q", "-x", f"{layout}.fmx", "-t", "2"]
        commands += [
            ["index", "-q", "ref.fa", "-o", f"{layout}.fmx", "--layout", layout, "--sa-rate", "7"],
            ["search", *way, "r.fq", "-a", "-o", f"{layout}.sam"],
            ["locate", *way, "-p", "A", "-p", "GATTACA", "-o", f"{layout}.tsv"],
        ]
    return commands


def verify() -> list:
    """Commands for an index over which reads are searched by seed and verify."""
    group = ["--rg", r"@RG\tID:" + "g" * 300]
    return [
        ["index", "-q", "ref.fa", "-o", "ref.fmx", "--with-lcp"],
        ["inspect", "--verify", "ref.fmx"],
        ["search", *WAY, "r.fq", "-a", "-o", "all.sam", *group, "--counts", "all.tsv"],
        ["search", *WAY, "r.fa", "-k", "3", "--seed", "5", "-o", "drawn.bam", *group],
        ["search", *WAY, "r.fq", "-m", "9", "--no-unmapped", "-a", "-o", "few.bam"],
        ["locate", *WAY, "r.fq", "-o", "places.tsv"],
        ["locate", *WAY, "r.fa", "--format", "bed", "-o", "places.bed"],
        ["locate", *WAY, "-p", "A", "-p", "T" * 30, "--format", "sam", "-o", "few.sam"],
        ["mem", *WAY, "r.fa", "-l", "15", "--mum", "-b", "-F", "-L", "-o", "mum.out"],
        ["mem", *WAY, "r.fq", "-l", "15", "-b", "--algorithm", "mummergpu", "-o", "lcp.out"],
        ["pairwise", "-q", "s.fa", "--id", "0.5", "--cigar", "-o", "pairs.tsv"],
        ["pairwise", "-q", "s.fa", "s.fa", "--format", "paf", "--cigar", "--no-prefilter", "-o", "pairs.paf"],
        ["pairwise", "-q", "s.fa", "--matrix", "identity", "-o", "matrix.npz"],
        *(
            ["mem", *WAY, "r.fq", "-l", "11", "-b", "--format", kind, "-o", f"mem.{kind}"]
            for kind in ("mummer", "paf", "bed", "tsv", "sam")
        ),
    ]  # fmt: skip


def sparse() -> list:
    """Commands for indexes with a sparse suffix array; in t.fa the last bits of sampled positions are set."""
    return [
        ["index", "-q", "t.fa", "-o", "t.fmx", "--layout", "sparse-k3-w1"],
        ["index", "-q", "ref.fa", "-o", "ref.fmx", "--layout", "sparse-k5-w3,sampled", "-t", "3"],
        ["inspect", "--verify", "ref.fmx"],
        ["search", *WAY, "r.fq", "-a", "-o", "all.sam", "--counts", "all.tsv"],
        ["search", *WAY, "r.fa", "-o", "first.sam"],
        ["locate", *WAY, "-p", "A", "-p", "T" * 30, "--format", "sam", "-o", "few.sam"],
    ]


def few() -> list:
    """A few of these, so that make test compiles little: an index, and the alignments of reads."""
    return [line for line in verify() if line[-1] in ("few.bam", "--with-lcp")]


def written(folder, lines, checked) -> dict:
    """Exit codes of commands, and the bytes of all files that they write, of BAM also the records."""
    folder.mkdir()
    (folder / "ref.fa").write_bytes(cases.fasta(CONTIGS, 61))
    (folder / "t.fa").write_bytes(cases.fasta(TEXTS["one letter T"]))
    (folder / "r.fq").write_bytes(cases.fastq(reads()))
    (folder / "r.fa").write_bytes(mixed_fasta(reads()))
    pairs = [(f"{'s' * (i * 40)}{i}", s) for i, (_, s) in enumerate(reads()) if set(s) <= set("ACGT") and s]
    (folder / "s.fa").write_bytes(cases.fasta(pairs[::2]))
    code = (
        "import json, sys\nfrom fmx.cli.main import run\n"
        "for line in json.load(sys.stdin):\n    sys.argv = ['fmx', *line]\n    print('exit', run(line))"
    )
    done = run_checked(code, checked, input=json.dumps(lines), cwd=folder)
    assert done.stderr.replace("fmx: compiling for this machine (later runs reuse the code) ...\n", "") == ""
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    codes = [line for line in done.stdout.splitlines() if line.startswith("exit ")]
    records = {f"{name}: records": records_in(folder / name) for name in files if name.suffix == ".bam"}
    return {name: without_program(data) for name, data in files.items()} | records | {"codes": codes}


@pytest.mark.parametrize("commands", [few, *map(nightly, (verify, backward, sparse))])
def test_commands_write_the_same_with_every_index_checked(commands, tmp_path):
    lines = commands()
    checked = written(tmp_path / "checked", lines, True)
    assert checked["codes"] == ["exit 0"] * len(lines)
    plain = written(tmp_path / "plain", lines, False)
    differ = [name for name in checked if checked[name] != plain.get(name)]
    assert differ == []
    assert checked == plain
