"""The queue: every item once, pieces and results in order, in bounded memory, errors heard, nobody asleep."""

import gc
import random
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import Future
from functools import partial
from itertools import pairwise

import pytest

from fmx.machines.jobs import future_of, set_once, when_done
from fmx.machines.pipeline import OrderedQueue, Parts, run, run_ordered


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def fill(emit, i):
    """Some pieces that tell whose they are, at odd times."""
    chance = random.Random(i)
    for j in range(chance.randrange(4)):
        if chance.random() < 0.2:
            time.sleep(0.0005)
        emit(b"%d.%d " % (i, j))
    return i


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_first_error_in_order_ends_the_run_after_what_came_before(n_threads):
    def items():
        yield from range(60)
        raise KeyError("reading")

    def work(emit, i):
        emit(b"%d " % i)
        if i in (40, 50):
            raise ValueError(i)
        return i

    written, results = [], []
    with pytest.raises(ValueError, match="40"):
        results.extend(run_ordered(items(), [work] * n_threads, written.append))
    assert written[:40] == [b"%d " % i for i in range(40)]
    with pytest.raises(KeyError):
        list(run_ordered(items(), [lambda emit, i: i] * n_threads, written.append))


# An interrupt at each line in turn that the caller runs once its workers have started, also within Python's
# own code: all places where a signal can arrive.
AT_EACH_LINE = """
import sys, time
from fmx.machines.pipeline import run_ordered

def interrupt_at(number):
    n, is_inside = 0, False

    def trace(frame, event, _):
        nonlocal n, is_inside
        code = frame.f_code
        if code.co_filename.endswith("pipeline.py") and code.co_name in ("results", "stop"):
            is_inside = code.co_name == "results"
        n += is_inside and event == "line"
        if n == number:
            n += 1
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        for _ in run_ordered(range(6), [lambda emit, item: time.sleep(0.002)] * 2, None):
            pass
        return False
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)

number = 1
while interrupt_at(number):
    number += 1
print(number)
"""


def test_an_interrupt_at_each_line_of_the_caller_is_an_interrupt():
    done = subprocess.run([sys.executable, "-c", AT_EACH_LINE], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_a_lock_that_the_caller_has_left_locked_holds_up_nobody():
    queue = OrderedQueue(range(10))
    assert queue._lock.acquire()  # as an interrupt leaves it
    queue.stop()
    assert queue.get() is None


class Held:
    """Counts bytes that were emitted but not written yet, and the most of them."""

    def __init__(self):
        self.now = self.most = 0
        self._lock = threading.Lock()

    def add(self, n):
        with self._lock:
            self.now += n
            self.most = max(self.most, self.now)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_what_waits_is_bounded_and_the_first_may_always_go_on(n_threads):
    """Parts are done in the order of the output, whoever falls apart first."""
    held, others = Held(), threading.Event()

    def share(emit):
        for _ in range(5):
            emit(bytes(100))
            held.add(100)

    def work(emit, item):
        if callable(item):
            return item(emit)
        if item:
            others.set()
        elif n_threads > 1:
            others.wait()
        return Parts([share] * 50)

    def write(piece):
        time.sleep(0.0001)
        held.add(-len(piece))

    assert list(run_ordered(range(8), [work] * n_threads, write, budget=1000)) == [None] * 400
    assert held.most <= 1000 + n_threads * 100


def test_room_for_one_wakes_one():
    """Of 24 threads that wait to hand something over, those that nothing is there for sleep on."""

    class Counting(OrderedQueue):
        n_asked = 0

        def _has_room(self, slot, size):
            self.n_asked += 1
            return super()._has_room(slot, size)

    queue = Counting(range(200), budget=200)

    def loop():
        while (taken := queue.get()) is not None:
            queue.do(taken[0], partial(queue.emit, taken[0]), bytes(100))

    list(run(queue, [loop] * 24, lambda piece: time.sleep(0.0005)))
    assert queue.n_asked < 4 * 200


def test_nobody_runs_far_ahead_of_the_writer():
    queue, taken = OrderedQueue(range(20), ahead=7), 0
    while queue.get(wait=False):
        taken += 1
    assert taken == 7


def chunks_only(queue):
    while (taken := queue.get(continuations=False)) is not None:
        slot, i = taken
        queue.continue_later(slot, lambda i=i: i * i)


def rest(queue, items=True):
    while (taken := queue.get(items=items)) is not None:
        slot, item = taken
        queue.do(slot, item) if callable(item) else queue.do(slot, pow, item, 2)


@pytest.mark.parametrize("ahead", [1, 7])
def test_nobody_sleeps_through_an_item_or_a_continuation(ahead):
    """Two workers that only begin items, one that only ends them and two that do both."""
    queue = OrderedQueue(range(300), ahead=ahead)
    loops = [partial(chunks_only, queue)] * 2 + [partial(rest, queue, False)] + [partial(rest, queue)] * 2
    assert list(run(queue, loops, None)) == [i * i for i in range(300)]


def of_shares(work):
    """What does items by ``work``, and their shares by calling them."""
    return lambda emit, item: item(emit) if callable(item) else work(emit, item)


@of_shares
def falls_apart(emit, i):
    """Item i, in up to six parts that emit for themselves; a multiple of 7 is one whole."""
    if i % 7 == 0:
        return fill(emit, 100 * i)
    return Parts(partial(lambda j, emit: fill(emit, 100 * i + j), j) for j in range(1 + i % 6))


@pytest.mark.parametrize(
    ("n_threads", "ahead", "budget"), [(1, 1, 1), (2, 3, 1), (5, 1, 10), (5, 256, 1), (5, 3, 1000)]
)
def test_pieces_and_results_keep_the_order_though_items_fall_apart(n_threads, ahead, budget):
    numbers = [100 * i + j for i in range(60) for j in range(1 if i % 7 == 0 else 1 + i % 6)]
    written, expected = [], []
    found = run_ordered(range(60), [falls_apart] * n_threads, written.append, budget, ahead)
    assert list(found) == numbers
    for number in numbers:
        fill(expected.append, number)
    assert written == expected


def test_an_error_in_a_part_ends_the_run_and_the_rest_is_not_done():
    done = []

    def share(i, j, emit):
        if (i, j) == (1, 2):
            raise ValueError((i, j))
        time.sleep(0.0005)
        done.append((i, j))
        return i, j

    @of_shares
    def work(emit, i):
        return Parts(partial(share, i, j) for j in range(200))

    results = []
    with pytest.raises(ValueError, match=r"\(1, 2\)"):
        results.extend(run_ordered(range(100), [work] * 3, None))
    assert results == [(0, j) for j in range(200)] + [(1, 0), (1, 1)]
    assert len(done) < 1000


def test_a_worker_that_fails_by_itself_ends_the_run():
    queue = OrderedQueue(range(9))

    def broken():
        queue.get()
        raise RuntimeError("no GPU")

    with pytest.raises(RuntimeError, match="no GPU"):
        list(run(queue, [broken], None))


def test_items_that_are_left_are_closed():
    closed = []

    def items():
        try:
            yield from range(100)
        finally:
            closed.append(1)

    results = run_ordered(items(), [lambda emit, i: i] * 2, None)
    next(results)
    results.close()
    assert closed == [1]


def test_threads_that_cannot_be_started_end_the_run(monkeypatch):
    start, before = threading.Thread.start, threading.active_count()

    def start_two(thread):
        if threading.active_count() >= before + 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    with pytest.raises(RuntimeError, match="new thread"):
        list(run_ordered(range(500), [fill] * 9, [].append))


# What one thread passes on to others by Futures


def test_a_long_chain_of_futures_is_settled_by_one_thread_at_one_depth():
    links, threads = [Future() for _ in range(5000)], set()

    def pass_on(link, n):
        threads.add(threading.get_ident())
        set_once(link, n + 1)

    for before, link in pairwise(links):
        when_done(before, lambda n, link=link: pass_on(link, n))
    set_once(links[0], 0)
    assert (links[-1].result(0), threads) == (4999, {threading.get_ident()})


def test_work_is_done_at_once_where_there_is_a_result_and_is_not_kept():
    held, found, future = Held(), [], Future()
    when_done(future_of(3), found.append)
    assert found == [3]
    when_done(future, lambda n, held=held: found.append((n, held.now)))
    gone = weakref.ref(held)
    del held
    set_once(future, 4)
    gc.collect()
    assert (found[1], gone()) == ((4, 0), None)
