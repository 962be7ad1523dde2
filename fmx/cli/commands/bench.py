"""fmx bench: measure this machine; one module of fmx/bench a question."""

import click

from ... import bench
from ..main import Modules


@click.group(cls=Modules, package=bench)
def command():
    """Measure this machine, and compare fmx with other tools."""
