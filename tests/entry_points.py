"""Writes entry_points.txt and kernels.txt of fmx/compiler/: runs commands, and notes what they compile.

Kernels are those that the CUDA simulator meets, on tiny data.

python -m tests.entry_points, or make entry-points.
tests/compiler/test_entries.py checks that they are whole.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fmx.compiler import ahead

sys.path.append(str(Path(__file__).parent))  # as in the tests
from output_of import bgzf

ROOT = Path(__file__).parent.parent
LAYOUTS = [
    *(f"bvsfm-k{k}-d{d}" for k in (1, 2, 3) for d in (64, 96, 224)),
    *(f"sampled-k1-d{d}" for d in (64, 192, 448, 960)),
    *(f"kstep-k2-d{d}" for d in (64, 192, 448)),
    *(f"kstep-k3-d{d}" for d in (63, 189, 336)),
    *(f"alternate-k{k}-d{d}" for k in (1, 2) for d in (64, 192, 448)),
    "alternate-k1-d960",
    "cofi-k4",
    "cofi-k8",
]
KINDS = ("sam", "bam", "tsv", "paf", "bed", "parquet")
USUAL = [  # those of README.md, and their most common variants
    "index lambda.fa -o plain.fmx",
    "search -x l.fmx reads.fq -o out.sam",
    "locate -x l.fmx -p GATTACA",
    "mem -x l.fmx reads.fa",
    "pairwise reads.fa",
    "count -l library.csv reads.fq",
    "offtargets -l library.csv lambda.fa",
    "index twice.fa -o twice.fmx",
    "search -x l.fmx reads.fq.gz -o out.bam",
    "search -x l.fmx many.fq.gz -t 4 -o out.bam",
    "search -x l.fmx reads.fq -a -o out.sam",
    "search -x l.fmx reads.fq -a --mismatches 1 --strata -o out.sam",
    "search -x l.fmx --collapse -a --mismatches 1 --strata reads.fq.gz -o out.bam --counts counts.tsv",
    "search -x l.fmx -x twice.fmx reads.fq.gz --un out.fq.gz",
    "search -x l.fmx --min-match 31 reads.fq.gz --un out.fq.gz",
    "search -x l.fmx -x twice.fmx --length 50 --mismatches 2 reads.fq.gz --un out.fq.gz",
    "search -x l.fmx -1 reads.fq.gz -2 mates.fq.gz -o out.bam",
    "locate -x l.fmx -p GATTACA --mismatches 1",
    "count -l library.csv reads.fq.gz many.fq.gz -o counts.tsv",
    "mem -x l.fmx -b -l 25 reads.fa",
]
OTHERS = [
    "index lambda.fa -o lcp.fmx --with-lcp",
    "index lambda.fa -o sparse.fmx --sa-rate 8",
    "index lambda.fa.gz -o gz.fmx",
    "index repeats.fa -o repeats.fmx",
    *(f"index lambda.fa -o {layout}.fmx --layout {layout}" for layout in LAYOUTS),
    *(f"search -x {layout}.fmx --layout {layout} reads.fq -o out.sam" for layout in LAYOUTS),
    *(f"search -x {layout}.fmx --layout {layout} reads.fq -a -o out.sam" for layout in LAYOUTS[:1]),
    "index lambda.fa -o rate.fmx --sa-rate 8 --layout bvsfm-k2-d96",
    "search -x rate.fmx reads.fq -o out.sam",
    "index lambda.fa -o minimizers.fmx --layout sparse",
    *(f"search -x minimizers.fmx reads.fq -o out.{kind}" for kind in KINDS),
    "search -x minimizers.fmx reads.fq -a --counts counts.tsv -o out.sam",
    "search -x minimizers.fmx reads.fq -k 3 --seed 7 -o out.sam",
    "search -x minimizers.fmx -1 reads.fq -2 mates.fq -o out.sam",
    "search -x minimizers.fmx reads.fq --mismatches 1 -o out.sam",
    "mem -x minimizers.fmx -l 40 --mum reads.fa",
    "search -x minimizers.fmx --min-match 36 reads.fq",
    "search -x l.fmx --min-match 31 reads.fq --counts counts.tsv",
    "search -x l.fmx --min-match 31 -1 reads.fq -2 mates.fq",
    "index repeats.fa -o heavy.fmx --layout sparse",
    "index lambda.fa -o both.fmx --layout sparse,bvsfm-k2-d96",
    "search -x both.fmx reads.fq --trim5 70 -o out.sam",
    "index lambda.fa repeats.fa -o two.fmx",
    *(f"search -x l.fmx {reads} -o out.sam"
      for reads in ("reads.fa", "reads.fq.gz", "reads.bgzf.gz", "many.fq.gz -t 4")),
    *(f"search -x l.fmx {reads} -o out.{kind}" for kind in KINDS for reads in (
        "reads.fq", "reads.fq --mismatches 1", "reads.fq --mismatches 2", "-1 reads.fq -2 mates.fq",
    )),
    *(f"search -x l.fmx reads.fq -o out.sam {more}" for more in (
        "-a", "-k 3 --seed 7", "-m 2 --no-unmapped --tags NH,MD,NM", "--trim5 2 --trim3 2 --min-length 10",
        "--collapse", "--al al.fq --un un.fq", "--counts counts.tsv --report run.json",
        "-x repeats.fmx --counts counts.tsv", "--mismatches 2 --strata", "--mismatches 1 --report run.json",
    )),
    *(f"search -x l.fmx -1 reads.fq -2 mates.fq -o out.sam {more}"
      for more in ("--counts counts.tsv", "--mismatches 1 --strata", "--report run.json")),
    "search -x l.fmx -1 reads.fq.gz -2 mates.fq.gz -o out.sam",
    *(f"search -x l.fmx -x plain.fmx reads.fq{more}" for more in ("", " --al {target}.fq")),
    "search -x bvsfm-k2-d224.fmx --layout bvsfm-k2-d224 reads.fq --mismatches 1 -o out.sam",
    *(f"search -x two.fmx reads.fq -o out.sam {more}" for more in (
        "--counts counts.tsv --counts-by group", "-a --counts counts.tsv --counts-by group",
        "--al {target}.fq",
    )),
    *(f"locate -x l.fmx -p GATTACA --format {kind}{more}"
      for kind in ("sam", "tsv", "bed") for more in ("", " --mismatches 1")),
    *(f"locate -x l.fmx {more}" for more in (
        "reads.fa", "-p GATNACA --iupac", "--pairs primers.tsv", "--pairs primers.tsv --format fasta",
        "--pairs primers.tsv --mismatches 1",
    )),
    *(f"locate -x two.fmx -p GATTACA --matrix counts{more}"
      for more in ("", " -o out.npz", " -o out.npz --mismatches 1")),
    *(f"mem -x l.fmx reads.fa --format {kind}" for kind in ("mummer", "sam", "tsv", "paf", "bed")),
    *(f"mem -x l.fmx reads.fa {more}" for more in ("-b -l 12", "--mum", "--mumreference")),
    "mem -x lcp.fmx reads.fa --algorithm mummergpu",
    *(f"pairwise reads.fa {more}" for more in (
        "--format paf", "--cigar", "--id 0.5", "--matrix identity -o out.npz", "--no-prefilter",
    )),
    *(f"count -l library.csv {more}" for more in (
        "--mismatches 1 reads.fq", "--anywhere --min-quality 5 reads.fq", "-1 reads.fq -2 mates.fq",
    )),
    "offtargets -l library.csv l.fmx",
    "index twice.fa -o twice.fmx",
    "index --add plain.fmx --layout kstep-k2-d64",
]  # fmt: skip
LIBRARY = """
import fmx
reads = ["ACGTTGCA" * 4, "GATTACA"]
with fmx.open("l.fmx") as index:
    for found in (
        index.search("reads.fq"), index.search(reads), index.search(reads, mismatches=1),
        index.search_pairs("reads.fq", "mates.fq"), index.locate(reads),
        index.mem("reads.fa"), index.mem(reads),
    ):
        [names[:] for names in found.names.values()]
    index.count(reads)
fmx.from_sequences({"a": "ACGT" * 50}).locate(["ACGT"])
fmx.pairwise("reads.fa")
"""
ON_GPU = [
    "index tiny.fa -o t.fmx",
    "index tiny.fa -o many.fmx --layout bvsfm,sampled,kstep-k2-d64,cofi-k4 --sa-rate 4",
    *(f"search -x t.fmx few.fq -o out.{kind}" for kind in KINDS),
    "search -x t.fmx few.bgzf.gz -o out.bam",
    "search -x t.fmx few.fq -k 9999 --counts counts.tsv -o out.sam",
    "search -x t.fmx -1 few.fq -2 few.fq.gz -o out.sam",
    "search -x t.fmx -1 few.fq -2 few.fq.gz -o out.bam",
    "search -x t.fmx few.fq --report run.json -o out.sam",
    "search -x many.fmx few.fq -o out.sam",
    "search -x many.fmx --layout sampled few.fq -o out.bam",
    "search -x minimizers.fmx few.fq -o out.sam",
    "index tiny.fa -o lcp.fmx --with-lcp",
    "mem -x lcp.fmx --algorithm mummergpu few.fa",
]
# What commands, or a program of LIBRARY, note of each function: its name, kB of code, and the modules of
# contracts' bodies.
PROGRAM = """
import json, sys
from fmx.cli import main
from fmx.compiler import functions, piece, object_cache
code, found = functions.Compiled.code, []

def note(compiled, kinds):
    made = code(compiled, kinds)
    nodes = piece.texts_of(compiled.function, kinds)
    bodies = {contract.bodies[cls].__module__ for contract, cls in (n for n in nodes if isinstance(n, tuple))}
    name, size = object_cache.plain_name(compiled.function, kinds), -(-len(made.body) // 1000)
    found.append([name, size, sorted(bodies)])
    return made

functions.Compiled.code = note
for command in json.load(sys.stdin):
    if exec(command, {}) if "\\n" in command else main.run(command.split()):
        sys.exit(command)
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""
# What commands on the simulator note: the names of kernels, and of functions that Python calls.
ON_GPU_PROGRAM = """
import json, sys, threading
from functools import wraps
from fmx.compiler import functions, native, object_cache
found, called, state = set(), set(), threading.local()

def noting(function):
    @wraps(function)
    def call(*arguments):
        if is_new := not getattr(state, "within", False):
            called.add(object_cache.plain_name(function, native.spread(arguments)[0]))
        state.within = True
        try:
            return function(*arguments)
        finally:
            state.within = not is_new
    return call

functions.compiled = noting
from fmx.cli import main
from fmx.compiler import warp
from ptx import kinds_of

def launch(kernel, how):
    def run(*arguments):
        function = kernel._kernel.fn
        kinds = kinds_of(arguments)
        if not function.__closure__:
            found.add(object_cache.plain_name(function, kinds))
        plain(kernel, how)(*arguments)
    return run

plain, warp.InTurn.__getitem__ = warp.InTurn.__getitem__, launch
for command in json.load(sys.stdin):
    if main.run([*command.split(), "--engine", "cuda"]):
        sys.exit(command)
with open(sys.argv[1], "w") as file:
    json.dump([sorted(found), sorted(called)], file)
"""


def run(commands: list, folder: Path) -> list:
    """[name, size of its code in kB, modules of bodies] of each entry point that commands need."""
    return noted(PROGRAM, commands, folder)


def run_on_gpu(commands: list, folder: Path) -> list:
    """Names of the kernels that commands launch on the simulator, and of the functions that they call."""
    return noted(ON_GPU_PROGRAM, commands, folder, NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1")


def noted(program: str, commands: list, folder: Path, **variables: str) -> list:
    """What a program notes of commands."""
    paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-c", program, "noted.json"], input=json.dumps(commands), cwd=folder, text=True,
        env={**os.environ, "PYTHONPATH": paths, **variables}, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads((folder / "noted.json").read_text())


def make_data(folder: Path) -> None:
    """What the commands read."""
    with gzip.open(ROOT / "fmx/data/lambda.fa.gz", "rt") as stream:
        (folder / "lambda.fa").write_text(stream.read())
    with gzip.open(ROOT / "fmx/data/lambda_reads.fq.gz", "rt") as stream:
        lines = stream.read().splitlines()[:400]
    reads = "\n".join(lines) + "\n"
    guides = sorted({line[:20] for line in lines[1::4]})
    (folder / "reads.fq").write_text(reads)
    bases = (folder / "lambda.fa").read_text().split("\n", 1)[1].replace("\n", "")
    others = [*lines[4:], *lines[:4]]
    mates = (name if i % 4 == 0 else other for i, (name, other) in enumerate(zip(lines, others, strict=True)))
    (folder / "mates.fq").write_text("\n".join(mates) + "\n")
    (folder / "reads.fa").write_text(
        "".join(f">{n[1:]}\n{s}\n" for n, s in zip(lines[:80:4], lines[1:80:4], strict=True))
    )
    (folder / "library.csv").write_text("".join(f"g{i},{s},gene\n" for i, s in enumerate(guides)))
    (folder / "primers.tsv").write_text("one\tGGGCGGCGACCTCGCGGGTT\tACCTGAGCGGCAATAGCTAA\n")
    (folder / "repeats.fa").write_text(">r\n" + "ACGT" * 5000 + "\n")
    (folder / "twice.fa").write_text(f">whole\n{bases}\n>again\n{bases[:500]}\n")
    (folder / "reads.bgzf.gz").write_bytes(bgzf((folder / "reads.fq").read_bytes()))
    many = "".join(
        f"@{i}\n{lines[4 * (i % 100) + 1]}\n+\n{lines[4 * (i % 100) + 3]}\n" for i in range(200_000)
    )
    (folder / "many.fq.gz").write_bytes(gzip.compress(many.encode(), 1))
    for name in ("lambda.fa", "reads.fq", "mates.fq"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    letters = bases[:800]
    few = [(f"r{i}", letters[i : i + 40]) for i in range(0, 400, 80)]
    (folder / "tiny.fa").write_text(f">t\n{letters}\n")
    (folder / "few.fa").write_text("".join(f">{name}\n{bases}\n" for name, bases in few))
    fastq = "".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in few).encode()
    (folder / "few.fq").write_bytes(fastq)
    (folder / "few.fq.gz").write_bytes(gzip.compress(fastq))
    (folder / "few.bgzf.gz").write_bytes(bgzf(fastq))


def functions(folder: Path, on_gpu: list) -> list:
    """Lines of entry_points.txt; ``on_gpu``: functions that are called with a GPU, too."""
    run(["index lambda.fa -o l.fmx"], folder)
    usual = {name: (size, modules) for name, size, modules in run(USUAL, folder)}
    every = usual | {name: (size, modules) for name, size, modules in run([*OTHERS, LIBRARY], folder)}
    for name in set(on_gpu) - every.keys():
        every[name] = size_of(ahead.Entry(0, False, name)), []
    bodies = {module for _, modules in every.values() for module in modules}
    words = {name: "usual" if name in usual else "-" for name in every}
    return [" ".join(sorted(bodies)), *(f"{every[name][0]} {words[name]} {name}" for name in sorted(every))]


def size_of(entry: ahead.Entry) -> int:
    """kB of the code of a kernel (for one kind of GPU), or a function."""
    print(entry.name.split()[0], file=sys.stderr)
    compiled, *what = ahead.function_of(entry)
    return -(-len(compiled.code(*what).body) // 1000)


def main() -> None:
    """Run all commands, and write the lists."""
    with tempfile.TemporaryDirectory() as name:
        make_data(Path(name))
        run(["index tiny.fa -o minimizers.fmx --layout sparse"], Path(name))  # only the CPU builds it
        kernels, called = run_on_gpu(ON_GPU, Path(name))
        ahead.import_bodies()
        ahead.PATH.write_text("\n".join(functions(Path(name), called)) + "\n")
        entries = [ahead.Entry(0, False, kernel, "sm_90") for kernel in kernels]
        ahead.KERNELS.write_text("".join(f"{size_of(entry)} - {entry.name}\n" for entry in entries))


if __name__ == "__main__":
    main()
