"""fmx compile: machine code for this processor, compiled ahead of time."""

from types import SimpleNamespace

import click

from ...errors import FmxError, n_of
from .. import options

_RATE = 25  # kB of machine code per second and core


@options.command
@click.option("--list", "only_list", is_flag=True,
              help="List all functions and whether they are compiled; do not compile them.")  # fmt: skip
@options.threads
@options.quiet
def command(args: SimpleNamespace) -> None:
    """Compile all of fmx for this processor ahead of time.

    What pip did not compile is compiled by the first command that needs it. Machine code is stored in
    $FMX_CACHE/fmx, $XDG_CACHE_HOME/fmx or ~/.cache/fmx.

    Examples:
    fmx compile
    """
    from ...compiler import ahead, object_cache
    from ...machines.progress import Progress

    ahead.import_bodies()
    every = ahead.functions()
    missing = [entry for entry in every if not ahead.is_kept(entry)]
    if args.only_list:
        for entry in every:
            name, *kinds = entry.name.split()
            state = "not compiled" if entry in missing else "compiled"
            click.echo(f"{name}\t{entry.size} kB\t{state}\t{' '.join(kinds)}")
        return
    where = object_cache.folder()
    if where is None or not object_cache.can_keep():
        what = f"{where} is not writable, or open to others" if where else "there is no home directory"
        raise FmxError(f"{what}: set FMX_CACHE to a folder that only you can access")
    progress = Progress(args.quiet)
    if missing:
        n = min(args.threads, len(missing))
        seconds = sum(entry.size for entry in missing) / _RATE / n
        progress.say(
            f"compiling {n_of(len(missing), 'function')}, which takes about {max(1, round(seconds))} s ..."
        )
        failed = ahead.compile_all(missing, n, listener=progress)
        if failed:
            some = f"{n_of(len(failed), 'function')} could not be compiled, such as"
            raise FmxError(f"{some} {failed[0].name.split()[0]}: run the command again")
    n_bytes = sum(path.stat().st_size for path in where.glob("*.o"))
    progress.say(f"{n_of(len(every), 'function')} compiled; {n_bytes / 1e6:.1f} MB in {where}")
