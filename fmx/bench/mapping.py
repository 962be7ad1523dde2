"""Whole runs of fmx search, timed: fmx bench map, modes and library."""

import json
import os
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from .. import options
from ..input.reads import parse
from ..input.spans import read_chunks
from ..measure import timing
from ..measure.tables import tell
from .files import work_folder, write_pairs, write_plain, write_reads
from .options import compared, count, counts, length, only, require, runs, show, show_machine, work

# fmx bench map: the whole command compared with bowtie and yara: same reads, same threads, warm caches.

# Command lines of a peer to index and to map, with {fasta} {reads} {threads} {prefix}; its output; its name.
_BOWTIE = "bowtie -p {threads} -v {mismatches} -S"
_READS = "-x {prefix} {reads}"
_BOWTIE_BUILD = "bowtie-build -q --threads {threads} {fasta} {prefix}"
PEERS = {
    "bowtie": (_BOWTIE_BUILD, f"{_BOWTIE} -k 1 {_READS}", "{out}", "bowtie -v {mismatches} -k 1"),
    "bowtie-a": (_BOWTIE_BUILD, f"{_BOWTIE} -a {_READS}", "{out}", "bowtie -v {mismatches} -a"),
    "yara": (
        "yara_indexer -o {prefix} {fasta}", "yara_mapper -t {threads} -e 0 {prefix} {reads}",
        "-o {out}", "yara -e 0",
    ),
}  # fmt: skip
PIPED = ["bash", "-o", "pipefail", "-c", '"$@" | cat > /dev/null', "bash"]  # another process reads


@click.command(cls=options.Command)
@click.argument("reference", type=click.Path(exists=True))
@click.argument("reads", nargs=-1, type=click.Path(exists=True))
@count("--simulate", default=None, help="Simulate N error-free reads of REFERENCE instead of reading READS.")
@length
@click.option(
    "--changed", type=options.Number(0.0, 1.0, float), default=0.0, metavar="X",
    help="Replace a fraction X of the bases of simulated reads.",
)  # fmt: skip
@options.mismatches
@click.option(
    "--peer", "peers", type=click.Choice(PEERS), multiple=True, default=["bowtie"], show_default=True,
    help="Mapper to compare with: bowtie (-v 0 -k 1), bowtie-a (-v 0 -a) or yara (-e 0). -v is set to "
    "--mismatches. May be repeated.",
)  # fmt: skip
@runs
@click.option("--bam", is_flag=True, help="Also time writing BAM.")
@click.option(
    "--to", "targets", type=click.Choice(["file", "pipe", "null"]), multiple=True, default=["file"],
    show_default=True, help="Write records to a file, a pipe to cat, or /dev/null. May be repeated.",
)  # fmt: skip
@work
@options.threads
def map_command(**given: Any) -> None:
    """Compare the speed of fmx with that of other mappers.

    Builds an index of REFERENCE and maps READS with each mapper in turn. Prints the median wall time of whole
    commands. Put --work, the folder of reads, indexes and outputs, on a RAM disk; even there, writing takes
    time.
    """
    if bool(given["reads"]) == bool(given["simulate"]):
        raise click.UsageError("give READS or --simulate N")
    if given["mismatches"] and "yara" in given["peers"]:
        raise click.UsageError("yara counts gaps, too: compare --mismatches with bowtie")
    require(dict.fromkeys(line.split()[0] for peer in given["peers"] for line in PEERS[peer][:2]))
    n_runs = given["n_runs"]
    with work_folder(given["work"]) as folder:
        fasta, reads = write_plain([given["reference"]], folder / "reference.fa"), folder / "reads.fq"
        if given["simulate"]:
            n_reads = write_reads(fasta, given["simulate"], given["length"], reads, changed=given["changed"])
        else:
            write_plain(given["reads"], reads)
            n_reads = sum(parse(chunk).length.size for chunk in read_chunks([str(reads)]))
        show_machine(given["threads"], n_runs)
        builds, maps = _commands(fasta, reads, folder, given)
        show(compared("index", timing.medians_of_commands(builds, n_runs), "fmx"))
        for target, commands in maps.items():
            show(compared(f"map to {target}", timing.medians_of_commands(commands, n_runs), "fmx", n_reads))


def _commands(fasta: Path, reads: Path, folder: Path, given: dict[str, Any]) -> tuple[dict, dict]:
    """Return ({name: build command}, {target: {name: map command}})."""
    threads, index = given["threads"], folder / "fmx.fmx"
    builds = {"fmx": timing.fmx_command("index", "-q", "-t", threads, fasta, "-o", index)}
    near = ["--mismatches", given["mismatches"]] if given["mismatches"] else []
    mappers: dict[str, list] = {
        "fmx": timing.fmx_command("search", "-q", "-t", threads, *near, "-x", index, reads)
    }
    naming: dict[str, list] = {"fmx": ["-o", folder / "fmx.sam"]}
    if "bowtie-a" in given["peers"]:
        mappers["fmx -a"], naming["fmx -a"] = [*mappers["fmx"], "-a"], naming["fmx"]
    for build, search_by, to_file, name in (PEERS[peer] for peer in given["peers"]):
        tool = build.split()[0]
        at = {"fasta": fasta, "reads": reads, "threads": threads, "prefix": folder / tool}
        at["mismatches"] = given["mismatches"]
        name = name.format(**at)
        builds[tool] = [word.format(**at) for word in build.split()]
        mappers[name] = [word.format(**at) for word in search_by.split()]
        naming[name] = to_file.format(out=folder / f"{tool}.sam").split()
    maps: dict = {}
    for target in given["targets"]:
        before = PIPED if target == "pipe" else []
        maps[target] = {
            name: [*before, *words, *(naming[name] if target == "file" else [])]
            for name, words in mappers.items()
        }
    if given["bam"]:
        maps.setdefault("file", {"fmx": [*mappers["fmx"], *naming["fmx"]]})
        maps["file"]["fmx to BAM"] = [*mappers["fmx"], "-o", folder / "fmx.bam"]
    return builds, maps


INSERT, MOST = 300, 500  # bases of a simulated fragment, and the most that bowtie allows

# fmx bench modes: the time of each way of mapping, by engine or compared with bowtie, and its slowest stage.


class Mode(NamedTuple):
    """Options of fmx search and of bowtie that request the same hits, and the reads for them.

    Reads have ``length`` bases, or those of --length if that is 0. A fraction ``changed`` of the bases is
    replaced; there is one read in ``fewer`` of --reads.
    """

    fmx: str
    bowtie: str
    length: int = 0
    changed: float = 0.0
    fewer: int = 1
    is_paired: bool = False


_BEST = "-a --best --strata"
_ONE, _TWO = "--mismatches 1 -a --strata", "--mismatches 2 -a --strata"
MODES = {
    "exact": Mode("", "-v 0 -k 1"),
    "exact-a": Mode("-a", "-v 0 -a"),
    "counts": Mode(f"--counts {os.devnull}", "-v 0 -k 1"),
    "collapse": Mode("--collapse", "-v 0 -k 1"),
    "pairs": Mode("", f"-v 0 -k 1 -X {MOST}", is_paired=True),
    "pairs-a": Mode("-a", f"-v 0 -a -X {MOST}", is_paired=True),
    "near-pairs": Mode("--mismatches 1 --strata", f"-v 1 -k 1 -X {MOST}", changed=0.01, is_paired=True),
    "one": Mode(_ONE, f"-v 1 {_BEST}"),
    "two": Mode(_TWO, f"-v 2 {_BEST}"),
    "one-changed": Mode(_ONE, f"-v 1 {_BEST}", changed=0.01),
    "two-changed": Mode(_TWO, f"-v 2 {_BEST}", changed=0.01),
    "two-changed-a": Mode("--mismatches 2 -a", "-v 2 -a", changed=0.01),
    "one-k1": Mode("--mismatches 1", "-v 1 -k 1"),
    "two-k1": Mode("--mismatches 2", "-v 2 -k 1"),
    "guides": Mode(_ONE, f"-v 1 {_BEST}", length=20, changed=0.02, fewer=20),
    "small-rna": Mode(_ONE, f"-v 1 {_BEST}", length=22, changed=0.02, fewer=20),
}


@click.command(cls=options.Command)
@click.argument("references", nargs=-1, required=True, type=click.Path(exists=True))
@count(
    "--reads", "n_reads", default="500000", help="Number of reads, or pairs, to simulate for each reference."
)
@count("--repeat", "n_files", default="1", help="Map the file of reads N times in each run.")
@counts("--length", "lengths", default=("100",), help="Length of a read, in bases. May be repeated.")
@only("--mode", "modes", MODES, "mode")
@click.option(
    "--engine", "engines", type=click.Choice(["cpu", "cuda", "auto"]), multiple=True, default=["cpu"],
    show_default=True, help="Engine of fmx search. May be repeated.",
)  # fmt: skip
@runs
@click.option("--bowtie", is_flag=True, help="Also time bowtie in each mode.")
@work
@options.threads
def modes_command(references: tuple[str, ...], **given: Any) -> None:
    """Time fmx search mode by mode.

    Simulates reads of each of REFERENCES, and maps them in each mode: exactly, with mismatches, as pairs, and
    others. The output is SAM, to /dev/null. Prints the median wall time of whole commands, and the stages
    that take most of the time of the threads and of a GPU.
    """
    threads, bowtie = given["threads"], given["bowtie"]
    require(["bowtie"] if bowtie else [])
    show_machine(threads, given["n_runs"])
    for path in references:
        with work_folder(given["work"]) as folder:
            fasta = write_plain([path], folder / "reference.fa")
            timing.run(timing.fmx_command("index", "-q", "-t", threads, fasta, "-o", folder / "fmx.fmx"))
            if bowtie:
                timing.run(["bowtie-build", "-q", "--threads", threads, fasta, folder / "bowtie"])
            rows: list[dict] = []
            made: set[Path] = set()
            starts: dict[str, float] = {}
            for name in given["modes"] or MODES:
                mode = MODES[name]
                for length in [mode.length] if mode.length else given["lengths"]:
                    reads = _reads_of(mode, length, fasta, made, given)
                    for engine in given["engines"]:
                        if engine not in starts:
                            one = _search(engine, [_first_read(reads, folder)], folder, given)
                            starts[engine] = timing.best(partial(timing.run, one))
                        search = _search(engine, reads, folder, given)
                        row = {"mode": name, "bases": length, "engine": engine}
                        search += mode.fmx.split()
                        rows.append(tell(row | _mode_row(mode, search, starts[engine], reads, folder, given)))
            click.echo(f"\n{path}")
            show(rows)


def _reads_of(mode: Mode, length: int, fasta: Path, made: set[Path], given: dict[str, Any]) -> list:
    """Return the arguments of a command that name the reads of a mode; ``made``: files that exist."""
    n, start = max(given["n_reads"] // mode.fewer, 1), fasta.parent / f"{length}-{mode.changed}"
    paths = Path(f"{start}-1.fq"), Path(f"{start}-2.fq")
    if mode.is_paired:
        if paths[1] not in made:
            write_pairs(fasta, n, (length, max(INSERT, length)), paths, changed=mode.changed)
            made.update(paths)
        return [word for i in (1, 2) for word in (f"-{i}", ",".join([str(paths[i - 1])] * given["n_files"]))]
    path = Path(f"{start}.fq")
    if path not in made:
        write_reads(fasta, n, length, path, changed=mode.changed)
        made.add(path)
    return [path] * given["n_files"]


def _first_read(reads: list, folder: Path) -> Path:
    """Return a file of the first read of those that ``_reads_of`` names."""
    path = folder / "one.fq"
    with open(str(reads[-1]).partition(",")[0], "rb") as file:
        path.write_bytes(b"".join(islice(file, 4)))
    return path


def _search(engine: str, reads: list, folder: Path, given: dict[str, Any]) -> list:
    """Return the command of fmx that maps reads with default options."""
    where = "-t", given["threads"], "--engine", engine, "-x", folder / "fmx.fmx", "-o", os.devnull
    return timing.fmx_command("search", "-q", *where, *reads)


def _mode_row(
    mode: Mode, search: list, start: float, reads: list, folder: Path, given: dict[str, Any]
) -> dict[str, Any]:
    """Time a mode, a command ``search`` and bowtie, and return its cells; ``start``: seconds for one read."""
    report = folder / "run.json"
    timing.run([*search, "--report", report])
    facts, commands = json.loads(report.read_text()), {"fmx": search}
    if given["bowtie"]:
        files = [",".join(map(str, reads))] if not mode.is_paired else reads
        bowtie = ["bowtie", "-S", "-p", given["threads"], *mode.bowtie.split(), "-x", folder / "bowtie"]
        commands["bowtie"] = [*bowtie, *files]
    found = timing.medians_of_commands(commands, given["n_runs"])
    own, n = found["fmx"], facts["counts"]["reads"]
    stages = {place: _without_tally(own, mode) for place, own in facts["stages"].items()}
    most = {place: max(own, key=own.__getitem__) for place, own in stages.items() if own}
    row: dict[str, Any] = {"fmx search": mode.fmx, "reads": n, "wall s": own.wall, "CPU s": own.cpu}
    mapping = own.wall - start
    row |= {"reads/s": n / own.wall, "without start": n / mapping if mapping > start / 10 else None}
    row["most in"] = "; ".join(
        f"{stage}, {stages[place][stage]:.2f} s{'' if place == 'CPU' else ' of a GPU'}"
        for place, stage in most.items()
    )
    if given["bowtie"]:
        other = found["bowtie"]
        row |= {"bowtie": mode.bowtie, "its wall s": other.wall, "its CPU s": other.cpu}
        row |= {"times, wall": other.wall / own.wall, "times, CPU": other.cpu / own.cpu}
    return row


def _without_tally(stages: dict[str, float], mode: Mode) -> dict[str, float]:
    """Return the seconds by stage, without counting hits, which only the report needs."""
    return {name: seconds for name, seconds in stages.items() if name != "tally" or "counts" in mode.fmx}


# fmx bench library: reads that a Python program passes as a list or a dict, compared with a file.


@click.command(cls=options.Command)
@click.argument("reference", type=click.Path(exists=True))
@count("--simulate", default="1M", help="Simulate N error-free reads of REFERENCE.")
@length
@runs
@work
@options.threads
def library_command(**given: Any) -> None:
    """Time the Python library.

    Passes the same reads to search and count as a FASTQ file, as lists of str and of bytes, and as a dict, in
    turn. Prints median times.
    """
    from ..library.functions import from_sequences

    index = from_sequences(given["reference"], threads=given["threads"])
    with work_folder(given["work"]) as folder:
        path = folder / "reads.fq"
        write_reads(given["reference"], given["simulate"], given["length"], path)
        lines = path.read_text().split("\n")
        names, letters = [line[1:] for line in lines[0:-1:4]], lines[1::4]
        ways: dict[str, Any] = {
            "FASTQ": path, "list of str": letters, "list of bytes": [each.encode() for each in letters],
            "dict of str": dict(zip(names, letters, strict=True)),
        }  # fmt: skip
        show_machine(given["threads"], given["n_runs"])
        for ask in (index.search, index.count):
            calls = {name: partial(timing.call, ask, reads) for name, reads in ways.items()}
            found = timing.medians(calls, given["n_runs"])
            show(compared(f"{ask.__name__}: reads as", found, "FASTQ", given["simulate"]))
