"""The place of work: the CPU or GPUs, by the options and, with ``--engine auto``, by a rule."""

import os
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from ctypes import CDLL, byref, c_int, c_void_p
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any

from ..compiler import SIMULATED
from ..errors import DeviceError

if TYPE_CHECKING:
    from .gpu import GpuSession


@dataclass(frozen=True)
class Device:
    """The place of work that the options select.

    ``engine``: cpu, cuda, auto, one of GPU_ENGINES (limits.py), or both (pairwise); ``n_gpus``: number of
    GPUs (None: all; only pairwise uses several), from number ``first``; ``memory``: bytes that may be used
    on each (None: all).
    """

    engine: str = "cpu"
    first: int = 0
    memory: int | None = None
    n_gpus: int | None = 1


CPU = Device()

# Engine auto: a GPU maps large inputs, whose time is longer than its start and the copy of the index there.

LARGE = 10**9  # bytes of plain FASTQ from which on a GPU is faster (docs/gpus.md)
BGZF_RATIO = 4  # bytes of FASTQ in a byte of BGZF: 3.8 and 4.3 for reads of 50 bases from two sequencers
_HEAD, _BGZF = 1 << 12, b"\x1f\x8b\x08\x04"


def is_large(paths: Iterable[Any], n_shards: int = 1) -> bool:
    """Return whether files of reads, divided by ``n_shards``, are so large that a GPU maps them faster.

    They must be regular files of plain or BGZF-compressed FASTQ or FASTA: others are limited by the CPU.
    """
    sizes = [_text_bytes(path) for path in paths]
    return all(sizes) and sum(sizes) >= LARGE * n_shards


def _text_bytes(path: Any) -> int:
    """Return the bytes of a file of reads, about those after decompression; 0 if it does not suit a GPU."""
    with suppress(OSError, zlib.error):
        if isinstance(path, str | os.PathLike) and os.path.isfile(path):
            with open(path, "rb") as file:
                head, ratio = file.read(_HEAD), 1
            if head.startswith(_BGZF) and head[12:14] == b"BC":
                head, ratio = zlib.decompressobj(31).decompress(head, 1), BGZF_RATIO
            if head[:1] in (b"@", b">"):
                return ratio * os.path.getsize(path)
    return 0


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
        from . import gpu
        from .jobs import run_all

        n_gpus = max(gpu.n_devices() - device.first, 1) if device.n_gpus is None else device.n_gpus
        numbers = range(device.first, device.first + n_gpus)
        sessions = run_all(gpu.GpuSession, [(number, device.memory) for number in numbers], n_gpus)
        result = on_gpus(sessions)
    except DeviceError as error:
        if device.engine != "auto":
            raise
        tell(f"the CPU: {error}")
        return on_cpu()
    tell(" and ".join(map(str, sessions)))
    return result
