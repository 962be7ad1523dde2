"""With what a job is done, which never changes a byte of its result."""

from dataclasses import dataclass

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
