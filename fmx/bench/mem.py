"""fmx bench mem: maximal exact matches, with the workloads and stages of MUMmerGPU++, compared with mummer.

stages      copy in, match, copy out, post-process of each algorithm and engine (figures 9 and 10), energy
commands    whole commands with a prebuilt index, and mummer minus its time for one query of four bases

On a CPU there is no copying. Matching is ``seek``, post-processing ``collect``. For the algorithm of
MUMmerGPU++ the search for the rows around the found one belongs to post-processing, as in the paper.
"""

import shutil
import time
from collections.abc import Iterable
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from .. import options, workflow
from ..errors import FmxError
from ..index import fm_index
from ..index.fm_index import FMIndex
from ..input import reads
from ..input.spans import read_chunks
from ..machines.jobs import run_all, spans
from ..measure import gpu_timing, tables, timing
from ..measure.texts import random_fasta
from ..mem.matching import ALGORITHMS, TaskSizes
from ..mem.mummergpu import MummerGpu, make_jobs, match_all, subqueries
from ..mem.strands import Matches, Strands, collected, make_strands, seek, some_strands
from ..mem.windows import Seeds
from . import files
from .options import count, only, output, runs, steps_of_gpus, work

STAGES = ("copy in", "match", "copy out", "post-process")


def read_strands(path: Path) -> Strands:
    """Read both strands of all queries of a file."""
    (chunk,) = read_chunks([str(path)], 1 << 32)
    return make_strands(reads.parse(chunk), reads.FORWARD | reads.REVERSE)


def make_matchers(index: FMIndex, algorithm: str, least: int, n_gpus: int, given: dict[str, Any]) -> tuple:
    """Return (matchers of an FMIndex: one on the CPU, or one on each of n_gpus GPUs; place in words)."""
    host = ALGORITHMS[algorithm](index, least)
    if not n_gpus:
        return [host], f"{given['threads']} threads"
    from ..machines.gpu_session import GpuSession
    from ..machines.places import in_words
    from ..mem.pipeline import gpu_matcher

    sessions = [GpuSession(given["device"] + i) for i in range(n_gpus)]
    n_threads = -(-given["threads"] // n_gpus)
    return [session.run(gpu_matcher, host, session, n_threads) for session in sessions], in_words(sessions)


def stage_rows(
    path: Path, work: list, ways: list, given: dict[str, Any], task_size: int = TaskSizes().gpu
) -> list:
    """Return a row for each (initial row, file of queries, their number) and (algorithm, (engine, n_gpus)).

    ``path``: an index with LCP array. ``given`` {option of the command: value}.
    """
    (index,), rows = fm_index.load(path, method="verify").parts, []
    expected: dict = {}
    for about, queries, n_queries in work:
        strands = read_strands(queries)
        for algorithm, (_, n_gpus) in ways:
            matchers, where = make_matchers(index, algorithm, about["least"], n_gpus, given)
            row = about | {"algorithm": algorithm, "engine": where}
            sums = expected.setdefault(queries, {})
            row |= measure(matchers, strands, n_queries, given["threads"], given["n_runs"], sums, task_size)
            rows.append(tables.tell(row))
    return rows


def measure(
    matchers: list, strands: Strands, n_queries: int, n_threads: int, n_runs: int, expected: dict,
    task_size: int = TaskSizes().gpu,
) -> dict:  # fmt: skip
    """Return seconds of each stage in the fastest run, rates, energy, and the number of matches.

    There are n_runs on a CPU. On a GPU there are as many as fit into the time of an energy measurement, or
    one; each uses one thread of the host and the first of the ``matchers``, so that nothing overlaps. "wall"
    is the time of all stages with n_threads threads, which share the queries among all matchers, one per GPU,
    in tasks of ``task_size``.
    ``expected`` {least: sums of the matches} is filled by the first matcher for a least length. Raises
    FmxError if another one finds other matches.
    """
    matcher = matchers[0]
    if not isinstance(matcher, Seeds | MummerGpu):  # on a GPU
        sums = _check(matcher, _on_device(matcher, strands)[1], expected)  # compiles, and allocates buffers
        runs: list = []
        joules, watts = gpu_timing.joules(lambda: runs.append(_on_device(matcher, strands)[0]))
        runs = runs or [_on_device(matcher, strands)[0]]  # no NVML
        n_parts = -(-int(strands.stop.sum()) // (2 * task_size))  # both strands, as in fmx mem
        parts, walls = _parts(strands, n_parts), []
        for _ in range(n_runs + 1):
            wall, found = _together(matchers, parts, n_threads)
            walls.append(wall)
            _check(matcher, found, expected)
    else:
        joules, watts, parts, runs = None, None, _parts(strands, 8 * n_threads), []
        _on_cpu(matcher, parts[:1], 1)
        for _ in range(n_runs):
            times, found = _on_cpu(matcher, parts, n_threads)
            runs.append(times)
            sums = _check(matcher, found, expected)
        walls = [sum(times.values()) for times in runs]
    times, wall = min(runs, key=lambda times: sum(times.values())), min(walls)
    row = {stage: times.get(stage, 0.0) for stage in STAGES} | {"wall": wall}
    row["Mqueries/s matched"] = n_queries / row["match"] / 1e6
    row["Mqueries/s"] = n_queries / wall / 1e6
    return row | {"mJ/query": joules and 1000 * joules / n_queries, "W": watts, "matches": sums[0]}


def _parts(strands: Strands, n: int) -> list:
    return [some_strands(strands, a, b) for a, b in spans(strands.length.size, n)]


def _on_cpu(matcher: Any, parts: list[Strands], n_threads: int) -> tuple:
    start = time.perf_counter()
    is_paper = isinstance(matcher, MummerGpu)
    sought = run_all(partial(_match if is_paper else seek, matcher), [(part,) for part in parts], n_threads)
    matched = time.perf_counter()
    pairs = list(zip(parts, sought, strict=True))
    found = run_all(partial(_collect, matcher, is_paper), pairs, n_threads)
    times = {"match": matched - start, "post-process": time.perf_counter() - matched}
    return times, chain.from_iterable(found)


def _on_device(matcher: Any, strands: Strands) -> tuple:
    matcher.clock.seconds.clear()
    start = time.perf_counter()
    found = all_stages(matcher, Strands(*strands))  # a new tuple, which no stream holds
    spent, times = time.perf_counter() - start, dict(matcher.clock.seconds)
    return times | {"post-process": spent - sum(times.values())}, found


def _together(matchers: list, parts: list[Strands], n_threads: int) -> tuple:
    """Return (seconds, matches) of all stages of parts, by n_threads threads; matchers take parts in turn."""
    start = time.perf_counter()
    work = [(matchers[i % len(matchers)], part) for i, part in enumerate(parts)]
    found = run_all(all_stages, work, n_threads)
    return time.perf_counter() - start, chain.from_iterable(found)


def all_stages(matcher: Any, strands: Strands) -> list:
    return list(matcher.slices(strands))


def _match(matcher: Any, strands: Strands) -> tuple:
    jobs = make_jobs(strands, matcher.least)
    return jobs, match_all(matcher.segment, strands, jobs, matcher.least)


def _collect(matcher: Any, is_paper: bool, strands: Strands, sought: Any) -> list:
    """Return all matches, in slices."""
    anchors = subqueries(matcher.lcp, matcher.least, *sought) if is_paper else sought
    return list(collected(matcher, strands, anchors))


def _check(matcher: Any, found: Iterable[Matches], expected: dict) -> list:
    """Return the number of matches and the sums of positions, places and lengths.

    Check them against others.
    """
    sums = np.zeros(4, np.int64)
    for matches in found:
        sums += [matches.strand.size, *(int(column.sum()) for column in matches[1:])]
    if expected.setdefault(matcher.least, sums.tolist()) != sums.tolist():
        known = expected[matcher.least]
        raise FmxError(f"least {matcher.least}: sums of matches are {sums.tolist()}, expected {known}")
    return sums.tolist()


# The command.

ENGINES, EXPERIMENTS = ("cpu", "cuda"), ("stages", "commands")
CHANGED = 0.01  # fraction of a query's symbols that differ from the reference


class Workload(NamedTuple):
    """Queries of ``length`` bases and three least lengths of a match (table 1: configurations 1 to 3)."""

    length: int
    leasts: tuple


WORKLOADS = {
    "HS1": Workload(200, (25, 50, 100)),
    "HS2": Workload(700, (50, 100, 200)),
    "MONO": Workload(120, (20, 40, 80)),
    "SUIS": Workload(36, (15, 20, 30)),
}


@click.command(cls=options.Command)
@click.argument("reference", required=False, type=click.Path(exists=True))
@count(
    "--size", default="30M", help="Length in bases of the random reference that is used without REFERENCE."
)
@count("--bases", default="10M", help="Number of bases in all queries of a workload.")
@only("--workload", "names", tuple(WORKLOADS), "workload")
@only("--experiment", "experiments", EXPERIMENTS, "experiment")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(ENGINES),
    default=["cpu"],
    show_default=True,
    help="Engine to measure. May be repeated.",
)
@options.gpus
@only("--algorithm", "algorithms", tuple(ALGORITHMS), "algorithm")
@runs
@work
@output("mem")
@options.threads
def mem_command(**given: Any) -> None:
    """Time finding maximal exact matches.

    Times single stages and whole commands, and mummer if it is installed. --engine cuda is measured on 1, 2,
    4 ... GPUs, up to --gpus.
    """
    asked = given["experiments"] or EXPERIMENTS
    with files.work_folder(given["work"]) as folder:
        fasta, index = folder / "reference.fa", folder / "reference.fmx"
        if given["reference"]:
            files.write_plain([given["reference"]], fasta)
        else:
            fasta.write_bytes(random_fasta(given["size"]))
        workflow.build_index(fasta, index, workflow.IndexOptions(with_lcp=True), given["threads"])
        machine, work = timing.machine(), []
        for name in given["names"] or WORKLOADS:
            length, queries = WORKLOADS[name].length, folder / f"{name}.fa"
            n = max(1, given["bases"] // length)
            files.write_reads(fasta, n, length, queries, files.FASTA, CHANGED, with_n=False)
            for configuration, least in enumerate(WORKLOADS[name].leasts, 1):
                row = {"workload": name, "bases": length, "least": least, "configuration": configuration}
                work.append((row, queries, n))
        given["device"] = given["device"] or 0
        counts = {"cpu": [0], "cuda": steps_of_gpus(given["device"], given["gpus"])}
        places = [(engine, n) for engine in given["engines"] for n in counts[engine]]
        ways = list(product(given["algorithms"] or ALGORITHMS, places))
        if "stages" in asked:
            rows = stage_rows(index, work, ways, given)
            tables.keep(given["output"], "mem-stages", machine, rows)
        if "commands" in asked:
            rows = [
                row for about, queries, _ in work for row in _commands(fasta, about, queries, ways, given)
            ]
            tables.keep(given["output"], "mem-commands", machine, rows)


def _commands(fasta: Path, about: dict, queries: Path, ways: list, given: dict[str, Any]) -> list:
    """Return a row for each command: seconds, and the ratio to mummer without its index."""
    nothing, least = fasta.with_name("nothing.fa"), about["least"]
    nothing.write_text(">nothing\nACGT\n")
    commands = {}
    for algorithm, (engine, n_gpus) in ways:
        where = ["--device", given["device"], "--gpus", n_gpus] if n_gpus else []
        commands[f"fmx {algorithm} {engine}{f' {n_gpus}' if n_gpus > 1 else ''}"] = timing.fmx_command(
            "mem", "-q", "-b", "-l", least, "-t", given["threads"], "-x", fasta.with_suffix(".fmx"),
            "--algorithm", algorithm, "--engine", engine, *where, queries,
        )  # fmt: skip
    if shutil.which("mummer"):
        mummer = ["mummer", "-maxmatch", "-b", "-n", "-l", least, fasta]
        commands |= {"mummer": [*mummer, queries], "mummer's index": [*mummer, nothing]}
    found = timing.medians_of_commands(commands, given["n_runs"])
    base = None
    if "mummer" in found:
        whole, index = found["mummer"], found["mummer's index"]
        found["mummer less index"] = timing.TimedRun(whole.wall - index.wall, whole.cpu - index.cpu)
        base = found["mummer less index"].wall
    return [
        about | {"command": name, "wall s": run.wall, "CPU s": run.cpu,
                 "times as fast as mummer": base / run.wall if base else None}
        for name, run in found.items()
    ]  # fmt: skip
