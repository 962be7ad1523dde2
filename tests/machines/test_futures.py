"""What one thread passes on to others by Futures."""

import gc
import threading
import weakref
from concurrent.futures import Future
from itertools import pairwise

from fmx.machines.jobs import settle, settled, when_settled


def test_a_long_chain_of_futures_is_settled_by_one_thread_at_one_depth():
    links, threads = [Future() for _ in range(5000)], set()

    def pass_on(link, n):
        threads.add(threading.get_ident())
        settle(link, n + 1)

    for before, link in pairwise(links):
        when_settled(before, lambda n, link=link: pass_on(link, n))
    settle(links[0], 0)
    assert (links[-1].result(0), threads) == (4999, {threading.get_ident()})


def test_work_is_done_at_once_where_there_is_a_result_and_is_not_kept():
    class Held:
        pass

    held, found, future = Held(), [], Future()
    when_settled(settled(3), found.append)
    assert found == [3]
    when_settled(future, lambda n, held=held: found.append((n, type(held))))
    gone = weakref.ref(held)
    del held
    settle(future, 4)
    gc.collect()
    assert (found[1], gone()) == ((4, Held), None)
