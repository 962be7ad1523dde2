"""The stages of finding matches, timed in one process: copy in, match, copy out, post-process.

On a CPU there is no copying.  Matching is ``seek``, post-processing ``collect``; for the algorithm of
MUMmerGPU++ the search for the rows around the one that was found belongs to post-processing, as in the paper.
"""

import time
from functools import partial

import numpy as np

from .. import chunks, reads
from ..errors import FmxError
from ..mem.contracts import Matches, Strands, collect, rows_at_once, seek
from ..mem.matching import ALGORITHMS, MemOptions
from ..mem.mummergpu import MummerGpu, match_all, subqueries
from ..mem.rank_walk import make_jobs
from ..mem.strands import make_strands
from ..parallel import run_all, spans
from . import _device_runs

STAGES = ("copy in", "match", "copy out", "post-process")


def read_strands(path) -> Strands:
    """Both strands of all queries of a file."""
    (chunk,) = chunks.read_chunks([path], 1 << 32)
    return make_strands(reads.parse(chunk), reads.FORWARD | reads.REVERSE)


def make_matcher(index, algorithm, least, engine):
    """A matcher over an index (FMIndex), on the CPU or (engine "cuda") on the first GPU."""
    if engine == "cpu":
        return ALGORITHMS[algorithm](index, least)
    from ..mem import device

    return device.make_matcher(index, MemOptions(least, algorithm=algorithm), 0, None)


def measure(matcher, strands, n_queries, n_threads, n_runs, expected) -> dict:
    """Seconds of each stage in the fastest run, rates, energy of all stages, and the number of matches.

    There are n_runs on a CPU; on a GPU as many as fit into the time of an energy measurement, or one.
    ``expected`` {least: sums of the matches} is filled by the first matcher for a least length.  Raises
    FmxError if another one finds other matches.
    """
    parts = [Strands(strands.words, *(column[a:b] for column in strands[1:]))
             for a, b in spans(strands.length.size, 8 * n_threads)]  # fmt: skip
    joules = watts = None
    if hasattr(matcher, "stages"):
        _on_device(matcher, parts[0])  # compiles
        runs: list = []
        joules, watts = _device_runs.joules(lambda: runs.append(_on_device(matcher, strands)))
        runs = runs or [_on_device(matcher, strands)]  # no NVML
    else:
        _on_cpu(matcher, parts[:1], 1)
        runs = [_on_cpu(matcher, parts, n_threads) for _ in range(n_runs)]
    times, sums = min(runs, key=lambda found: sum(found[0].values()))
    if expected.setdefault(matcher.least, sums) != sums:
        raise FmxError(f"least {matcher.least}: other matches than {expected[matcher.least]}: {sums}")
    row = {stage: times.get(stage, 0.0) for stage in STAGES}
    row["Mqueries/s matched"] = n_queries / row["match"] / 1e6
    row["Mqueries/s"] = n_queries / sum(times.values()) / 1e6
    return row | {"mJ/query": joules and 1000 * joules / n_queries, "W": watts, "matches": sums[0]}


def _on_cpu(matcher, parts, n_threads) -> tuple:
    start = time.perf_counter()
    is_paper = isinstance(matcher, MummerGpu)
    sought = run_all(partial(_match if is_paper else seek, matcher), [(part,) for part in parts], n_threads)
    matched = time.perf_counter()
    pairs = list(zip(parts, sought, strict=True))
    sums = run_all(partial(_collect, matcher, is_paper), pairs, n_threads)
    times = {"match": matched - start, "post-process": time.perf_counter() - matched}
    return times, sum(sums).tolist()


def _on_device(matcher, strands) -> tuple:
    matcher.stages.seconds.clear()
    start = time.perf_counter()
    sums = _collect(matcher, False, strands, seek(matcher, strands))
    spent, times = time.perf_counter() - start, dict(matcher.stages.seconds)
    return times | {"post-process": spent - sum(times.values())}, sums.tolist()


def _match(matcher, strands):
    jobs = make_jobs(strands, matcher.least)
    return jobs, match_all(matcher.segment, strands, jobs, matcher.least)


def _collect(matcher, is_paper, strands, sought) -> np.ndarray:
    """Collect all matches, in slices: their number, and the sums of positions, places and lengths."""
    anchors = subqueries(matcher.lcp, matcher.least, *sought) if is_paper else sought
    ends, start, sums = np.cumsum(anchors.hi.astype(np.int64) - anchors.lo), 0, np.zeros(4, np.int64)
    size = rows_at_once(matcher)
    while start < ends.size:
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + size, "right")))
        matches = Matches(*(np.empty(ends[stop - 1] - done, np.int64) for _ in Matches._fields))
        n = collect(matcher, strands, anchors, start, stop, matches)
        sums += [n, *(int(column[:n].sum()) for column in matches[1:])]
        start = stop
    return sums
