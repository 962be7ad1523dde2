"""One file a kind of case.  Each has SHARE of the time, make(rng, folder), check(case, outcomes, folder).

make     -> Case, from what the world holds in ``folder``
check    -> list of what is wrong with the outcomes of the commands that were run, in the case's ``folder``
prepare  (world's folder) what takes long, before the clock starts; optional
smaller  (case) -> cases with a piece less; optional
"""


def judged(oracle, *given) -> list:
    """What an oracle that asserts has to say of an output: output that it cannot even read is wrong, too."""
    try:
        oracle(*given)
    except (AssertionError, ValueError, LookupError, StopIteration, OSError) as error:
        return [f"wrong output: {type(error).__name__} {str(error)[:300]}".strip()]
    return []
