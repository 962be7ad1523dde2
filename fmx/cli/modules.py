"""A group of commands, each a module that is imported when it is used."""

import importlib
import pkgutil

import click


class Modules(click.Group):
    """The modules of a ``package``, each of which has a click command named ``command``."""

    def __init__(self, *arguments, package, **options):
        super().__init__(*arguments, **options)
        self.package = package

    def list_commands(self, ctx):
        """Names of the modules, in order."""
        return [module.name for module in pkgutil.iter_modules(self.package.__path__) if not module.ispkg]

    def get_command(self, ctx, name):
        """The command of a module, None if there is none of that name."""
        if name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"{self.package.__name__}.{name}").command
