"""Where work is done: on the CPU, on GPUs, or wherever it can be."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any

from ..compiler import SIMULATED
from ..errors import DeviceError
from .threads import run_all

if TYPE_CHECKING:
    from .gpu_session import GpuSession

ALL_GPUS = -1


@dataclass(frozen=True)
class Device:
    """Where work is done: ``engine`` cpu, cuda, auto, one of engines.CUDA, or both (pairwise); on how many
    GPUs (``n_gpus``, None: all) from number ``first`` on; how many bytes of the memory of each may be used
    (``memory``, None: all)."""

    engine: str = "cpu"
    first: int = 0
    memory: int | None = None
    n_gpus: int | None = 1


CPU = Device()


def wake(number: int) -> None:
    """Let the driver begin with a GPU beside what else is done at the start: it takes 0.2 s, and no Python.

    What goes wrong is said when the GPU is opened.
    """
    if SIMULATED:
        return
    from ..compiler import cuda_driver  # of use only where there are GPUs

    def begin() -> None:
        with suppress(Exception):
            cuda_driver.use(number)

    Thread(target=begin).start()


def choose_place(
    device: Device,
    on_gpus: "Callable[[list[GpuSession]], Any]",
    on_cpu: Callable[[], Any],
    tell: Callable[[str], None],
) -> Any:
    """What ``on_gpus(sessions)`` gives for opened GPUs, or ``on_cpu()`` where a Device asks for the CPU.

    So does engine auto where there is no GPU, or none that will do.  ``tell`` is given one line on where, and
    why, unless the CPU was asked for.  Raises DeviceError.
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
    """GpuSessions of the GPUs that a Device asks for."""
    from . import gpu
    from .gpu_session import GpuSession

    n_gpus = max(gpu.n_devices() - device.first, 1) if device.n_gpus is None else device.n_gpus
    numbers = range(device.first, device.first + n_gpus)
    return run_all(GpuSession, [(number, device.memory) for number in numbers], n_gpus)


def in_words(sessions: "Sequence[GpuSession]") -> str:
    """Which GPUs, as ``GPUs 0 to 3, NVIDIA H200``; their numbers follow each other."""
    if len(sessions) == 1:
        return str(sessions[0])
    numbers, names = [session.number for session in sessions], dict.fromkeys(s.name for s in sessions)
    between = "and" if len(numbers) == 2 else "to"
    return f"GPUs {numbers[0]} {between} {numbers[-1]}, {' and '.join(names)}"


# GPUs that hold an index together, where one has no room for all of its parts.


def teams(
    sessions: "Sequence[GpuSession]", sizes: list[int], beside: int, tell: Callable[[str], None]
) -> list:
    """As many teams of GPUs as can hold all parts each: for each team the GpuSession of each part.

    ``sizes`` of the parts in bytes; ``beside`` them a GPU needs so many for buffers.  ``tell`` is given lines
    on parts that are spread, and on GPUs that get none.  Where not even all GPUs have room, they are one
    team, some of whose members have less memory than their parts need.
    """
    for n in range(len(sessions), 0, -1):
        found = [_places(sessions[i::n], sizes, beside) for i in range(n)]
        if all(fits for _, fits in found):
            break
    members = [set(places) for places, _ in found]
    if any(len(team) > 1 for team in members):
        tell(f"the index is spread over GPUs, as no GPU has room for all {len(sizes)} parts")
    for session in sessions:
        if not any(session in team for team in members):
            tell(f"GPU {session.number} is idle: there is no part of the index for it, or no room")
    return [places for places, _ in found]


def _places(team: "Sequence[GpuSession]", sizes: list[int], beside: int) -> "tuple[list[GpuSession], bool]":
    """(the GpuSession of each part, whether all fit): the largest first, to whoever has most room left."""
    left = {session: session.memory - beside for session in team}
    places = [team[0]] * len(sizes)
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part]):
        places[part] = max(team, key=lambda session: left[session])
        left[places[part]] -= sizes[part]
    return places, all(left[session] >= 0 for session in places)


def for_each(found: Sequence[Any], n_threads: int) -> list:
    """(team, how many of n_threads threads it has, one at least) of each of the teams."""
    return [(team, max((n_threads + i) // len(found), 1)) for i, team in enumerate(found)]
