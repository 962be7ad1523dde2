"""The search stage on several GPUs at a time: each has all of an index, and a share of the patterns."""

import threading
import time

import numpy as np

from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.threads import run_all, spans
from ...measure import patterns, tables
from ...measure.texts import Randomize, make_codes
from ...search import engines
from ...search.gpu import gpu_search
from ...search.gpu.gpu_mapping import best_engine
from ...search.gpu.gpu_search import download, upload
from ...search.hits import Intervals
from .drawn import Drawn
from .gpu_counts import steps_to

AT_LEAST = 1.0  # seconds that one GPU searches


class Searcher:
    """Searches patterns on the GPU of a session; query and patterns are brought there as fmx search does."""

    def __init__(self, query, drawn, session):
        form = gpu_search.choose([query], session.memory)
        self.query, self.patterns = gpu_search.bring(query, form), upload(drawn)
        self.launch = engines.prepare(best_engine(self.query), self.query)
        n = drawn.length.size
        self.found = Intervals(*(gpu.zeros(n, np.uint32) for _ in Intervals._fields))
        self.search(0, n, 1, threading.Barrier(1))  # compiles

    def search(self, start, stop, n_times, all_ready):
        """Search patterns start to stop so many times; (when it began, when it was done)."""
        mine = patterns.some(self.patterns, start, stop)
        into = Intervals(*(array[start:stop] for array in self.found))
        all_ready.wait()
        begin = time.perf_counter()
        for _ in range(n_times):
            self.launch(self.query, mine, into)
        gpu.synchronize()
        return begin, time.perf_counter()


class Made:
    """A random text, patterns drawn from it and queries as of an index, made on the GPU of a session."""

    def __init__(self, session, given):
        backend = Gpu(session)
        codes = make_codes(backend, Randomize, given.bases + 1)
        self._drawn = Drawn(backend, codes, given.queries, given.length)

    def take(self, name):
        """(the query of a layout's name, or of "verify"; the patterns), in the host's memory."""
        query = self._drawn.verify() if name == "verify" else self._drawn.query(name)
        return download(query), download(self._drawn.patterns)

    def n_wrong(self, found):
        """How many of these Intervals of all patterns, of the host, are wrong."""
        return self._drawn.n_wrong(upload(found))


def run(given, sessions, device_name):
    """A row for each layout and number of GPUs; ``given``: the options of the command."""
    made = sessions[0].run(Made, sessions[0], given)
    rows, counts = [], steps_to(len(sessions))
    for name in given.names:
        arrays = sessions[0].run(made.take, name)
        members = [(session, session.run(Searcher, *arrays, session)) for session in sessions]
        found = [session.run(download, searcher.found) for session, searcher in members]
        wrong = sum(sessions[0].run(made.n_wrong, intervals) for intervals in found)
        n_times = max(1, round(AT_LEAST / _seconds(members[:1], given.queries, 1)))
        seconds = [_seconds(members[:n], given.queries, n_times) for n in counts]
        bases = given.queries * given.length * n_times / 1e9
        for n, s in zip(counts, seconds, strict=True):
            row = {"layout": name, "GPUs": n, "wrong": wrong, "Gbases/s": bases / s}
            rows.append(tables.tell(row | {"times one": seconds[0] / s}))
        del members
    tables.keep(given.output, "gpus", device_name, rows)


def _seconds(members, n_patterns, n_times) -> float:
    """Seconds in which all members, (session, Searcher), search all patterns so many times, a share each."""
    all_ready = threading.Barrier(len(members))
    work = [
        (session, searcher.search, *span, n_times, all_ready)
        for (session, searcher), span in zip(members, spans(n_patterns, len(members)), strict=True)
    ]
    times = run_all(lambda session, search, *how: session.run(search, *how), work, len(members))
    return max(stop for _, stop in times) - min(begin for begin, _ in times)
