"""fmx compile: machine code for this processor, before it is needed."""

import os
from types import SimpleNamespace
from typing import Any

import click

from ... import options
from ...errors import FmxError, n_of


@options.command
@click.option(
    "--list", "lists", is_flag=True, help="List all functions and whether they are compiled; compile none."
)
@click.option("--shared", is_flag=True, help="Store the code with fmx itself, for all users: run as root.")
@click.option(
    "--for",
    "level",
    type=click.Choice(["x86-64-v3", "x86-64-v4"]),
    help="Compile for all processors with AVX2 (v3) or AVX-512 (v4) instead of this one.",
)
@options.threads
@options.quiet
def command(given: SimpleNamespace) -> None:
    """Compile all of fmx for this processor ahead of time.

    Without it, each command compiles what it needs on its first run. Machine code is stored in $FMX_CACHE,
    $XDG_CACHE_HOME/fmx or ~/.cache/fmx.

    Examples:
    fmx compile
    fmx compile --shared
    """
    from ...compiler import ahead, native, object_cache
    from ...machines.progress import Progress

    if given.level:
        os.environ.update(NUMBA_CPU_NAME=given.level, NUMBA_CPU_FEATURES=native.LEVELS[given.level])
    if given.shared:
        object_cache.keep_for_all()
    ahead.import_bodies()
    every = list(ahead.known().values())
    if given.lists:
        for entry in every:
            name, *kinds = entry.name.split()
            state = "kept" if ahead.is_kept(entry) else "-"
            click.echo(f"{name}\t{entry.size} kB\t{state}\t{' '.join(kinds)}")
        return
    where = object_cache.folder()
    if where is None or not object_cache.is_kept():
        raise FmxError(f"{where or 'no home'}: this folder cannot be kept from others; name one by FMX_CACHE")
    progress, missing = Progress(given.quiet), [entry for entry in every if not ahead.is_kept(entry)]
    if missing:
        _compile(missing, min(given.threads, len(missing)), given.shared, progress)
    size = sum(path.stat().st_size for path in where.iterdir())
    progress.say(f"{n_of(len(every), 'function')} in {where}, {size / 1e6:.1f} MB")


def _compile(missing: list, n: int, shared: bool, progress: Any) -> None:
    from ...compiler import ahead

    progress.say(f"compiling {n_of(len(missing), 'function')} ...")
    with ahead.workers(n, shared) as started:
        failed = started.compile(missing, progress)
    if failed:
        raise FmxError(f"{n_of(len(failed), 'function')} not compiled, as {failed[0].name.split()[0]}")
