"""The threads of a road (road.py): one for each worker, and what they have done, in order."""

import threading
import time
from functools import partial

from .road import BUDGET, Road, Shares

# Of the budget, where there are many workers: what one hands over at a time, so that it need not wait.
OF_A_WORKER = 16 << 20
PATIENCE = 1.0  # seconds for threads to end after an interrupt


def travel(items, workers, write):
    """Yield the result of ``work(emit, item)`` for each item in order, by one ``work`` of the ``workers``.

    Each of them has a thread.  ``emit`` takes pieces of output, which ``write`` is given in order by the
    caller's thread.  Where the result is Shares, the results of these are yielded in its place.
    """
    road = Road(items, max(BUDGET, OF_A_WORKER * len(workers)))

    def step(work, ticket, item):
        emit = partial(road.emit, ticket)
        result = work(emit, item)
        if isinstance(result, Shares):
            road.split(ticket, result[1:])
            return work(emit, result[0])
        return result

    def loop(work):
        while (taken := road.take()) is not None:
            road.do(taken[0], step, work, *taken)

    yield from run(road, [partial(loop, work) for work in workers], write)


def run(road, loops, write):
    """Start a thread for each loop, yield results in order, and end the threads whatever happens.

    After an interrupt a thread is left that waits for input, which may never come.
    """

    def guarded(loop):
        try:
            loop()
        except BaseException as error:
            road.fail(error)

    threads = [threading.Thread(target=guarded, args=(loop,), daemon=True) for loop in loops]
    end: float | None = None
    try:
        for thread in threads:
            thread.start()
        yield from road.results(write)
    except KeyboardInterrupt:
        end = time.monotonic() + PATIENCE
        raise
    finally:
        road.stop()
        for thread in threads:
            if thread.ident is not None:  # it could be started
                thread.join(end and max(0, end - time.monotonic()))
        road.close()
