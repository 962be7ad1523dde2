"""Whole runs of fmx search, timed: fmx bench map, pairs, modes, library and stages."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import click

from .. import options, workflow
from ..index.fm_index import load
from ..input.reads import parse
from ..input.spans import plan, read_chunks
from ..input.streams import whole_output
from ..machines.places import at_once
from ..machines.progress import Clock, Progress, Timed
from ..measure import timing
from ..options import find_index
from ..search.mappers import compile_all, make_mappers, map_spans
from ..search.mapping import MapOptions, Observers, least_bases
from .files import work_folder, write_pairs, write_plain, write_reads
from .options import compared, count, length, only, require, runs, show, show_machine, work

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
@count("--simulate", default=None, help="Instead of READS, simulate N error-free reads of REFERENCE.")
@length
@click.option(
    "--changed",
    type=options.Number(0.0, 1.0, float),
    default=0.0,
    metavar="X",
    help="Replace a fraction X of the bases of simulated reads.",
)
@options.mismatches
@click.option(
    "--peer", "peers", type=click.Choice(PEERS), multiple=True, default=["bowtie"], show_default=True,
    help="Tool to compare with: bowtie -v 0 -k 1, bowtie -v 0 -a, yara -e 0; -v follows --mismatches.",
)  # fmt: skip
@runs
@click.option("--gzip", "zipped", is_flag=True, help="Compress the reads with gzip.")
@click.option("--bam", is_flag=True, help="Also time BAM output.")
@click.option(
    "--to", "targets", type=click.Choice(["file", "pipe", "null"]), multiple=True, default=["file"],
    show_default=True, help="Write records to a file, a pipe to cat, or /dev/null. May be repeated.",
)  # fmt: skip
@work
@options.threads
def map_command(**given: Any) -> None:
    """Time fmx and other mappers, side by side.

    Indexes REFERENCE and maps READS with each in turn. Prints medians of the wall time of whole commands. Put
    --work on a RAM disk: it holds reads, indexes and outputs. Writing to a RAM disk takes time, too.
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
        if given["zipped"]:
            timing.run(["gzip", "-kf1", reads])
            reads = folder / "reads.fq.gz"
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


# fmx bench pairs: the cost of pairing, compared with single reads and with bowtie's pairs.

INSERT = 300  # bases of a simulated fragment
MOST = 500


@click.command(cls=options.Command)
@click.argument("reference", type=click.Path(exists=True))
@click.argument("mates", nargs=-1, type=click.Path(exists=True), metavar="[R1 R2]")
@count("--simulate", default=None, help="Instead of R1 and R2, simulate N error-free pairs of REFERENCE.")
@length
@runs
@click.option("--bowtie", is_flag=True, help="Also time bowtie -v 0.")
@work
@options.threads
def pairs_command(reference: str, mates: tuple[str, ...], **given: Any) -> None:
    """Time fmx search of pairs.

    Maps mates as single reads and as pairs, in turn, to a file. Prints medians of the wall time of whole
    commands. Put --work on a RAM disk.
    """
    simulate, threads, bowtie = given["simulate"], given["threads"], given["bowtie"]
    if bool(simulate) == bool(mates) or len(mates) not in (0, 2):
        raise click.UsageError("give R1 and R2, or --simulate N")
    require(["bowtie"] if bowtie else [])
    with work_folder(given["work"]) as folder:
        fasta, reads = write_plain([reference], folder / "reference.fa"), (folder / "1.fq", folder / "2.fq")
        if simulate:
            write_pairs(fasta, simulate, (given["length"], INSERT), reads)
        else:
            for path, target in zip(mates, reads, strict=True):
                write_plain([path], target)
        index, out = folder / "fmx.fmx", ["-o", folder / "out.sam"]
        timing.run(timing.fmx_command("index", "-q", "-t", threads, fasta, "-o", index))
        search = timing.fmx_command("search", "-q", "-t", threads, "-x", index, *out)
        as_mates = ["-1", reads[0], "-2", reads[1]]
        commands = {"single reads": [*search, *reads], "pairs": [*search, *as_mates]}
        if bowtie:
            timing.run(["bowtie-build", "-q", "--threads", threads, fasta, folder / "bowtie"])
            search = ["bowtie", "-v", "0", "-S", "-k", "1", "-p", threads, "-x", folder / "bowtie"]
            commands["bowtie -v 0, pairs"] = [*search, "-X", MOST, *as_mates, folder / "bowtie.sam"]
        show_machine(threads, given["n_runs"])
        show(compared("map", timing.medians_of_commands(commands, given["n_runs"]), "single reads"))


# fmx bench modes: the time of each way of mapping, compared with bowtie, and its slowest stage.


class Mode(NamedTuple):
    """Options of fmx search and of bowtie that request the same hits, and the reads for them.

    Reads have ``length`` bases, a fraction ``changed`` of which is replaced; there is one in ``fewer`` of
    --reads.
    """

    fmx: str
    bowtie: str
    length: int = 100
    changed: float = 0.0
    fewer: int = 1
    is_paired: bool = False


_BEST = "-a --best --strata"
_ONE, _TWO = "--mismatches 1 -a --strata", "--mismatches 2 -a --strata"
MODES = {
    "exact": Mode("", "-v 0 -k 1"),
    "exact-a": Mode("-a", "-v 0 -a"),
    "pairs": Mode("", f"-v 0 -k 1 -X {MOST}", is_paired=True),
    "pairs-a": Mode("-a", f"-v 0 -a -X {MOST}", is_paired=True),
    "one": Mode(_ONE, f"-v 1 {_BEST}"),
    "two": Mode(_TWO, f"-v 2 {_BEST}"),
    "one-changed": Mode(_ONE, f"-v 1 {_BEST}", changed=0.01),
    "two-changed": Mode(_TWO, f"-v 2 {_BEST}", changed=0.01),
    "one-k1": Mode("--mismatches 1", "-v 1 -k 1"),
    "two-k1": Mode("--mismatches 2", "-v 2 -k 1"),
    "guides": Mode(_ONE, f"-v 1 {_BEST}", length=20, changed=0.02, fewer=20),
    "small-rna": Mode(_ONE, f"-v 1 {_BEST}", length=22, changed=0.02, fewer=20),
}


@click.command(cls=options.Command)
@click.argument("reference", type=click.Path(exists=True))
@count("--reads", "n_reads", default="500000", help="Simulated reads, or pairs, of REFERENCE.")
@only("--mode", "modes", MODES, "mode")
@runs
@click.option("--bowtie", is_flag=True, help="Also time bowtie.")
@work
@options.threads
def modes_command(reference: str, **given: Any) -> None:
    """Time fmx search mode by mode.

    Maps simulated reads of REFERENCE exactly, with mismatches, and as pairs, as SAM to a pipe. Prints medians
    of whole commands, and the stage in which the threads spend most of the time.
    """
    threads, bowtie = given["threads"], given["bowtie"]
    require(["bowtie"] if bowtie else [])
    with work_folder(given["work"]) as folder:
        fasta = write_plain([reference], folder / "reference.fa")
        timing.run(timing.fmx_command("index", "-q", "-t", threads, fasta, "-o", folder / "fmx.fmx"))
        if bowtie:
            timing.run(["bowtie-build", "-q", "--threads", threads, fasta, folder / "bowtie"])
        show_machine(threads, given["n_runs"])
        show([_mode_row(name, fasta, folder, given) for name in given["modes"] or MODES])


def _mode_row(name: str, fasta: Path, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Time a mode and return its row of the table."""
    mode, threads = MODES[name], given["threads"]
    n, paths = max(given["n_reads"] // mode.fewer, 1), (folder / "1.fq", folder / "2.fq")
    if mode.is_paired:
        write_pairs(fasta, n, (mode.length, INSERT), paths)
        reads = ["-1", paths[0], "-2", paths[1]]
    else:
        write_reads(fasta, n, mode.length, paths[0], changed=mode.changed)
        reads = [paths[0]]
    search = timing.fmx_command(
        "search", "-q", "-t", threads, *mode.fmx.split(), "-x", folder / "fmx.fmx", *reads
    )
    commands = {"fmx": [*PIPED, *search]}
    if given["bowtie"]:
        bowtie = ["bowtie", "-S", "-p", threads, *mode.bowtie.split(), "-x", folder / "bowtie"]
        commands["bowtie"] = [*PIPED, *bowtie, *reads]
    found, report = timing.medians_of_commands(commands, given["n_runs"]), folder / "run.json"
    timing.run([*search, "-o", os.devnull, "--report", report])
    stages = json.loads(report.read_text())["stages"]["CPU"]
    own, most = found["fmx"], max(stages, key=stages.__getitem__)
    row = {"mode": name, "fmx search": mode.fmx, "reads": n * (1 + mode.is_paired), "wall s": own.wall}
    row |= {"CPU s": own.cpu, "reads/s": row["reads"] / own.wall}
    row |= {"most in": f"{most}, {stages[most]:.2f} s"}
    if given["bowtie"]:
        other = found["bowtie"]
        row |= {"bowtie": mode.bowtie, "its wall s": other.wall, "its CPU s": other.cpu}
        row |= {"times, wall": other.wall / own.wall, "times, CPU": other.cpu / own.cpu}
    return row


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

    Searches and counts the same reads as a FASTQ file, and as str and bytes in lists and a dict, in turn, in
    one process. Prints medians.
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


# fmx bench stages: the time of a whole search, stage by stage, with all its threads.
#
# The stages are those of ``fmx search``; each adds up the seconds that threads spend in it. The work of a GPU
# while they wait in SEARCH and LOCATE is listed after them, by its own clock.


def timed(clock: Clock, source: Iterable) -> Iterator:
    """Yield the spans of a source and time how long they take to make: a stream is read meanwhile."""
    source = iter(source)
    while True:
        with clock.timed("read"):
            span = next(source, None)
        if span is None:
            return
        yield span


def stage_table(spent: Mapping[str, float], wall: float, n_threads: int) -> list[tuple[str, float, float]]:
    """Return a row (stage, seconds, fraction) for each stage: main thread, workers, and idle time."""
    workers = dict(sorted(spent.items()))
    main = {"write": workers.pop("write", 0.0)}
    main["wait"] = max(0.0, wall - main["write"])
    workers["idle"] = max(0.0, n_threads * wall - sum(workers.values()))
    rows = [(f"main: {stage}", seconds, seconds / wall) for stage, seconds in main.items()]
    return rows + [(stage, seconds, seconds / wall / n_threads) for stage, seconds in workers.items()]


@options.command
@click.argument("files", nargs=-1, required=True, metavar="READS")
@options.index
@click.option("-o", "--output", default=os.devnull, show_default=True, help="Write records to FILE.")
@click.option("--bam", is_flag=True, help="Map to BAM instead of SAM.")
@options.layout
@options.method
@options.engine
@options.gpus
@options.gpu_memory
@options.threads
def stages_command(given: SimpleNamespace) -> None:
    """Time fmx search stage by stage.

    Maps READS as fmx search does, to SAM or BAM, and prints the seconds of all threads by stage.
    """
    threads, clock = given.threads, Clock()
    fm_index = load(find_index(given.index_path), given.layout, given.method, threads)
    where, wanted = options.device_of(given), MapOptions(n_threads=threads)
    writer, _ = workflow.make_writer(
        fm_index.reference, workflow.SearchOutput(workflow.RecordOutput(kind="bam" if given.bam else "sam"))
    )
    mappers = make_mappers(fm_index, wanted, where, Progress(quiet=True), writer, Observers(clock=clock))
    compile_all(at_once(mappers), writer, any_length=least_bases(fm_index) == 0)
    sessions = [session for mapper in mappers for session in mapper.sessions]
    n_threads = sum(mapper.options.n_threads for mapper in mappers)
    for one in (clock, *(session.clock for session in sessions)):
        one.seconds.clear()
    start = time.perf_counter()
    with whole_output(given.output) as file:
        size = min(mapper.options.chunk_size for mapper in mappers)
        source = timed(clock, plan(given.files, size, n_threads=n_threads))
        summary = map_spans(mappers, source, writer, Timed(clock, file))
    wall = time.perf_counter() - start
    for stage, seconds, share in stage_table(clock.seconds, wall, n_threads):
        click.echo(f"{stage:16}{seconds:9.3f} s {100 * share:5.1f} %")
    for session in sessions:
        for stage, seconds in session.clock.seconds.items():
            click.echo(f"GPU {session.number}: {stage:9}{seconds:9.3f} s")
    speed = summary.reads / wall / 1e6
    click.echo(f"{summary.reads:,} reads, {threads} threads, {wall:.3f} s, {speed:.2f} M reads/s")
