"""Reads of two contigs, and a cluster in this process in the place of Dask's: two threads of one worker."""

import gzip
import pickle
from concurrent.futures import ThreadPoolExecutor

from output_of import without_program
from texts import numbered, random_letters

from fmx import jobs
from fmx.input import shards as input_shards
from fmx.jobs import cluster

CONTIGS = numbered([random_letters(3000, "one"), random_letters(900, "two") * 2])
COMPLETE = str.maketrans("ACGT", "TGCA")


def reads(n, length=60) -> list:
    """(name, letters) of n reads of both strands, some of which do not occur, some often."""
    found = []
    for i in range(n):
        letters = CONTIGS[i % 2][1]
        start = 37 * i % (len(letters) - length)
        read = letters[start : start + length]
        read = read[::-1].translate(COMPLETE) if i % 3 == 0 else read
        found.append((f"r{i}", read if i % 7 else read[:-1] + "N" + "A"))
    return found


def body_of(path) -> bytes:
    """What a file holds, without the @PG line and, in BAM, without the length of the header."""
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        return without_program(data)
    data = gzip.decompress(data)
    stop = 8 + int.from_bytes(data[4:8], "little")
    return without_program(data[8:stop]) + data[stop:]


class Nearby:
    """What jobs.cluster.Cluster is to the client."""

    def __init__(self, address, file, say):
        self.name = address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def n_threads(self):
        return 2

    def results(self, work, items):
        work = pickle.loads(pickle.dumps(work))  # as for another process
        with ThreadPoolExecutor(2) as pool:
            yield from pool.map(work, items)


def use(monkeypatch):
    """Let commands with ``--scheduler nearby`` be done here, in shards of a few reads."""
    monkeypatch.setattr(cluster, "Cluster", Nearby)
    monkeypatch.setattr(cluster, "n_threads_here", lambda: 2)
    monkeypatch.setattr(jobs, "SIZES", ((64, 1000, 1000),) * 2)
    monkeypatch.setattr(input_shards, "APART", 1000)
    return ["--scheduler", "nearby"]
