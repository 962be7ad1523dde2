"""What a shard says of itself, in JSON beside its part of the result.

OUT.d/0003-of-0064/manifest.json    which run, which shard, what it saw, what its body must be
OUT.d/0003-of-0064/body             its part of the result, without head and end
OUT.d/0003-of-0064/counts.tsv       its table of reads and hits per contig, if one was asked for
OUT.d/0003-of-0064/screen.json    its reads by the groups that they occur in, if that was asked for
OUT.d/0003-of-0064/facts.json       its facts for a report, if one was asked for (report/facts.py)
OUT.d/0003-of-0064/al, un ...       its reads as they came, if they were asked for
"""

import base64
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import OutputError, n_of, shown
from ..input.streams import STANDARD

MANIFEST, BODY, FACTS = "manifest.json", "body", "facts.json"
FORMAT = 3  # of manifests
_LONGEST = 60  # characters of a value in a message


@dataclass(frozen=True)
class Manifest:
    """``run``: what all shards of a run have in common; ``number`` of ``count``.

    ``begin``, ``end``: [path, byte, newlines] of input.shards.Border, or None; ``head``, ``tail``: what
    stands before the first body and after the last; ``container``: what all of it becomes
    (output/containers.py); ``files``: {name: [bytes, xxh3]} of all that lies beside
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


def shards_beside(places: Iterable[str | None]) -> str | None:
    """Where the shards of a cluster lie: beside the first of the outputs that is a file, or becomes one."""
    for path in filter(None, places):
        is_file = path != STANDARD and (os.path.isfile(path) or not os.path.exists(path))
        if is_file and os.path.isdir(os.path.dirname(os.path.abspath(path))):
            return f"{path}.shards"
    return None


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
