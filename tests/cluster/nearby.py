"""A cluster in this process, in the place of Dask's: two threads of one worker."""

import pickle
from concurrent.futures import ThreadPoolExecutor

from fmx.errors import ClusterError
from fmx.input import shards as input_shards
from fmx.jobs import cluster, identity


class Nearby:
    """What jobs.cluster.Cluster is to the client."""

    def __init__(self, address=None, file=None):
        self.name = address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def wait(self, say):
        """Its worker is there."""

    def check(self, *given):
        _, differs = cluster.check_worker(*given)
        if differs:
            raise ClusterError(differs)
        return 2

    def results(self, work, items, say):
        work = pickle.loads(pickle.dumps(work))  # as for another process
        with ThreadPoolExecutor(2) as pool:
            yield from pool.map(work, items)


def use(monkeypatch):
    """Let commands with ``--scheduler nearby`` be done here, in shards of a few reads."""
    monkeypatch.setattr(cluster, "Cluster", Nearby)
    monkeypatch.setattr(cluster, "n_threads_here", lambda: 2)
    monkeypatch.setattr(identity, "SIZES", ((64, 1000, 1000),) * 2)
    monkeypatch.setattr(input_shards, "CUT_SIZES", input_shards.CutSizes(1000))
    return ["--scheduler", "nearby"]
