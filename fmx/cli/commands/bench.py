"""fmx bench: measure this machine; the commands of fmx/bench."""

import click

from ... import bench
from ..main import Modules


@click.group(cls=Modules, package=bench, functions=bench.COMMANDS)
def command() -> None:
    """Measure this machine, and compare fmx with other tools."""
