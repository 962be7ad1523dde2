"""Whether what a GPU must hold fits into its memory: the one sentence for where it does not."""

from ..errors import DeviceError


def memory_beside(memory, resident, least, what="the index") -> int:
    """Bytes of ``memory`` beside ``resident`` ones.  Raises DeviceError if they are fewer than ``least``."""
    if memory - resident < least:
        raise DeviceError(
            f"{what} needs {(resident + least) / 1e9:.3g} GB of GPU memory with its buffers, and "
            f"{memory / 1e9:.3g} GB may be used: raise --gpu-memory, free memory, name a smaller --layout, "
            "or take --engine cpu"
        )
    return memory - resident
