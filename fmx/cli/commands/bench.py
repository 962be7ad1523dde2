"""fmx bench: measure this machine; one module of fmx/bench a question."""

import importlib
import pkgutil

import click

from ... import bench


class Questions(click.Group):
    """One module of fmx/bench per subcommand, imported when it is used."""

    def list_commands(self, ctx):
        return [module.name for module in pkgutil.iter_modules(bench.__path__) if not module.ispkg]

    def get_command(self, ctx, name):
        if name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"...bench.{name}", __package__).command


@click.group(cls=Questions)
def command():
    """Measure this machine, and compare fmx with other tools."""
