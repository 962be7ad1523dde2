"""Merges shards into the output of one run: joins their records, adds up tables and summaries.
Reads from manifests ``sums`` of sites/search.py and jobs/search.py, options of fmx count and offtargets."""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xxhash

from ..errors import OutputError, n_of
from ..machines.progress import Progress, RunCounts
from ..output import Container, ReadsPiece, of_fields
from ..output.files import ReadsOutput
from ..output.run import Run
from ..report import JobOutput, Report, added, joined_screens
from ..system import available_cores
from . import files_of, say_summary
from .shard import COUNTS, MANIFEST, OUTPUT, REPORT, TABLES, Manifest, difference, read_manifest

_AT_ONCE = 1 << 20  # bytes


def manifests(folder: str | Path) -> list:
    """Return all Manifests of a run, in order.  Raises OutputError if one is missing, or of another run."""
    folder = Path(folder)
    try:
        names = sorted(path.name for path in folder.iterdir() if re.fullmatch(r"\d+-of-\d+", path.name))
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}") from error
    if (folder / MANIFEST).is_file():
        raise OutputError(f"{folder}: this is one shard: name the folder of all shards, {folder.parent}")
    if not names:
        raise OutputError(
            f"{folder}: contains no shards; 'fmx search --shard 1/8 -o {folder} ...' writes the first of 8"
        )
    shards = [read_manifest(folder / name) for name in names]
    counts = sorted({shard.count for shard in shards})
    if len(counts) > 1:
        raise OutputError(
            f"{folder}: contains shards of runs with {' and '.join(map(str, counts))} shards: keep only the "
            f"folders {' or '.join(f'*-of-{n:04}' for n in counts)} and delete the others"
        )
    if missing := sorted({*range(1, counts[0] + 1)} - {shard.number for shard in shards}):
        more = f" and {len(missing) - 10} more" if missing[10:] else ""
        listed = f"{', '.join(map(str, missing[:10]))}{more}"
        raise OutputError(f"{folder}: shards that are missing: {listed} (of {counts[0]}); run them first")
    return list(in_order(folder, shards))


def in_order(folder: str | Path, shards: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield Manifests in order, each as soon as it and all before it are among those of ``shards``.

    Raises OutputError unless each continues the one before it: if one ends inside a file, the next must begin
    there; otherwise records are damaged at that place.
    """
    waiting: dict[int, Manifest] = {}
    first: Manifest | None = None
    last: Manifest | None = None
    number = 1
    for done in shards:
        waiting[done.number] = done
        while shard := waiting.pop(number, None):
            first = first or shard
            if differs := difference(shard.run, first.run):
                raise OutputError(
                    f"{folder}: shard {number} is from another run than shard 1 ({differs}): delete "
                    f"{Path(folder) / shard.name} and run shard {number} again"
                )
            if last and not shard.is_empty and last.end != shard.begin:
                path, at, _ = last.end or shard.begin  # type: ignore[misc]  # one is set, as they differ
                raise OutputError(
                    f"{folder}: shards {last.number} and {number} do not meet in {path}: records near byte "
                    f"{at} are damaged, or the file was changed between the two runs"
                )
            last, number = last if shard.is_empty else shard, number + 1
            yield shard


def summary_of(shards: Sequence[Manifest]) -> RunCounts:
    """Return the summary of shards of a run, added up."""
    sums = [{name: n for name, n in shard.summary.items() if name != "type"} for shard in shards]
    total = {name: sum(each[name] for each in sums) for name in sums[0]}
    summary = of_fields({**total, "type": shards[0].summary["type"]})
    if wording := shards[0].wording:
        summary.wording = of_fields(wording)
    return summary


def say_shards(progress: Progress, shards: Sequence[Manifest], pace: str) -> None:
    """Print the summary of all shards of a run."""
    run = shards[0].run
    where = files_of(run["command"], [name for name, *_ in run["inputs"]])
    say_summary(progress, summary_of(shards), f"{n_of(len(shards), 'shard')}, {pace}", where)


def output_of(shard: Manifest, path: str) -> JobOutput:
    """Return the output of the run of a shard, with the main output at ``path``."""
    names = dict(shard.output)
    reads, reports = names.pop("reads"), names.pop("reports")
    report = Report(tuple(reports), {}) if reports else None
    return JobOutput(path, reads=reads and ReadsOutput(**reads), report=report, **names)


def merge(
    folder: Path, ordered: Iterable[Manifest], output: JobOutput, progress: Progress, job: Any = None,
    container: Container | None = None,
) -> list[Manifest]:  # fmt: skip
    """Merge shards, of Manifests in order, into an output; return the manifests.

    ``job``: of a cluster run, or None; ``container``: of the output, if not that of the shards.  Raises
    OutputError.
    """
    shards, merged = iter(ordered), []  # type: tuple[Any, list]
    first = next(shards)
    container = container or of_fields(first.container).whole
    about = output.report.about if output.report else {}
    wall = progress.wall if job else None

    def each() -> Iterator[Manifest]:
        for shard in chain([first], shards):
            yield shard
            for number, file in enumerate(output.reads_files.values()):
                for piece in _bytes_of(folder, shard, file.name, 0, len(file.end)):
                    outputs.write(ReadsPiece([(number, piece)]))
            merged.append(shard)

    def facts() -> dict:
        parts = [json.loads(_whole(folder, shard, REPORT)) for shard in merged]
        return added(parts, about, wall.over() if wall else None) | more

    with Run().opened(output, container=container, n_threads=available_cores()) as outputs:
        merge_records = _MERGERS.get(first.run["command"], _join)
        tables, more, say = merge_records(folder, each(), output, outputs.write, job)
        if "--counts" in output.tables:
            from decimal import Decimal  # takes 5 ms to import, so only here

            parts = [_whole(folder, shard, TABLES["--counts"]).splitlines() for shard in merged]
            lines = [parts[0][0]]
            for same in zip(*(part[1:] for part in parts), strict=True):  # two names, then numbers
                columns = zip(*(line.decode().split("\t")[2:] for line in same), strict=True)
                totals = (str(sum(map(Decimal, column))) for column in columns)  # whole, or of equal decimals
                lines.append(b"\t".join([*same[0].split(b"\t")[:2], *map(str.encode, totals)]))
            tables["--counts"] = b"".join(line + b"\n" for line in lines)
        if "--screen" in output.tables:
            from ..output.formats import tsv

            rows = joined_screens([shard.sums["combinations"] for shard in merged])
            combinations = {tuple(row["groups"]): row["reads"] for row in rows}
            n_all, what = summary_of(merged).seen()
            tables["--screen"] = tsv.screen(combinations, first.sums["of"], what, n_all)
        outputs.finish(None, tables, facts if output.report else None)
    say(progress)
    return merged


# The main output of merged shards, by command.  Each function writes it and returns (tables, facts of
# reports, a function that prints more about the run).

_Merged: TypeAlias = tuple[dict, dict, Callable[[Progress], None]]


def _join(folder: Path, shards: Iterator[Manifest], output: JobOutput, write: Any, job: Any) -> _Merged:
    """Write the records of shards one after another."""
    for shard in shards:
        n_head, n_end = shard.around
        ends = n_head if shard.number > 1 else 0, n_end if shard.number < shard.count else 0
        for piece in _pieces_of(folder, shard, *ends):
            write(piece)
    return {}, {}, lambda progress: None


def _add_counts(folder: Path, shards: Iterator[Manifest], output: JobOutput, write: Any, job: Any) -> _Merged:
    """Write the counts of guides, added up."""
    from ..guides import assign, results

    every = list(shards)
    deque(chain.from_iterable(_pieces_of(folder, shard) for shard in every), 0)  # to compare the tables, too
    result = results.unpack(_whole(folder, shard, COUNTS) for shard in every)
    if job:  # names of files as the user gave them
        library = replace(result.library, path=", ".join(job.libraries))
        result = replace(result, library=library, samples=list(job.samples))
    write(result.table(output.kind))
    options = every[0].run["options"]["counting"]
    looked = tuple(assign.GuideWindow(**each) for each in options["looked"])
    counting = assign.CountOptions(**options | {"looked": looked})
    facts = result.details() if output.report else {}
    return {}, facts, lambda progress: results.say_samples(result, progress, counting)


def _sort_sites(folder: Path, shards: Iterator[Manifest], output: JobOutput, write: Any, job: Any) -> _Merged:
    """Write the sites of guides by guide and mismatches."""
    from ..sites.search import listed, say_cap, summary_table

    every = list(shards)
    of_shards = np.array([shard.sums["sites"] for shard in every], np.int64)
    total, most = of_shards.sum(axis=0), every[0].run["options"]["search"]["most"]
    files = [_lines_of(folder, shard, shard.around[0] if shard.number > 1 else 0) for shard in every]
    write(b"".join(islice(files[0], every[0].around[0] > 0)))  # the header
    in_shards = listed(of_shards, most).reshape(len(every), -1).T.tolist()
    for numbers, n in zip(in_shards, listed(total, most).ravel().tolist(), strict=True):
        lines = [line for file, m in zip(files, numbers, strict=True) for line in islice(file, m)]
        write(b"".join(lines[:n]))
    deque(chain(*files), 0)  # to the end, where each is compared with its manifest
    table = {"--summary": summary_table(every[0].sums["guides"], total, most)} if output.tables else {}
    return table, {}, lambda progress: say_cap(total, most, progress)


_MERGERS = {"count": _add_counts, "offtargets": _sort_sites}


def _lines_of(folder: Path, shard: Manifest, n_head: int) -> Iterator[bytes]:
    """Yield the lines of a shard's main output, a table."""
    rest = b""
    for piece in _pieces_of(folder, shard, n_head):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line + b"\n" for line in lines)


def _pieces_of(folder: Path, shard: Manifest, n_head: int = 0, n_end: int = 0) -> Iterator[bytes]:
    """Yield pieces of a shard's main output, without its first ``n_head`` and last ``n_end`` bytes."""
    data, path = _bytes_of(folder, shard, OUTPUT, n_head, n_end), folder / shard.name / OUTPUT
    return of_fields(shard.container).pieces(str(path), data, n_head)


def _whole(folder: Path, shard: Manifest, name: str) -> bytes:
    """Return the contents of a shard's file.  Raises OutputError."""
    return b"".join(_bytes_of(folder, shard, name))


def _bytes_of(folder: Path, shard: Manifest, name: str, n_head: int = 0, n_end: int = 0) -> Iterator[bytes]:
    """Yield a shard's file without its first ``n_head`` and last ``n_end`` bytes.

    Raises OutputError, at the end, if the file differs from that in the manifest.
    """
    path = folder / shard.name / name
    size, expected = shard.files.get(name, (0, ""))
    digest, at = xxhash.xxh3_64(), 0
    try:
        with open(path, "rb", buffering=0) as file:
            while data := file.read(_AT_ONCE):
                digest.update(data)
                yield data[max(n_head - at, 0) : max(size - n_end - at, 0)]
                at += len(data)
    except FileNotFoundError as error:
        raise OutputError(f"{path}: {error.strerror}; run shard {shard.number} again") from error
    if (at, digest.hexdigest()) != (size, expected):
        raise OutputError(f"{path}: damaged; delete its folder and run shard {shard.number} again")
