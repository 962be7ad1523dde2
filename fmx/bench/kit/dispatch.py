"""A cluster on paper: shards dealt out by a scheduler to nodes that pull them, simulated event by event.

node     starts, fetches the index, then: asks, works, asks again ...
shard    takes as long as its slowest part: work, reading, writing (they overlap, as on the road)
disk     a shared file system: its bandwidth is divided by the nodes that are at work
failure  comes to a node at random times; its shard goes to another, and it starts anew
merge    the client copies all bodies at the end
"""

import heapq
import random
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Site:
    """A cluster.  ``rates``: reads/s of each node; seconds, bytes, bytes/s.

    ``failures``: of a node and day; ``merging`` 0: the shards stay as they are.
    """

    rates: tuple
    start: float = 20.0
    index: float = 30e9
    disk: float = 20e9
    dispatch: float = 0.002
    failures: float = 0.0
    merging: float = 2e9
    read_in: float = 60.0  # bytes of a read, compressed
    read_out: float = 56.0  # of its BAM record


@dataclass(frozen=True)
class Outcome:
    """``seconds`` in all, of which ``merging``; ``lost`` shards that were done again."""

    seconds: float
    merging: float
    lost: int
    done: int


def simulate(site, n_reads, shard, seed=1) -> Outcome:
    """What n_reads take on a Site in shards of ``shard`` reads."""
    chance, n_nodes = random.Random(seed), len(site.rates)
    n_shards = -(-n_reads // shard)
    fetching = site.index * n_nodes / site.disk
    events = [(site.start + fetching, node) for node in range(n_nodes)]
    heapq.heapify(events)
    free, left, again, lost, done, last = 0.0, n_shards, 0, 0, 0, 0.0
    waiting: list = []  # nodes that found no shard left, while others may still fail
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


def _next_failure(site, chance, now) -> float:
    return now + chance.expovariate(site.failures / 86400) if site.failures else float("inf")


def of_nodes(site, n) -> Site:
    """The same with n nodes, of the rates that it has in turn."""
    return replace(site, rates=tuple(site.rates[i % len(site.rates)] for i in range(n)))


def best_shard(site, n_reads, sizes) -> tuple:
    """(reads of the shards that end soonest, Outcome) of some sizes."""
    return min(((size, simulate(site, n_reads, size)) for size in sizes), key=lambda found: found[1].seconds)
