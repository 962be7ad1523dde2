"""What tells one run from another, and into how many shards its inputs are cut."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import xxhash

from .._version import __version__
from ..errors import InputError
from ..input.streams import STANDARD

# Of cores, and of GPUs: how many before they are made larger; bytes of input of one at least, and at most.
SIZES = (64, 32 << 20, 128 << 20), (16, 256 << 20, 1 << 30)
MOST = 4096  # shards
_ENDS = 1 << 16  # bytes at both ends of an input that tell it from others of its name and size


def identity(command: str, paths: Sequence[str], metas: Sequence[dict] = (), **options: Any) -> dict:
    """What all shards of a run must have in common: JSON's types.

    ``metas`` of the indexes; ``options``: dataclasses of what was asked for, of which places do not count,
    and whose ``output`` tells what each shard leaves beside its part of it, as {option: how}.  Raises
    InputError.
    """
    for path in paths:
        if not os.path.isfile(path):
            name = "standard input" if path == STANDARD else path
            raise InputError(name, "", "cannot be cut into shards: name a file that each can open")
    beside = options["output"].beside() if "output" in options else {}
    options = {name: asked(value) for name, value in options.items()}
    return {**seen(paths, metas), "command": command, "options": options, **beside}


def seen(paths: Sequence[str], metas: Sequence[dict]) -> dict:
    """Of ``identity``, what another machine might see otherwise.  Raises InputError."""
    try:
        inputs = [[os.path.basename(path), os.path.getsize(path), _digest_of_ends(path)] for path in paths]
    except OSError as error:
        raise InputError(error.filename, "", error.strerror or str(error)) from error
    index = ",".join(map(digest_of_index, metas))
    return {"fmx": __version__, "index": index or None, "inputs": inputs}


def digest_of_index(meta: dict) -> str:
    """What names an index, by its meta.json."""
    from ..index.disk.store import digest_of

    return digest_of(meta)


def unlike(there: dict, here: dict, index_paths: Sequence[str]) -> str:
    """What a worker sees otherwise than the client, as of ``seen``, and what to do; "" if nothing."""
    if there["fmx"] != here["fmx"]:
        return (
            f"it runs fmx {there['fmx']}, and the client {here['fmx']}: install the same version everywhere"
        )
    if there["index"] != here["index"]:
        digests = zip(index_paths, *(its["index"].split(",") for its in (there, here)), strict=True)
        path = next(path for path, its, own in digests if its != own)
        return (
            f"its index {path} is of another reference than the client's: copy the client's index "
            "there, or name one that all machines see"
        )
    for (name, its_size, its_ends), (_, size, ends) in zip(there["inputs"], here["inputs"], strict=True):
        if (its_size, its_ends) != (size, ends):
            it_has = f"its {name} has {its_size:,} bytes, and the client's {size:,}"
            it_has = it_has if its_size != size else f"its {name} holds other bytes than the client's"
            return f"{it_has}: copy the client's file there, or name one that all machines see"
    return ""


def _digest_of_ends(path: str) -> str:
    with open(path, "rb") as file:
        digest = xxhash.xxh3_64(file.read(_ENDS))
        file.seek(max(file.tell(), os.path.getsize(path) - _ENDS))
        digest.update(file.read())
    return digest.hexdigest()


def absolute(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths for a process in another folder."""
    return tuple(map(os.path.abspath, paths))


def n_of_files(paths: Iterable[str], engine: str) -> int:
    """How many shards files have: whatever the cluster is, so that a second run goes on with them."""
    several, least, most = SIZES[is_gpu(engine)]
    n_bytes = sum(map(os.path.getsize, paths))
    return max(1, min(n_bytes // min(max(n_bytes // several, least), most), MOST))


def is_gpu(engine: str) -> bool:
    """Are all shards done on GPUs?"""
    return engine not in ("cpu", "auto")


def asked(value: Any) -> Any:
    """What dataclasses ask for, as JSON's types: all but places (system/files.py)."""
    return json.loads(json.dumps(value, default=_own_fields))


def _own_fields(value: Any) -> dict:
    own = [each.name for each in fields(value) if not each.metadata.get("is_place")]
    return {name: getattr(value, name) for name in own}
