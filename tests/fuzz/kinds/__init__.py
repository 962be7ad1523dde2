"""One file a kind of case.  Each has SHARE of the time, make(rng, folder) -> Case, check(case, results) -> list.

``folder`` holds the world's indexes; ``results`` is a list of (Outcome, folder of the case) of the commands that
were run.
"""
