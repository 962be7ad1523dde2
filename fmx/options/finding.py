"""Which index a command takes: one that is named, or the only one that is here."""

import os
from pathlib import Path

import click

from ..errors import IndexFileError


def one_index(given):
    """The index that is named as an argument or with -x, or None."""
    if given.argument and given.index_path:
        raise click.UsageError("name the index once: as INDEX or with -x")
    return given.argument or given.index_path


def find_indexes(paths) -> tuple:
    """The indexes to use: those that are named, or the one that is found.  Raises as find_index."""
    places = [os.path.realpath(find_index(path)) for path in paths]
    if len(set(places)) < len(places):
        raise click.UsageError(f"{paths[-1]}: name each index once")
    return tuple(map(find_index, paths or [None]))


def find_index(path) -> Path:
    """The index to use, as index_at finds it.  Raises IndexFileError if none is named, or found here."""
    chosen = path or os.environ.get("FMX_INDEX")
    if chosen:
        from ..index.disk import index_at

        return index_at(chosen)
    found = sorted(Path().glob("*.fmx"))
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(map(str, found[:5]))
        raise IndexFileError(f"several indexes here ({listed}); name one with -x or FMX_INDEX")
    raise IndexFileError(
        "no index: name one with -x or FMX_INDEX, or build one with 'fmx index REFERENCE.fa'"
    )
