"""Compile machine code for a wheel, and print its folder, which is in that of FMX_CACHE.

python docs/packaging/machine_code.py: what the usual commands need, for this processor; all functions, for
the processors that FMX_COMPILE_FOR names.  With names of GPUs, as sm_80,sm_90: all kernels.
"""

import os
import sys

from fmx.compiler import ahead, object_cache

MOST = 16  # processes, of some 200 MB each


def main(gpus: str = "") -> None:
    """Compile on all cores.  Exits with a message if nothing, or not all for a target, can be compiled."""
    level = os.environ.get("FMX_COMPILE_FOR")
    ahead.import_bodies()
    entries = [entry for gpu in gpus.split(",") if gpu for entry in ahead.kernels_for(gpu)]
    if not gpus:
        entries = [entry for entry in ahead.functions() if level or entry.is_usual]
    failed = ahead.compile_all(entries, min(len(os.sched_getaffinity(0)), MOST))
    if failed and (gpus or level or len(failed) == len(entries)):
        sys.exit(f"{len(failed)} functions could not be compiled, such as {failed[0].name.split()[0]}")
    print(object_cache.folder(object_cache.GPUS if gpus else ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
