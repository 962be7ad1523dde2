"""fmx bench roofline: how many random entries a second a GPU fetches, by entry size, group and footprint.

The address of each fetch is computed from what the one before brought, as in backward search: the papers'
figures 3 and 10 (Chacon et al. 2015).
"""

import click

from .. import options
from .kit.options import count, output


@click.command(cls=options.Command)
@output("roofline")
@options.device
@count("--largest", default="64G", help="Bytes of the largest footprint.")
def command(output, device, largest):
    """Measure random access to a GPU's memory.

    By size of the entry, threads that fetch it together, and size of the memory that it lies in.
    """
    from ..machines import gpu
    from ..measure import gpu_timing, roofline
    from .kit import figures

    name = gpu_timing.open_gpu(device)
    with gpu.errors():
        rows = roofline.table([n for e in range(-2, 7) if (n := int(roofline.GB * 2.0**e)) <= largest])
    figures.keep(output, "roofline", name, rows)
