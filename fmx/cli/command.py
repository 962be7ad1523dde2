"""The class of all commands: help in groups, and examples."""

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from ..machines.places import wake

GENERAL = "General"  # heading of the options without a group; the last one
CLUSTER, GPU = "Cluster", "GPU"  # headings that only --help-all shows
_SHOWS_ALL = "fmx.help_all"  # in a context's meta: whether help shows these, too
_WIDTH = 22  # of the column of names in help
_EXAMPLES = "\nExamples:\n"  # in a docstring: the rest is examples, one command per line


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print all options and exit, if ``value``."""
    if value and not ctx.resilient_parsing:
        ctx.meta[_SHOWS_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
    help="Show all options, also those for clusters or GPUs.",
)  # fmt: skip


class Command(click.Command):
    """A command with help in groups."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all parameters; --help-all is the last, where there is more than --help shows."""
        params = super().get_params(ctx)
        has_more = any(getattr(param, "heading", "") in (CLUSTER, GPU) for param in params)
        return [*params, _HELP_ALL] if has_more else params

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the options under their headings."""
        with formatter.section("Examples"):
            for line in (self.epilog or "").splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        for heading, options in self.headings(ctx).items():
            if heading in (CLUSTER, GPU) and not ctx.meta.get(_SHOWS_ALL):
                continue
            records = (option.get_help_record(ctx) or ("", "") for option in options)
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{_WIDTH}}", text) for name, text in records], col_max=_WIDTH)

    def headings(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return {heading: its options}, in order."""
        by_heading: dict[str, list[click.Option]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option):
                by_heading.setdefault(getattr(param, "heading", GENERAL), []).append(param)
        by_heading[GENERAL] = by_heading.pop(GENERAL)  # moved to the end; always there, as it has --help
        return by_heading

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: the examples come before the options."""


def command(function: Callable[[SimpleNamespace], Any]) -> click.Command:
    """Make a click command of a function that takes all values as one object: ``args.threads`` and so on.

    Its docstring is the help, with examples after "Examples:".  With --engine cuda, it first wakes the GPU.
    """

    @functools.wraps(function)
    def call(**args: Any) -> Any:
        is_elsewhere = args.get("scheduler") or args.get("scheduler_file")
        if args.get("engine", "cpu") not in ("cpu", "auto") and not is_elsewhere:  # auto may not need a GPU
            wake(args.get("device") or 0)
        return function(SimpleNamespace(**args))

    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition(_EXAMPLES)
    make = click.command(cls=Command, help=text.rstrip(), epilog=inspect.cleandoc(examples) or None)
    return make(call)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def group(heading: str, *options: Decorator) -> Decorator:
    """Return a decorator that adds options, in this order, under a heading of --help, or their own if ""."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        n_before = len(getattr(function, "__click_params__", ()))
        for option in reversed(options):
            function = option(function)
        for param in function.__click_params__[n_before:] if heading else ():  # type: ignore[attr-defined]
            param.heading = heading
        return function

    return add


together = functools.partial(group, "")
