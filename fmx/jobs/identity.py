"""What tells one run from another, into how many shards its inputs are cut, and what each says of itself."""

import base64
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import xxhash

from .._version import __version__
from ..errors import InputError, OutputError, n_of, shown
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
    from ..index.disk.store import digest_of  # of no use to jobs without an index

    index = ",".join(map(digest_of, metas))
    return {"fmx": __version__, "index": index or None, "inputs": inputs}


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


# What a shard says of itself, in JSON beside its part of the result.
#
# OUT.d/0003-of-0064/manifest.json    which run, which shard, what it saw, what its body must be
# OUT.d/0003-of-0064/body             its part of the result, without head and end
# OUT.d/0003-of-0064/counts.tsv       its table of reads and hits per contig, if one was asked for
# OUT.d/0003-of-0064/screen.json      its reads by the groups that they occur in, if that was asked for
# OUT.d/0003-of-0064/facts.json       its facts for a report, if one was asked for (report/facts.py)
# OUT.d/0003-of-0064/al, un ...       its reads as they came, if they were asked for

MANIFEST, BODY, FACTS = "manifest.json", "body", "facts.json"
FORMAT = 3  # of manifests
_LONGEST = 60  # characters of a value in a message


@dataclass(frozen=True)
class Manifest:
    """``run``: what all shards of a run have in common; ``number`` of ``count``.

    ``begin``, ``end``: [path, byte, newlines] of input.shards.Border, or None; ``head``, ``tail``: what
    stands before the first body and after the last; ``container``: what all of it becomes
    (output/run.py); ``files``: {name: [bytes, xxh3]} of all that lies beside
    the manifest; ``summary``: numbers that add up.
    """

    run: dict
    number: int
    count: int
    begin: list | None
    end: list | None
    is_empty: bool
    head: bytes
    tail: bytes
    container: dict
    files: dict
    seconds: float
    summary: dict = field(default_factory=dict)

    def to_json(self) -> str:
        fields = {**asdict(self), "format": FORMAT}
        for name in ("head", "tail"):
            fields[name] = base64.b64encode(fields[name]).decode()
        return json.dumps(fields, indent=1)


def name_of(number: int, count: int) -> str:
    """The folder of a shard."""
    return f"{number:04}-of-{count:04}"


def read_manifest(folder: str | Path) -> Manifest:
    """What lies in the folder of a shard.  Raises OutputError."""
    path = Path(folder) / MANIFEST
    try:
        fields: dict[str, Any] = json.loads(path.read_text())
        if fields.pop("format") != FORMAT:
            raise OutputError(
                f"{path}: written by another version of fmx; remove {folder} and do this shard again"
            )
        for name in ("head", "tail"):
            fields[name] = base64.b64decode(fields[name], validate=True)
        return Manifest(**fields)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}; do this shard again") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OutputError(f"{path}: damaged; remove {folder} and do this shard again") from error


def difference(one: dict, other: dict) -> str:
    """What two runs differ in, in words; "" if they are the same."""
    if one.get("inputs") != other.get("inputs"):
        return f"inputs: {_unlike(one['inputs'], other['inputs'])}"
    for key in sorted({*one, *other}):
        mine, yours = one.get(key), other.get(key)
        if mine == yours:
            continue
        if isinstance(mine, dict) and isinstance(yours, dict):
            return f"{key}: {difference(mine, yours)}"
        if key.startswith("--") and not (mine and yours):  # what shards of a run leave beside their part
            return f"{'with' if mine else 'without'} {key}"
        return f"{key} {_shortened(mine)}, not {_shortened(yours)}"
    return ""


def _unlike(one: list, other: list) -> str:
    """What lists of inputs (name, bytes, digest) differ in."""
    for (name, size, *_), (its_name, its_size, *_) in zip(one, other, strict=False):
        if name != its_name:
            return f"{shown(name)}, not {shown(its_name)}"
        if size != its_size:
            return f"{shown(name)} of {size:,} bytes, not {its_size:,}"
    if len(one) != len(other):
        return f"{n_of(len(one), 'file')}, not {len(other):,}"
    names = [mine[0] for mine, its in zip(one, other, strict=True) if mine != its]
    return f"{shown(names[0])} with other contents"


def _shortened(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
