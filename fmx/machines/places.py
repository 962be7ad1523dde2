"""Where work is done: on the CPU, on a GPU, or wherever it can be."""

from dataclasses import dataclass

from ..errors import DeviceError


@dataclass(frozen=True)
class Device:
    """Where work is done: ``engine`` cpu, cuda, auto, one of engines.CUDA, or both (pairwise); the number of
    a GPU (None, of pairwise: all GPUs), and how much of its memory may be used, in bytes (None: all)."""

    engine: str = "cpu"
    number: int | None = 0
    memory: int | None = None


CPU = Device()


def choose_place(device, on_gpu, on_cpu, tell):
    """What ``on_gpu(session)`` gives for an opened GPU, or ``on_cpu()`` where a Device asks for the CPU.

    So does engine auto where there is no GPU, or none that will do.  ``tell`` is given one line on where, and
    why, unless the CPU was asked for.  Raises DeviceError.
    """
    if device.engine == "cpu":
        return on_cpu()
    try:
        from .gpu_session import GpuSession

        session = GpuSession(device.number, device.memory)
        made = on_gpu(session)
    except DeviceError as error:
        if device.engine != "auto":
            raise
        tell(f"the CPU: {error}")
        return on_cpu()
    tell(str(session))
    return made
