"""The place of work: the CPU, GPUs, or whichever is faster."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from ctypes import CDLL, byref, c_int, c_void_p
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from ..compiler import SIMULATED
from ..errors import DeviceError, FmxError

if TYPE_CHECKING:
    from .gpu_session import GpuSession

ALL_GPUS = -1


@dataclass(frozen=True)
class Device:
    """The place of work that the options select.

    ``engine``: cpu, cuda, auto, one of engines.CUDA, or both (pairwise); ``n_gpus``: number of GPUs (None:
    all), from number ``first``; ``memory``: bytes that may be used on each (None: all).
    """

    engine: str = "cpu"
    first: int = 0
    memory: int | None = None
    n_gpus: int | None = 1


CPU = Device()


DEVICES = ("/dev/nvidiactl", "/dev/dxg")  # one of these exists if there is a GPU, on Linux and in WSL
MUCH = 1 << 28  # bytes of input per thread, about a second's work, for which GPUs are started at once
_PACKED, _TIMES = (".gz", ".bgz", ".bz2", ".xz", ".zst", ".bam", ".cram"), 3  # how much larger they are


def is_much(paths: Iterable[Any], n_threads: int, much: int = MUCH, devices: Sequence[str] = DEVICES) -> bool:
    """Return whether there is a GPU, and so much input that starting it at once saves time."""
    files = [path for path in paths if isinstance(path, str) and os.path.isfile(path)]
    n_bytes = sum(os.path.getsize(path) * (_TIMES if path.endswith(_PACKED) else 1) for path in files)
    return n_bytes > much * n_threads and any(map(os.path.exists, devices))


def wake(number: int) -> None:
    """Start the driver of a GPU in the background: this takes 0.2 s, without holding Python's lock.

    Errors are reported when the GPU is opened.
    """
    if not SIMULATED:
        Thread(target=start_driver, args=(number,)).start()


def start_driver(number: int) -> None:
    """Initialize the driver and a GPU's primary context.  NVIDIA's bindings need NumPy, so ctypes calls."""
    device, context = c_int(), c_void_p()
    with suppress(OSError, AttributeError):
        driver = CDLL("libcuda.so.1")
        if driver.cuInit(0) == 0 == driver.cuDeviceGet(byref(device), number):
            driver.cuDevicePrimaryCtxRetain(byref(context), device)


def choose_place(
    device: Device,
    on_gpus: "Callable[[list[GpuSession]], Any]",
    on_cpu: Callable[[], Any],
    tell: Callable[[str], None],
) -> Any:
    """Return ``on_gpus(sessions)`` for opened GPUs, or ``on_cpu()`` if the Device names the CPU.

    Engine auto also uses the CPU if there is no GPU or none is suitable.  ``tell`` gets one line that names
    the place and the reason, unless the CPU was requested.  Raises DeviceError.
    """
    if device.engine == "cpu":
        return on_cpu()
    try:
        sessions = _open(device)
        made = on_gpus(sessions)
    except DeviceError as error:
        if device.engine != "auto":
            raise
        tell(f"the CPU: {error}")
        return on_cpu()
    tell(in_words(sessions))
    return made


def _open(device: Device) -> list:
    """Open the GPUs of a Device and return their GpuSessions."""
    from . import gpu
    from .gpu_session import GpuSession
    from .jobs import run_all

    n_gpus = max(gpu.n_devices() - device.first, 1) if device.n_gpus is None else device.n_gpus
    numbers = range(device.first, device.first + n_gpus)
    return run_all(GpuSession, [(number, device.memory) for number in numbers], n_gpus)


def in_words(sessions: "Sequence[GpuSession]") -> str:
    """Describe GPUs, for example ``GPUs 0 to 3, NVIDIA H200``; their numbers are consecutive."""
    if len(sessions) == 1:
        return str(sessions[0])
    numbers, names = [session.number for session in sessions], dict.fromkeys(s.name for s in sessions)
    between = "and" if len(numbers) == 2 else "to"
    return f"GPUs {numbers[0]} {between} {numbers[-1]}, {' and '.join(names)}"


# Teams: GPUs that hold an index together when one GPU has no room for all of its parts.


def teams(
    sessions: "Sequence[GpuSession]", sizes: list[int], beside: int, tell: Callable[[str], None]
) -> list:
    """Form as many teams of GPUs as can each hold all parts; return each team's GpuSession of each part.

    ``sizes``: bytes of each part; ``beside``: bytes a GPU needs for buffers.  ``tell`` gets a line if parts
    are spread over GPUs, and one for each GPU that is idle.  If not even all GPUs together have room, they
    form one team, and some members have less memory than their parts need.
    """
    for n in range(len(sessions), 0, -1):
        found = [_places(sessions[i::n], sizes, beside) for i in range(n)]
        if all(fits for _, fits in found):
            break
    members = [set(places) for places, _ in found]
    if any(len(team) > 1 for team in members):
        tell(f"the index is spread over GPUs, because no GPU has room for all {len(sizes)} parts")
    for session in sessions:
        if not any(session in team for team in members):
            tell(f"GPU {session.number} is idle: no part of the index is left for it, or none fits")
    return [places for places, _ in found]


def _places(team: "Sequence[GpuSession]", sizes: list[int], beside: int) -> "tuple[list[GpuSession], bool]":
    """Return (the GpuSession of each part, whether all fit): largest part first, to the emptiest GPU."""
    left = {session: session.memory - beside for session in team}
    places = [team[0]] * len(sizes)
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part]):
        places[part] = max(team, key=lambda session: left[session])
        left[places[part]] -= sizes[part]
    return places, all(left[session] >= 0 for session in places)


def for_each(found: Sequence[Any], n_threads: int) -> list:
    """Return (team, its number of threads) for each team; at least one of the n_threads threads each."""
    return [(team, max((n_threads + i) // len(found), 1)) for i, team in enumerate(found)]


# Auto: the CPU starts at once; GPUs start meanwhile and are used if that is faster.
#
# Starting a GPU takes half a second, during which all cores work.  Then the GPUs alone are tried for a
# moment, because the threads that feed them need the cores.  Unless they are clearly faster, both together
# are tried as well.  The fastest way is kept, so a GPU never slows down a run.


class WorkPlace(Protocol):
    """A place where items of a queue are processed, such as a Mapper on the CPU or on a GPU."""

    @property
    def options(self) -> Any: ...


P = TypeVar("P", bound=WorkPlace)

ON_CPU, ON_BOTH, ON_GPUS = "the CPU", "both", "the GPUs alone"
CLEAR = 3  # GPUs that are this many times as fast as the CPU are slower if it works beside them


class Pace(NamedTuple):
    """How long things take, in seconds of ``clock()``.

    ``start``: GPUs to start while all cores work. ``settle``: items of the previous way to be done.
    ``trial``: the trial of a way. ``patience``: a thread's wait for a stream, whose holder may wait for the
    records of this thread's item.
    """

    start: float = 0.5
    settle: float = 0.1
    trial: float = 0.25
    patience: float = 0.2
    clock: Callable[[], float] = time.monotonic


class Ways:
    """The ways to work, tried in turn: ``now`` is in use; ``speeds``: things per second of those tried.

    The CPU has ``n_threads``.
    """

    def __init__(self, pace: Pace, n_threads: int) -> None:
        self.now, self._pace, self._n_threads, self._is_settled = ON_CPU, pace, n_threads, False
        self.speeds: dict[str, float] = {}
        self._done, self._spent, self._since = 0, 0.0, 0.0  # things, seconds of threads, start of a trial

    def note(self, n: int, seconds: float, is_on_gpu: bool, has_gpus: bool) -> None:
        """Count an item of n things that took a thread some seconds.

        The trial of the CPU lasts until there are GPUs.  Its threads may have done one item each by then, all
        at about the same time, so its speed is that of a thread.
        """
        now = self._pace.clock()
        is_of_way = is_on_gpu or self.now != ON_GPUS
        if self._is_settled or not is_of_way or (self.now != ON_CPU and now <= self._since):
            return
        self._done, self._spent = self._done + n, self._spent + seconds
        trial = self._spent / self._n_threads if self.now == ON_CPU else now - self._since
        if has_gpus and (self.now == ON_CPU or trial > self._pace.trial):
            self.speeds[self.now] = self._done / max(trial, 1e-9)
            self.now = self._next()
            self._done, self._spent, self._since = 0, 0.0, now + self._pace.settle

    def _next(self) -> str:
        """Return the way to try next, or the fastest one."""
        speeds = self.speeds
        if ON_GPUS not in speeds:
            return ON_GPUS
        if ON_BOTH not in speeds and speeds[ON_GPUS] < CLEAR * speeds[ON_CPU]:
            return ON_BOTH
        self._is_settled = True
        return max(speeds, key=speeds.__getitem__)


PACE = Pace()


class Turns(Generic[P]):
    """Takes turns between the CPU and the places on GPUs that ``start()`` returns."""

    def __init__(self, start: Callable[[], Sequence[P]], pace: Pace, n_threads: int) -> None:
        self.ways, self.done, self._pace = Ways(pace, n_threads), {ON_CPU: 0, ON_GPUS: 0}, pace
        self.share: Callable[[], float | None] = lambda: None
        self.starter: threading.Thread | None = None
        self.error = ""
        self._start, self._lock, self._began, self._n_streams = start, threading.Lock(), 0.0, 0
        self.idle: list[P] = []  # places on GPUs, once for each idle stream
        self.waiting: deque[SimpleQueue[P]] = deque()  # threads that wait for a stream; one gets the next

    def begin(self, share: Callable[[], float | None]) -> None:
        """Begin another run; ``share()`` is the fraction of it that is done, or None if unknown."""
        with self._lock:
            self.share, self._began = share, 0.0

    def take(self) -> P | None:
        """Return an idle place on a GPU, or None if it is the CPU's turn."""
        with self._lock:
            now = self._pace.clock()
            self._began = self._began or now
            if self.starter is None and self._is_worth_it(now - self._began):
                self.start_gpus()
            if self.ways.now == ON_CPU:
                return None
            if self.idle or self.ways.now == ON_BOTH:
                return self.idle.pop() if self.idle else None
            mine: SimpleQueue[P] = SimpleQueue()
            self.waiting.append(mine)
        with suppress(Empty):
            return mine.get(timeout=self._pace.patience)
        with self._lock:
            if mine in self.waiting:
                self.waiting.remove(mine)
                return None
        return mine.get()  # it came just now

    def give_back(self, place: P) -> None:
        """Pass a stream to the first thread that waits; otherwise the last holder could starve it."""
        with self._lock:
            if self.waiting:
                self.waiting.popleft().put(place)
            else:
                self.idle.append(place)

    def now(self) -> float:
        """Return the time."""
        return self._pace.clock()

    def note(self, n: int, seconds: float, is_on_gpu: bool) -> None:
        """Count an item of n things that took a thread some seconds."""
        with self._lock:
            self.done[ON_GPUS if is_on_gpu else ON_CPU] += n
            self.ways.note(n, seconds, is_on_gpu, self._n_streams > 0)

    def _is_worth_it(self, seconds: float) -> bool:
        """Return whether a GPU that is started now would save time before the end."""
        share, start = self.share(), self._pace.start
        if share is None:
            return seconds > 4 * start
        return seconds > start / 4 and seconds * (1 - share) > 2 * start * share

    def start_gpus(self) -> None:
        """Start the GPUs in the background, once."""
        # A daemon thread: a driver that is still starting does not delay the end of the run.
        self.starter = threading.Thread(target=self._open, daemon=True)
        self.starter.start()

    def _open(self) -> None:
        try:
            made = self._start()
        except FmxError as error:
            self.error = str(error)
            return
        self.add(made)

    def add(self, made: Sequence[P]) -> None:
        """Take turns with places on GPUs, too, from now on."""
        with self._lock:
            self.idle += [place for place in made for _ in range(place.options.n_threads)]
            self._n_streams = len(self.idle)


class Auto(Generic[P]):
    """A place that is the CPU (``on_cpu``), and also the GPUs that ``start()`` returns once these are faster.

    ``start`` opens GPUs and compiles; it may raise DeviceError.  ``unit``: what items consist of, for
    messages.
    """

    sessions = ()

    def __init__(
        self, on_cpu: P, start: Callable[[], Sequence[P]], unit: str = "reads", pace: Pace | None = None
    ) -> None:
        self.on_cpu, self._unit = on_cpu, unit
        self.turns: Turns[P] = Turns(start, pace or PACE, on_cpu.options.n_threads)
        self._as_asked: Callable[[P], P] = lambda place: place

    @property
    def options(self) -> Any:
        """Return the options of the CPU's place, whose threads share all work."""
        return self.on_cpu.options

    def as_asked(self, change: Callable[[P], P]) -> "Auto[P]":
        """Return an Auto with the same GPUs, where ``change`` is applied to each place."""
        other = copy(self)
        other.on_cpu, other._as_asked = change(self.on_cpu), change
        return other

    def start_gpus(self) -> None:
        """Start the GPUs now: there is so much to do that they will save time."""
        self.turns.start_gpus()

    def begin(self, share: Callable[[], float | None]) -> None:
        """Begin a run; ``share()`` is the fraction of it that is done, or None if unknown."""
        self.turns.begin(share)

    def do(
        self, work: Callable[..., Any], amount: Callable[[Any], int], emit: Callable[..., Any], item: Any
    ) -> Any:
        """Return ``work(place, emit, item)`` at the place whose turn it is; ``amount(result)`` is its
        size."""
        place, start = self.turns.take(), self.turns.now()
        try:
            result = work(self.on_cpu if place is None else self._as_asked(place), emit, item)
        finally:
            if place is not None:
                self.turns.give_back(place)
        self.turns.note(amount(result), self.turns.now() - start, place is not None)
        return result

    def sentence(self, devices: Sequence[str] = DEVICES) -> str:
        """Describe where the work was done, and why."""
        turns = self.turns
        error = turns.error
        if not turns.starter:
            error = _why_not(devices)
        elif not error and (turns.starter.is_alive() or not turns.ways.speeds):
            error = "the work was done before a GPU had started"
        if error:
            return f"the CPU: {error}"
        on_gpus = 100 * turns.done[ON_GPUS] / max(sum(turns.done.values()), 1)
        speeds = ", ".join(f"{name} {speed / 1e6:.1f}" for name, speed in turns.ways.speeds.items())
        return (
            f"GPUs for {on_gpus:.0f} % of the {self._unit}, the CPU for the others; "
            f"tried, M {self._unit}/s: {speeds}"
        )


def at_once(places: Iterable[Any]) -> list:
    """Return the places that exist before any GPU is started beside the CPU."""
    return [place.on_cpu if isinstance(place, Auto) else place for place in places]


def _why_not(devices: Sequence[str]) -> str:
    """Return why no GPU was started; ask the driver, which takes a second, only without a GPU device."""
    if not any(map(os.path.exists, devices)):
        from . import gpu

        try:
            gpu.open_device()
        except FmxError as error:
            return str(error)
    return "the work was done before a GPU would have saved time"
