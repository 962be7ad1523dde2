"""A group of commands, each a module that is imported when it is used."""

import importlib
import pkgutil
from difflib import get_close_matches

import click

from ..options.command import no_such_option

_ELSEWHERE = {  # what other programs call commands
    "map": "search", "align": "search", "build": "index", "find": "locate", "grep": "locate",
    "mummer": "mem", "info": "inspect", "stats": "inspect",
}  # fmt: skip


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

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple:
        """The command that the first argument names.  Raises UsageError, with what may be meant."""
        word, names = args[0], self.list_commands(ctx)
        if word in names or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        other = _ELSEWHERE.get(word)
        meant = [other] if other in names else get_close_matches(word, names, 1)
        advice = f": did you mean {meant[0]}?" if meant else f"; there are {', '.join(names)}"
        raise click.UsageError(f"no command {word}{advice}", ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the group's own options into the context.  Raises UsageError."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise no_such_option(self, ctx, error, given) from error
