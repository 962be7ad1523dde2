"""How a job scales over machines, simulated with measured rates: python docs/site/papers/scaling.py FOLDER.

A scheduler sends shards to nodes that request them, event by event:

node     starts, fetches the index, then repeats: request, work
shard    takes as long as its slowest part: work, reading, writing (they overlap, as in a run)
disk     a shared file system: its bandwidth is divided among the working nodes
failure  comes to a node at random times; its shard goes to another, and the node starts again
merge    the client copies all bodies at the end

Figures 15 and 16 of Truong et al. 2014 (section 6.8) are simulated as well. Writes both tables to FOLDER.
"""

import heapq
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "bench"))
from runner import Table, markdown, write


@dataclass(frozen=True)
class Site:
    """A cluster. ``rates``: reads/s of each node. Other values in seconds, bytes and bytes/s.

    ``failures``: per node and day. ``merging`` 0: the shards are not merged.
    """

    rates: tuple
    start: float = 20.0
    index: float = 30e9
    disk: float = 20e9
    dispatch: float = 0.002
    failures: float = 0.0
    merging: float = 2e9
    read_in: float = 60.0  # bytes of a read, compressed
    read_out: float = 56.0  # bytes of its BAM record


@dataclass(frozen=True)
class Outcome:
    """``seconds`` in total, ``merging`` included; ``lost`` shards were repeated."""

    seconds: float
    merging: float
    lost: int
    done: int


def simulate(site: Site, n_reads: int, shard: int, seed: int = 1) -> Outcome:
    """Simulate n_reads on a Site in shards of ``shard`` reads."""
    chance, n_nodes = random.Random(seed), len(site.rates)
    n_shards = -(-n_reads // shard)
    fetching = site.index * n_nodes / site.disk
    events = [(site.start + fetching, node) for node in range(n_nodes)]
    heapq.heapify(events)
    free, left, again, lost, done, last = 0.0, n_shards, 0, 0, 0, 0.0
    waiting: list = []  # nodes without a shard, while others may still fail
    under_way = 0
    fails = [_next_failure(site, chance, 0.0) for _ in range(n_nodes)]
    while events:
        now, node = heapq.heappop(events)
        if node < 0:  # a shard has ended: done, or lost with its node
            under_way -= 1
            if node == -1:
                done, last = done + 1, max(last, now)
            else:
                lost, again = lost + 1, again + 1
                for idle in waiting:
                    heapq.heappush(events, (now, idle))
                waiting.clear()
            continue
        if left + again == 0:
            if under_way:
                waiting.append(node)
            continue
        if left:
            left -= 1
        else:
            again -= 1
        free = max(now, free) + site.dispatch
        active = n_nodes if left else max(1, under_way + 1)
        moved = shard * (site.read_in + site.read_out) / (site.disk / active)
        end = free + max(shard / site.rates[node], moved)
        under_way += 1
        if fails[node] < end:
            heapq.heappush(events, (max(free, fails[node]), -2))
            back = max(free, fails[node]) + site.start + site.index / site.disk
            fails[node] = _next_failure(site, chance, back)
            heapq.heappush(events, (back, node))
        else:
            heapq.heappush(events, (end, -1))
            heapq.heappush(events, (end, node))
    merging = n_reads * site.read_out / site.merging if site.merging else 0.0
    return Outcome(last + merging, merging, lost, done)


def _next_failure(site: Site, chance: random.Random, now: float) -> float:
    return now + chance.expovariate(site.failures / 86400) if site.failures else float("inf")


def of_nodes(site: Site, n: int) -> Site:
    """Return a Site with n nodes, which have the rates of ``site`` in turn."""
    return replace(site, rates=tuple(site.rates[i % len(site.rates)] for i in range(n)))


def best_shard(site: Site, n_reads: int, sizes: Sequence[int]) -> tuple:
    """Return (reads per shard of the fastest run, Outcome) among some sizes."""
    return min(((size, simulate(site, n_reads, size)) for size in sizes), key=lambda found: found[1].seconds)


# The tables.

NODES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
READS = (10**9, 10**10, 10**11, 10**12, 10**13)
SIZES = tuple(10**6 * 4**i for i in range(7))  # reads of a shard: 10^6 to 4 * 10^9
PAPER = {  # pairs/s of nodes with CPUs and GPUs: sections 6.2, 6.7 and 6.8, and what the paper found for all
    "four different nodes": ((250, 330, 487, 693), "1,000 to 1,700"),
    "six equal nodes": ((1015 / 6,) * 6, "1,015"),
}


def _scaling(site: Site) -> list:
    """Return a row for each number of reads and of nodes."""

    rows = []
    for n_reads in READS:
        alone = None
        for n in NODES:
            sizes = [size for size in SIZES if 10**5 >= n_reads / size >= 1] or [SIZES[-1]]
            size, found = best_shard(of_nodes(site, n), n_reads, sizes)
            alone = alone or found.seconds
            rows.append({
                "reads": n_reads, "nodes": n, "shard": size, "hours": found.seconds / 3600,
                "speed-up": alone / found.seconds, "merging": found.merging / found.seconds,
                "lost": found.lost,
            })  # fmt: skip
    return rows


def _paper() -> list:
    """Return rows of the paper's two clusters: pairs/s of 1, 2, ... of their nodes."""

    rows = []
    for name, (rates, found) in PAPER.items():
        for n in range(1, len(rates) + 1):
            site = Site(rates[:n], start=0, index=0, disk=1e15, merging=0)
            n_pairs = 300_000
            pairs = n_pairs / simulate(site, n_pairs, 500).seconds
            rows.append({
                "cluster": name, "nodes": n, "pairs/s": pairs, "of their sum": pairs / sum(rates[:n]),
                "paper, all": found if n == len(rates) else None,
            })  # fmt: skip
    return rows


if __name__ == "__main__":
    site, date = Site((12e6,), disk=200e9, failures=0.1, merging=0), time.strftime("%Y-%m-%d")
    about = "simulated: 12 M reads/s a node, 200 GB/s of shared disk"
    for name, device, rows in (
        ("scaling", about, _scaling(site)), ("nodes", "simulated: figures 15 and 16", _paper()),
    ):  # fmt: skip
        table = Table(name, "python docs/site/papers/scaling.py FOLDER", device, date, rows)
        write([table], Path(sys.argv[1]) / f"{name}.json")
        print(markdown(rows))
