"""The seal of an index: which files were found right, so that the next open need not read them again.

Of each array that was checked it holds device, inode, size, mtime and ctime, and of meta.json a digest.  The
kernel sets ctime at every write, and nobody else can.  Seals lie with the machine code, in a folder that is
the user's alone (compiler/object_cache.py), so nobody else makes them.  One of another fmx, which may check
more, is not taken: the digest is of the sources of this room, too.
"""

import hashlib
import json
import os
from pathlib import Path

from ..compiler import object_cache
from ..system.files import tells_changes

_SETTLED = 2 * 10**9  # ns; a clock's grain is smaller, so two changes of older files have two times


def state_of(file: int) -> list | None:
    """What changes whenever the file of a descriptor does; None where no such thing is known."""
    return _state(os.fstat(file)) if tells_changes(file) else None


def _state(found) -> list:
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def read(path, meta: dict) -> dict:
    """{name: state} of the arrays that the seal of an index vouches for; empty if it has none."""
    data = object_cache.read(_name(path))
    try:
        digest, states = json.loads(data) if data is not None else ("", {})
    except (ValueError, TypeError, RecursionError):
        return {}
    return states if digest == _digest(meta) and isinstance(states, dict) else {}


def keep(path, meta: dict, states: dict, since: int) -> None:
    """Seal an index: arrays with these states, opened after ``since`` (ns of the epoch), are right.

    One that changed meanwhile, or so shortly before that one more change might not show, is left out.
    """
    held = {}
    for name, state in states.items():
        try:
            now = _state(os.stat(Path(path) / f"{name}.npy"))
        except OSError:
            continue
        if state == now and now[-1] < since - _SETTLED:
            held[name] = state
    if held:
        object_cache.write(_name(path), json.dumps([_digest(meta), held]).encode())


def _name(path) -> str:
    place = os.path.realpath(path)
    return f"seal {hashlib.sha256(os.fsencode(place)).hexdigest()}"


def _digest(meta: dict) -> str:
    checks = object_cache.sources_of(Path(__file__).parent)
    return hashlib.sha256(checks + json.dumps(meta, sort_keys=True).encode()).hexdigest()
