"""Work on the CPU and beside it on GPUs that start meanwhile, with stand-ins for both."""

import threading
import time
from dataclasses import dataclass, field, replace
from functools import partial

import pytest

from fmx.errors import DeviceError
from fmx.machines import gpu, places
from fmx.machines.places import Auto, Pace
from fmx.search.mapping import MapOptions, RunSizes
from fmx.search.summary import Summary


@dataclass
class Place:
    """Does 1000 reads an item."""

    seconds: float
    options: MapOptions = field(default_factory=MapOptions)
    n: int = 0


def work(place, emit, item):
    place.n += 1
    emit(item)
    return Summary(reads=1000)


def do(place, emit=len):
    """One item."""
    return place.do(work, lambda summary: summary.reads, emit, b"item")


def run(cpu, gpu, n=12, n_items=None):
    """(items of the CPU, of the GPU, what is said), by their seconds an item; or an error of the GPU."""
    cpu, now, pieces = Place(cpu), 0.0, []

    def start():
        if isinstance(gpu, Exception):
            raise gpu
        return [gpu]

    def timed(place, emit, item):
        nonlocal now
        now += place.seconds
        return work(place, emit, item)

    gpu = Place(gpu) if isinstance(gpu, float) else gpu
    place = Auto(cpu, start, pace=Pace(start=0.01, settle=0.0, trial=0.01, clock=lambda: now))
    if n_items:
        place.begin(lambda: min(1, (len(pieces) + 1) / n_items))
    for _ in range(n):
        now += 1e-6
        assert place.do(timed, lambda summary: summary.reads, pieces.append, b"item").reads == 1000
        if place.turns.starter:
            place.turns.starter.join()  # what is ready when is left to chance otherwise
    assert len(pieces) == n
    return cpu.n, getattr(gpu, "n", 0), place.sentence()


def test_a_faster_gpu_takes_spans_once_it_has_started():
    on_cpu, on_gpu, said = run(0.006, 0.001, n=40)
    assert (on_cpu >= 2, on_gpu >= 25, on_cpu + on_gpu) == (True, True, 40)
    assert said.startswith(f"GPUs for {100 * on_gpu / 40:.0f} % of the reads, the CPU for the others; tried")


def test_a_slower_gpu_is_tried_and_left():
    _, on_gpu, said = run(0.002, 0.03, n=40)
    assert 0 < on_gpu <= 6
    assert ", the GPUs alone 0.0" in said


@pytest.mark.parametrize(("on_cpu", "on_gpus", "tried"), [
    (10, 20, [places.ON_CPU, places.ON_GPUS, places.ON_BOTH]),
    (10, 5, [places.ON_CPU, places.ON_GPUS, places.ON_BOTH]),
    (10, 40, [places.ON_CPU, places.ON_GPUS]),
])  # fmt: skip
def test_each_way_is_tried_and_the_fastest_kept(on_cpu, on_gpus, tried):
    clock = iter(range(1000))
    rates = {places.ON_CPU: on_cpu, places.ON_GPUS: on_gpus, places.ON_BOTH: 30}
    ways, seen = places.Ways(Pace(settle=0, trial=2, clock=lambda: next(clock)), 4), []
    for n in range(20):
        seen.append(ways.now)
        ways.note(rates[ways.now], 4.0, ways.now != places.ON_CPU, n > 4)  # four threads: an item a second
    assert list(dict.fromkeys(seen)) == tried
    assert ways.now == max(tried, key=rates.__getitem__)
    assert ways.speeds == {way: rates[way] for way in tried}


def test_a_thread_waits_for_a_stream_where_gpus_alone_are_faster():
    gpu = Place(0.02)
    place = Auto(Place(0.0), None, pace=Pace(patience=60))
    place.begin(lambda: 1.0)
    place.turns.ways.now, place.turns.idle = places.ON_GPUS, [gpu]
    threads = [threading.Thread(target=do, args=(place,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gpu.n == 3


def test_a_thread_whose_records_are_due_does_not_wait_for_ever():
    cpu = Place(0.0)
    place = Auto(cpu, None, pace=Pace(patience=0.01))
    place.begin(lambda: 1.0)
    place.turns.ways.now = places.ON_GPUS  # and no stream is idle
    do(place)
    assert cpu.n == 1


def test_a_gpu_that_cannot_be_used_leaves_all_to_the_cpu():
    assert run(0.006, DeviceError("no GPU here")) == (12, 0, "the CPU: no GPU here")


def test_no_gpu_is_started_for_what_is_soon_done():
    assert run(0.0, 0.0, n=3, n_items=1)[:2] == (3, 0)
    assert run(0.0016, 0.0, n_items=12)[:2] == (12, 0)  # twice the time that a GPU takes to start
    assert run(0.006, 0.0, n_items=12)[1] > 0
    assert run(0.006, 0.0, n_items=1000)[1] > 0


def test_gpus_are_started_once():
    started = []
    place = Auto(Place(0.0), lambda: started.append(True) or [], pace=Pace(start=0.0))
    place.start_gpus()
    place.turns.starter.join()
    do(place)  # would start them otherwise
    assert started == [True]


def test_how_much_input_gpus_are_started_for(tmp_path):
    plain, packed = str(tmp_path / "reads.fq"), str(tmp_path / "reads.fq.gz")
    for path in (plain, packed):
        (tmp_path / path).write_bytes(b"r" * 100)
    is_much = partial(places.is_much, much=99, devices=("/dev/null",))
    assert is_much([plain], 1)
    assert not is_much([plain], 2)
    assert is_much([plain, plain], 2)
    assert is_much([packed], 3)  # some 300 bytes of reads
    assert not is_much([packed], 4)
    assert not is_much(["-", b"@r", str(tmp_path / "no")], 1)
    assert not is_much([plain], 1, devices=("/no/such/device",))


def test_the_speed_of_the_cpu_is_that_of_its_threads_who_may_end_at_the_same_time():
    ways = places.Ways(Pace(clock=lambda: 7.0), 16)
    ways.note(100, 0.5, False, False)
    assert ways.now == places.ON_CPU
    ways.note(100, 0.5, False, True)
    assert (ways.now, ways.speeds) == (places.ON_GPUS, {places.ON_CPU: 16 * 200})


def test_what_the_cpu_ends_later_is_none_of_the_gpus():
    now = 0.0
    ways = places.Ways(Pace(settle=0.0, trial=1.0, clock=lambda: now), 2)
    ways.note(10, 1.0, False, True)
    for now in (0.5, 1.0, 1.5):
        ways.note(10, 1.0, now == 1.0, True)
        ways.note(1000, 1.0, False, True)
    now = 2.0
    ways.note(10, 1.0, True, True)
    assert ways.speeds == {places.ON_CPU: 20, places.ON_GPUS: 10}


def simulated(n_items, cpu, gpu, start, pace, n_threads=16, at_once=False):
    """Seconds that items take of a CPU, GPUs and both, whose threads are events on one simulated clock."""
    now, place, turns = 0.0, None, None
    options = MapOptions(n_threads=n_threads)
    place = Auto(Place(0.0, options), None, pace=pace._replace(clock=lambda: now))
    turns, ready, is_added = place.turns, None, False

    def begin_to_start():
        nonlocal ready
        turns.starter, ready = threading.Thread(), now + start

    turns.start_gpus = begin_to_start
    if at_once:
        begin_to_start()
    taken = done = 0
    place.begin(lambda: taken / n_items)
    free, busy = n_threads, []
    while done < n_items:
        if ready is not None and now >= ready and not is_added:
            turns.add([Place(gpu) for _ in range(n_threads)])
            is_added = True
        while free and taken < n_items:
            own = turns.take()
            on_cpu = sum(each is None for *_, each in busy)
            rate = cpu if own is None else gpu / (1 + on_cpu / n_threads)  # the CPU's threads slow the GPU's
            busy.append((now + n_threads / rate, n_threads / rate, own))
            free, taken = free - 1, taken + 1
        end, seconds, own = min(busy, key=lambda each: each[0])
        if ready is not None and now < ready < end and not is_added:
            now = ready
            continue
        now = end
        busy.remove((end, seconds, own))
        free, done = free + 1, done + 1
        if own is not None:
            turns.give_back(own)
        turns.note(1, seconds, own is not None)
    return now


@pytest.mark.parametrize("n_reads", [1e6, 5e6, 40e6, 200e6])
def test_it_takes_little_longer_than_the_better_engine(n_reads):
    """Speeds of an H200 and of 16 cores: 85 and 17 million reads/s, and half a second to start a GPU."""
    n_bytes = 221 * n_reads
    at_once = n_bytes > places.MUCH * 16
    size = (2 if at_once else 1) * RunSizes().auto_chunk
    cpu, gpu = 17e6 * 221 / size, 85e6 * 221 / size
    n_items = -(-n_bytes // size)
    alone = min(n_items / cpu, 0.5 + n_items / gpu)
    seconds = simulated(n_items, cpu, gpu, 0.7, Pace(), at_once=at_once)
    assert seconds < 1.1 * alone + 0.1  # a span takes a tenth of a second, so some threads end earlier


def test_nobody_waits_for_a_gpu_that_is_still_starting():
    go_on = threading.Event()
    place = Auto(Place(0.01), lambda: go_on.wait(60) and [], pace=Pace(start=0.0))
    for _ in range(3):
        do(place)
    assert place.sentence() == "the CPU: the work was done before a GPU had started"
    go_on.set()
    place.turns.starter.join()


def test_the_driver_is_not_asked_for_a_short_run(monkeypatch):
    monkeypatch.setattr(gpu, "open_device", lambda: pytest.fail("it takes a second"))
    place = Auto(Place(0.0), None)
    do(place)
    assert place.sentence(["/dev/null"]) == "the CPU: the work was done before a GPU would have saved time"


def test_streams_go_to_those_who_wait_in_turn():
    turns = Auto(Place(0.0), None, pace=Pace(patience=60)).turns
    turns.begin(lambda: 1.0)
    turns.ways.now = places.ON_GPUS
    found: list = []
    threads = [threading.Thread(target=lambda n=n: found.append((n, turns.take()))) for n in range(3)]
    for n, thread in enumerate(threads):
        thread.start()
        while len(turns.waiting) <= n and thread.is_alive():
            time.sleep(0.001)
    for n in range(3):
        turns.give_back(n)
        threads[n].join()
    assert found == [(0, 0), (1, 1), (2, 2)]


def test_another_way_to_ask_has_the_same_gpus():
    """Of an index that is kept, with other options: what was tried and started is known."""
    cpu, gpu = Place(0.0), Place(0.0)
    place = Auto(cpu, None)
    place.begin(lambda: 1.0)
    place.turns.ways.now, place.turns.idle = places.ON_GPUS, [gpu]
    asked = place.as_asked(lambda place: replace(place, n=100))
    seen = []
    asked.do(lambda place, emit, item: seen.append(place.n), lambda result: 1, len, b"item")
    assert (seen, cpu.n, gpu.n) == ([100], 0, 0)
    assert place.turns.idle == [gpu]
