"""One file a kind of case.  Each has SHARE of the time, make(rng, folder), check(case, outcomes, folder).

make     -> Case, from what the world holds in ``folder``
check    -> list of what is wrong with the outcomes of the commands that were run, in the case's ``folder``
"""

from ..oracle import RefusedError


def judged(oracle, *given) -> list:
    """What an oracle that asserts has to say of an output: output that it cannot even read is wrong, too."""
    try:
        oracle(*given)
    except (AssertionError, ValueError, LookupError, StopIteration, OSError) as error:
        return [f"wrong output: {type(error).__name__} {str(error)[:300]}".strip()]
    return []


def refused_or_right(outcome, read, check, *given) -> list:
    """What is wrong with a command: ``read()`` the records, or raise RefusedError; ``check(*given, records)``
    asserts that the output is right."""
    if outcome.code not in (0, 1):
        return [f"exit {outcome.code} of a command that was right"]
    try:
        records = read()
    except RefusedError as error:
        return [] if outcome.code else [f"took what must be refused: {error}"]
    if outcome.code:
        return [f"refused what is whole: {outcome.message.strip()[:200]}"]
    return judged(check, *given, records)
