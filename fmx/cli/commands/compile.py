"""fmx compile: machine code for this processor, compiled ahead of time."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from ... import options
from ...errors import FmxError, n_of

if TYPE_CHECKING:
    from ...machines.progress import Progress


def _checked(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return the names of one processor level, or of kinds of GPUs."""
    from ...compiler import ahead, native

    names = tuple(value.split(",")) if value else ()
    if not (set(names) <= set(ahead.GPUS) or (len(names) == 1 and names[0] in native.LEVELS)):
        levels, gpus = ", ".join(native.LEVELS), ",".join(ahead.GPUS)
        raise click.BadParameter(f"{value!r} is neither one processor ({levels}) nor a list of GPUs ({gpus})")
    return names


@options.command
@click.option(
    "--list", "lists", is_flag=True,
    help="List all functions and whether they are compiled; do not compile them.",
)  # fmt: skip
@click.option(
    "--shared", is_flag=True, help="Store the code in the installation of fmx, for all users; run as root."
)
@click.option(
    "--for",
    "targets",
    metavar="NAMES",
    callback=_checked,
    help="Compile for all processors with AVX2 (x86-64-v3) or AVX-512 (x86-64-v4), or for 64-bit ARM "
    "(aarch64), instead of this one; or compile GPU kernels, with or without a GPU: sm_80, sm_86, sm_89, "
    "sm_90, sm_100, sm_120, comma-separated.",
)
@options.threads
@options.quiet
def command(given: SimpleNamespace) -> None:
    """Compile all of fmx for this processor ahead of time.

    If you do not run fmx compile, each command compiles what it needs on its first run. Machine code is
    stored in $FMX_CACHE/fmx, $XDG_CACHE_HOME/fmx or ~/.cache/fmx.

    Examples:
    fmx compile
    fmx compile --shared
    fmx compile --for sm_80,sm_90
    """
    from ...compiler import ahead, kernels, native, object_cache
    from ...machines.progress import Progress

    gpus = [target for target in given.targets if target in ahead.GPUS]
    level = "" if gpus or not given.targets else given.targets[0]
    if level:
        native.compile_for(level)
    if given.shared:
        object_cache.keep_for_all()
    ahead.import_bodies()
    if gpus:
        kernels.compiler().check()
    every = [entry for gpu in gpus for entry in ahead.kernels_for(gpu)] or list(ahead.known().values())
    if given.lists:
        for entry in every:
            name, *kinds = entry.name.split()
            state = "compiled" if ahead.is_kept(entry) else "not compiled"
            size = f"{entry.size} kB"
            click.echo("\t".join(filter(None, (entry.gpu, name, size, state, " ".join(kinds)))))
        return
    where = object_cache.folder(object_cache.GPUS if gpus else "")
    if where is None or not object_cache.is_kept():
        what = f"{where}: other users can change this folder" if where else "there is no home directory"
        raise FmxError(f"{what}: set FMX_CACHE to a folder that only you can access")
    progress, missing = Progress(given.quiet), [entry for entry in every if not ahead.is_kept(entry)]
    if missing:
        _compile(missing, min(given.threads, len(missing)), given.shared, level, progress)
    n_bytes = sum(path.stat().st_size for path in where.iterdir())
    progress.say(f"{n_of(len(every), 'kernel' if gpus else 'function')} in {where}, {n_bytes / 1e6:.1f} MB")


def _compile(missing: list, n: int, shared: bool, level: str, progress: "Progress") -> None:
    from ...compiler import ahead

    progress.say(f"compiling {n_of(len(missing), 'function')} ...")
    with ahead.workers(n, shared, level) as started:
        failed = started.compile(missing, progress)
    if failed:
        raise FmxError(
            f"{n_of(len(failed), 'function')} could not be compiled, such as {failed[0].name.split()[0]}: "
            "run the command again"
        )
