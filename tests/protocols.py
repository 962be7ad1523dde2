"""Whether a class has what a Protocol asks for: its methods, with as many parameters, and its attributes."""

import inspect


def missing(protocol, made) -> list:
    """Names of what an object lacks, or has with parameters that a caller of the protocol cannot know."""
    found = []
    bases = [base for base in reversed(protocol.__mro__) if getattr(base, "_is_protocol", False)]
    members = {name: asked for base in bases for name, asked in vars(base).items()}
    for name, asked in members.items():
        if name.startswith("_") and name not in ("__enter__", "__exit__"):
            continue
        own = getattr(made, name, None)
        if inspect.isfunction(asked):
            n = len(inspect.signature(asked).parameters) - 1
            if not callable(own) or not takes(own, n):
                found.append(name)
        elif not hasattr(made, name):
            found.append(name)
    asked_for = {name for base in bases for name in vars(base).get("__annotations__", {})}
    return found + sorted(name for name in asked_for if not hasattr(made, name))


def takes(function, n) -> bool:
    """Can it be called with n arguments by their places?"""
    given = inspect.signature(function).parameters.values()
    by_place = [each for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = [each for each in by_place if each.default is each.empty]
    return len(needed) <= n and (
        len(by_place) >= n or any(each.kind is each.VAR_POSITIONAL for each in given)
    )
