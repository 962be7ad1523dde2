"""What tests make once, and find again on the disk beside fmx's own compiled code (FMX_CACHE)."""

from collections.abc import Callable
from typing import Any

from fmx.compiler import functions, object_cache


def cached(name: str, make: Callable[[], str]) -> str:
    """What ``make()`` gives, from the disk where it was made before under this name (one line)."""
    found = object_cache.read(name)
    if found is None:
        found = make().encode()
        object_cache.write(name, found)
    return found.decode()


def compiled(function: Callable) -> Any:
    """As fmx's own decorator, which does not keep the code of others: a test's function is found again, too.

    It may use what is fmx's or numba's, pieces, and constants: that is what a fingerprint is made of.
    """
    function.__module__ = f"fmx.{function.__module__}"
    return functions.compiled(function)
