"""fmx bench: the commands of fmx/bench, which measure this machine."""

import click

from ... import bench
from ..main import Modules


@click.group(cls=Modules, package=bench, functions=bench.COMMANDS)
def command() -> None:
    """Measure this machine, and compare fmx with other tools.

    \b
    fmx bench map ref.fa --simulate 1000000    time fmx and bowtie
    fmx bench modes ref.fa                     time each mode of fmx search
    """
