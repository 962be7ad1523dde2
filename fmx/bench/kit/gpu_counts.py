"""How many GPUs a benchmark tries, one after the other."""

from ...options import ALL_GPUS


def steps_to(n) -> list:
    """1, 2, 4 ... up to n, and n."""
    return sorted({1 << i for i in range(n.bit_length())} | {n})


def counts_of(first, asked) -> list:
    """The same up to as many as --gpus asks for, one by itself, from GPU number ``first`` on."""
    if asked == ALL_GPUS:
        from ...machines import gpu

        asked = gpu.n_devices() - first
    return steps_to(max(asked or 1, 1))
