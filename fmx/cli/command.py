"""The class of all commands: help in groups, examples, and errors that suggest the right option."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import click

from ..machines.places import wake

ELSEWHERE = {  # option of ours: its names in other programs; the first that a command has is advised
    "--threads": "-p -j -@ --cores --cpus --jobs --nthreads --num-threads",
    "--mismatches": "-v -n -N",
    "--version": "-v",
    "--format sam": "-S --sam",
    "--format bam": "-b --bam",
    "--min-insert": "-I --minins",
    "--max-insert": "-X --maxins",
    "--forward-only": "--norc",
    "--reverse-only": "--nofw",
    "--no-unmapped": "--no-unal -F",
    "--trim5": "-5",
    "--trim3": "-3",
    "--skip": "-s",
    "--first": "-u --qupto",
    "--rg": "-R --rg-id --sam-RG",
    "--names": "--sample-label",
    "--mumreference": "--mumcand",
    "--gap": "--gapopen",
    "-1": "--read1",
    "-2": "--read2",
    "-x": "--ref",
    "--engine cuda": "--gpu --cuda",
    "--un": "--un-gz --un-conc --un-conc-gz",
    "--al": "--al-gz --al-conc --al-conc-gz",
}
_BY_FIRST_BYTE = "leave it out; FASTA and FASTQ are recognized by their first byte"
_ONE_GPU = "leave it out; it uses one GPU (--device); to use several, run a --shard on each"
ADVICE: dict[str, dict[str, str]] = {  # of one command: about options of other programs, or former ones
    "search": {
        "use -1 and -2": "--paired",
        "leave it out; the output is SAM; -o FILE writes it to a file": "-S --sam",
        _BY_FIRST_BYTE: "-f",
        "leave it out; 'fmx locate -p SEQUENCE' searches for sequences that are given as arguments": "-c",
        "leave it out; reads are given without an option": "-U --reads --input",
        "leave it out; every occurrence is always found": "-y",
        "leave it out; a hit is always as long as the read": "--end-to-end",
        "leave it out; a hit is always as long as the read; --trim5 and --trim3 trim reads": "--local",
        "leave it out; reads are matched whole, without seeds": "-L --seedlen",
        "leave it out; hits with the fewest mismatches always come first": "--best",
        "leave it out; records are always in the order of the reads": "--reorder",
        "leave it out; processes always share the memory of an index": "--mm",
        "leave it out; qualities are written unchanged": "--phred33-quals --phred64-quals",
        _ONE_GPU: "--gpus",
    },
    "count": {
        "use --report FILE.json": "--json", "use --report FILE.tsv": "--stats",
        "leave it out; -o FILE names the output": "-n",
        "leave it out; reads are given without an option": "--fastq",
    },
    "locate": {"leave it out; every occurrence is always listed": "-a -k --all", _ONE_GPU: "--gpus"},
    "mem": {"leave it out; only A, C, G and T ever match": "-n", _BY_FIRST_BYTE: "-f", _ONE_GPU: "--gpus"},
    "index": {
        "use -o to name the index, or -t for threads": "-p", "use -o": "--prefix -n",
        "leave it out; a reference is always FASTA": "-f",
    },
    "pairwise": {
        "use --format paf": "--paf", "use --shard, and run shards that stopped again": "--checkpoint",
    },
}  # fmt: skip

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


def no_such_option(error: click.NoSuchOption, ctx: click.Context, args: Sequence[str]) -> click.UsageError:
    """Return the error for an unknown option of ``args``: suggests one, or explains why none is needed."""
    types = {name: param.type for param in ctx.command.params for name in param.opts if name[:1] == "-"}
    spelling, command = error.option_name, ctx.command_path.removeprefix("fmx ")
    what = f"no option {spelling} in '{ctx.command_path}'"
    for advice in _whose(spelling, ADVICE.get(command, {})):
        return click.UsageError(f"{what}: {advice}", ctx)
    for ours in _whose(spelling, ELSEWHERE):
        name, _, value = ours.partition(" ")
        if name in types and (not value or value in getattr(types[name], "choices", ())):
            return click.UsageError(f"{what}: use {ours}", ctx)
    from difflib import get_close_matches  # only for errors

    with_one_dash = [f"-{word}" for word in args if word[:2] == spelling and f"-{word}" in types]
    words = {name.lstrip("-"): name for name in types}
    close = [words[word] for word in get_close_matches(spelling.lstrip("-"), words, 1, 0.65)]
    if similar := with_one_dash or close:
        return click.UsageError(f"{what}: did you mean {similar[0]}?", ctx)
    return click.UsageError(f"{what}; see '{ctx.command_path} --help'", ctx)


def _whose(spelling: str, names: dict[str, str]) -> list[str]:
    return [ours for ours, theirs in names.items() if spelling in theirs.split()]


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
