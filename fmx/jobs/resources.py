"""With what a job is done, which never changes a byte of its result: cores, GPUs, and what is kept there."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..machines.places import ALL_GPUS, Device


@dataclass(frozen=True)
class Resources:
    """Cores and GPUs: ``engine`` as of a Device; ``gpus``, or ALL_GPUS, from number ``device`` on, of each at
    most ``gpu_memory`` bytes (None: all that is free)."""

    threads: int = 1
    engine: str = "cpu"
    device: int = 0
    gpus: int = 1
    gpu_memory: int | None = None

    @property
    def place(self) -> Device:
        """Where work is done."""
        return Device(self.engine, self.device, self.gpu_memory, None if self.gpus == ALL_GPUS else self.gpus)


# What a worker keeps from one shard of a run to the next, as an opened index, and a GPU's copy of it.
#
# It keeps the things of one run at a time: the first shard of another run has them made anew.


class WorkerCache:
    """Things by their ``key``, each made once, for shards that are done at the same time."""

    def __init__(self, run: Any = None) -> None:
        self.run, self._making = run, threading.Lock()
        self._shared: dict = {}
        self._idle: defaultdict[Any, list] = defaultdict(list)

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """What ``make()`` gave, for all to use at the same time."""
        with self._making:
            if key not in self._shared:
                self._shared[key] = make()
            return self._shared[key]

    @contextmanager
    def lent(self, key: Any, make: Callable[[], Any]) -> Iterator[Any]:
        """What ``make()`` gave, for this shard alone; not used again where the shard fails."""
        try:
            thing = self._idle[key].pop()
        except IndexError:
            thing = make()
        yield thing
        self._idle[key].append(thing)


class LocalCache(WorkerCache):
    """For jobs that are done here, one after the other: they share an index, and nothing else."""

    @contextmanager
    def lent(self, key: Any, make: Callable[[], Any]) -> Iterator[Any]:
        """What ``make()`` gives."""
        yield make()


_choosing, _now = threading.Lock(), [WorkerCache()]


def cache_for(run: Any) -> WorkerCache:
    """What this process keeps for a ``run``, all that tells it apart; that of another one goes then."""
    with _choosing:
        if _now[0].run != run:
            _now[0] = WorkerCache(run)
        return _now[0]
