"""Options as other programs call them: what to say here instead."""

from difflib import get_close_matches

import click

ELSEWHERE: dict[str, tuple[str, ...]] = {  # a command names the first whose option it has
    **dict.fromkeys(("-p", "-j", "-@", "--cores", "--cpus", "--jobs", "--nthreads"), ("--threads",)),
    "--num-threads": ("--threads",),
    "-v": ("--mismatches", "--version"),
    "-S": ("--format sam",),
    "--sam": ("--format sam",),
    "-b": ("--format bam",),
    "--bam": ("--format bam",),
    "-I": ("--min-insert",),
    "--minins": ("--min-insert",),
    "-X": ("--max-insert",),
    "--maxins": ("--max-insert",),
    "--norc": ("--forward-only",),
    "--nofw": ("--reverse-only",),
    "--no-unal": ("--no-unmapped",),
    "-5": ("--trim5",),
    "-3": ("--trim3",),
    "-s": ("--skip",),
    "-u": ("--first",),
    "--qupto": ("--first",),
    "-R": ("--rg",),
    "--rg-id": ("--rg",),
    "--sam-RG": ("--rg",),
    "--sample-label": ("--names",),
}

_TOLD_APART = "FASTA and FASTQ are told apart by their first byte"
NEEDLESS: dict[str, dict[str, str]] = {  # of a command: why it does without
    "search": {
        "-S": "SAM is what it writes",
        "--sam": "SAM is what it writes",
        "-f": _TOLD_APART,
        "-U": "reads are named without an option",
        "-y": "every occurrence is found in any case",
        "--best": "hits with the fewest mismatches come first in any case",
        "--reorder": "records are in the order of the reads in any case",
        "--mm": "processes share the memory of an index in any case",
        "--phred33-quals": "qualities are written as they are read",
        "--phred64-quals": "qualities are written as they are read",
    },
    "mem": {"-n": "only A, C, G and T match in any case", "-f": _TOLD_APART},
    "index": {"-f": "a reference is FASTA in any case"},
}


# A command of click that takes each option once, and knows what other programs call its options.


class Command(click.Command):
    """A command that never takes the last of several values in silence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments into the context.  Raises UsageError."""
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise no_such_option(self, ctx, error, given) from error
        if not ctx.resilient_parsing:
            self.refuse_repeats(ctx, given)
        return rest

    def refuse_repeats(self, ctx: click.Context, args: list[str]) -> None:
        """Raise UsageError for an option that is given more than once; a flag may be, which loses nothing."""
        seen: set[str | None] = set()
        for param in self.make_parser(ctx).parse_args(list(args))[2]:
            if not isinstance(param, click.Option) or param.multiple or param.count:
                continue
            if param.is_flag and not param.secondary_opts:
                continue
            if param.name in seen:
                raise click.UsageError(
                    f"{param.get_error_hint(ctx)} is given more than once: give it once", ctx
                )
            seen.add(param.name)


def no_such_option(
    command: click.Command, ctx: click.Context, error: click.NoSuchOption, args: list[str]
) -> click.UsageError:
    """What to raise where a command has not the option that it is given."""
    own = {name: param.type for param in command.params for name in param.opts if name[:1] == "-"}
    spelling = error.option_name
    what = f"no option {spelling} in '{ctx.command_path}'"
    if why := NEEDLESS.get(ctx.command_path.removeprefix("fmx "), {}).get(spelling):
        return click.UsageError(f"{what}: leave it out, {why}", ctx)
    for here in ELSEWHERE.get(spelling, ()):
        name, _, value = here.partition(" ")
        if name in own and (not value or value in getattr(own[name], "choices", ())):
            return click.UsageError(f"{what}: say {here}", ctx)
    with_one_dash = [f"-{word}" for word in args if word[:2] == spelling and f"-{word}" in own]
    if meant := with_one_dash or get_close_matches(spelling, own, 1, 0.7):
        return click.UsageError(f"{what}: did you mean {meant[0]}?", ctx)
    return click.UsageError(f"{what}; see '{ctx.command_path} --help'", ctx)
