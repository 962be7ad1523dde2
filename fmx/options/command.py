"""A command of click that takes each option once, and knows what other programs call its options."""

from difflib import get_close_matches

import click

from .foreign import ELSEWHERE, NEEDLESS


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
