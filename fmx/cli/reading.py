"""Which reads fmx search maps, and which of their letters: the options, and what they mean."""

import click

from ..options import COUNT, Number, together

_LETTERS = Number(0, 2**31)

reading = together(
    click.option("--trim5", type=_LETTERS, metavar="N", help="Cut N letters off the start of each read."),
    click.option("--trim3", type=_LETTERS, metavar="N", help="Cut N letters off the end of each read."),
    click.option(
        "--start", type=Number(1, 2**31), metavar="N", help="Begin with the N-th letter: --trim5 N-1."
    ),
    click.option("--length", type=Number(1, 2**31), metavar="N", help="Keep at most N letters of each read."),
    click.option(
        "--min-length", type=_LETTERS, metavar="N", help="Treat reads with fewer letters left as unmapped."
    ),
    click.option("--skip", type=COUNT, metavar="N", help="Leave out the first N reads, or pairs."),
    click.option(
        "--first", type=COUNT, metavar="N", help="Map only N reads, or pairs, after those of --skip."
    ),
    click.option(
        "--collapse",
        is_flag=True,
        help="Map identical reads once, as NAME_xN; N: how many they are, where they have no such names.",
    ),
)


def reading_of(given) -> dict:
    """The fields of a MapOptions that the options say.  Raises UsageError."""
    if given.start and given.trim5:
        raise click.UsageError("give only one of --start and --trim5")
    from ..input.reads import WHOLE, Trim

    begin = given.start - 1 if given.start else given.trim5 or 0
    trim, least = Trim(begin, given.trim3 or 0, given.length or WHOLE.most), given.min_length or 0
    found = {"skip": given.skip or 0, "first": given.first}
    if given.collapse:
        return {**found, "collapse": trim, "trim": Trim(least=least)}
    return {**found, "trim": trim._replace(least=least)}
