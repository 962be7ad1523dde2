"""The class of all commands: help in groups, and examples."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import click

from ..machines.places import wake

GENERAL = "General"  # heading of the options without a group; the last one
CLUSTER, GPU = "Cluster", "GPU"
_MACHINES = {CLUSTER: "clusters", GPU: "GPUs"}  # headings of options that only --help-all shows
_MOST = 22  # width of the longest option and value that help writes on one line with its text
_SHOWS_ALL = "fmx.help_all"  # in a context's meta: help shows rarely used options, too
TYPED = "fmx.typed"  # in a context's meta: {parameter: its value as typed}
_EXAMPLES = "\nExamples:\n"  # in a docstring: the rest is examples, one command per line


class Command(click.Command):
    """A command with help in groups, which refuses repeated options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the options under their headings; rare ones only for --help-all."""
        with formatter.section("Examples"):
            for line in (self.epilog or "").splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        headings = self.headings(ctx, ctx.meta.get(_SHOWS_ALL, False))
        rows = {heading: [record_of(each, ctx) for each in options] for heading, options in headings.items()}
        names = [len(name) for of_heading in rows.values() for name, _ in of_heading]
        width = max(n for n in names if n <= _MOST)  # of the first column of all headings
        for heading, of_heading in rows.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in of_heading], col_max=width)

    def headings(self, ctx: click.Context, has_rare: bool = True) -> dict[str, list[click.Option]]:
        """Return {heading: its visible options}, in order; ``has_rare``: include rarely used options."""
        by_heading: dict[str, list[click.Option]] = {}
        for param in self.get_params(ctx):
            is_shown = has_rare or not getattr(param, "is_rare", False)
            if isinstance(param, click.Option) and is_shown and not param.hidden:
                by_heading.setdefault(getattr(param, "heading", GENERAL), []).append(param)
        by_heading[GENERAL] = by_heading.pop(GENERAL)  # moved to the end; always there, as it has --help
        return by_heading

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: the examples come before the options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments into the context.  Raises UsageError."""
        words = list(args)
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            self.refuse_repeats(ctx, words)
        return rest

    def refuse_repeats(self, ctx: click.Context, args: list[str]) -> None:
        """Raise UsageError for an option that is given more than once; flags may repeat."""
        ctx.meta[TYPED], _, order = self.make_parser(ctx).parse_args(list(args))
        for i, param in enumerate(order):
            may_repeat = not isinstance(param, click.Option) or param.multiple or param.is_flag
            if param in order[:i] and not may_repeat:
                raise click.UsageError(f"{param.get_error_hint(ctx)} is given more than once", ctx)


def record_of(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return (names and value, text with the default) of an option for help."""
    name, text = option.get_help_record(ctx) or ("", "")
    return name, re.sub(r"\[default: \((.*)\)\]$", r"[default: \1]", text)  # click adds parentheses


def help_all(params: Iterable[click.Parameter] = ()) -> click.Option:
    """Return --help-all; help lists it only if ``params`` has rare ones: else it shows the same as --help."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[_SHOWS_ALL] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    rare_ones = [getattr(param, "heading", None) for param in params if getattr(param, "is_rare", False)]
    machines = [words for heading, words in _MACHINES.items() if heading in rare_ones]
    more = f", also those for {' and '.join(machines)}" if machines else ""
    return click.Option(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show,
        hidden=not rare_ones, help=f"Show all options{more}.",
    )  # fmt: skip


def command(function: Callable[[SimpleNamespace], Any]) -> click.Command:
    """Make a click command of a function that takes all values as one object: ``args.threads`` and so on.

    The function's docstring is the help; lines after "Examples:" are its examples.
    """

    @functools.wraps(function)
    def call(**args: Any) -> Any:
        is_elsewhere = args.get("scheduler") or args.get("scheduler_file")
        if args.get("engine", "cpu") not in ("cpu", "auto") and not is_elsewhere:  # auto may not need a GPU
            wake(args.get("device") or 0)
        return function(SimpleNamespace(**args))

    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition(_EXAMPLES)
    make = click.command(cls=Command, help=text.rstrip(), epilog=inspect.cleandoc(examples) or None)
    new_command = make(call)
    new_command.params.append(help_all(new_command.params))
    return new_command


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order."""
    return lambda function: functools.reduce(lambda function, add: add(function), reversed(options), function)


def group(heading: str, *options: Decorator) -> Decorator:
    """Return a decorator that adds options, in this order, under a heading of --help."""
    marked = _marked("heading", heading, options)
    return rare(marked) if heading in _MACHINES else marked


def rare(*options: Decorator) -> Decorator:
    """Return a decorator that adds rarely used options: only --help-all and the manual page show them."""
    return _marked("is_rare", True, options)


def _marked(name: str, value: str | bool, options: tuple[Decorator, ...]) -> Decorator:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        n_before = len(getattr(function, "__click_params__", ()))
        function = together(*options)(function)
        for param in function.__click_params__[n_before:]:  # type: ignore[attr-defined]
            setattr(param, name, value)
        return function

    return add
