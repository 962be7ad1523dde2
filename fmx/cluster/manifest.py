"""What a shard says of itself, in JSON beside its part of the result.

OUT.d/0003-of-0064/manifest.json    which run, which shard, what it saw, what its body must be
OUT.d/0003-of-0064/body             its part of the result, without head and end
OUT.d/0003-of-0064/counts.tsv       its table of reads and hits per contig, if one was asked for
OUT.d/0003-of-0064/facts.json       its facts for a report, if one was asked for (report/facts.py)
OUT.d/0003-of-0064/al, un ...       its reads as they came, if they were asked for
"""

import base64
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import OutputError

MANIFEST, BODY, COUNTS, FACTS = "manifest.json", "body", "counts.tsv", "facts.json"
FORMAT = 1  # of manifests


@dataclass(frozen=True)
class Manifest:
    """``run``: what all shards of a run have in common; ``number`` of ``count``.

    ``begin``, ``end``: [path, byte, newlines] of input.shards.Border, or None; ``head``, ``tail``: what
    stands before the first body and after the last; ``checksum`` xxh3 of the body, of ``n_bytes``;
    ``summary``: numbers that add up; ``asides``: {name: [bytes, checksum]} of reads as they came.
    """

    run: dict
    number: int
    count: int
    begin: list | None
    end: list | None
    is_empty: bool
    head: bytes
    tail: bytes
    n_bytes: int
    checksum: str
    seconds: float
    summary: dict = field(default_factory=dict)
    has_counts: bool = False
    has_facts: bool = False
    asides: dict = field(default_factory=dict)

    def to_json(self) -> str:
        fields = {**asdict(self), "format": FORMAT}
        for name in ("head", "tail"):
            fields[name] = base64.b64encode(fields[name]).decode()
        return json.dumps(fields, indent=1)


def name_of(number, count) -> str:
    """The folder of a shard."""
    return f"{number:04}-of-{count:04}"


def read_manifest(folder) -> Manifest:
    """What lies in the folder of a shard.  Raises OutputError."""
    path = Path(folder) / MANIFEST
    try:
        fields: dict[str, Any] = json.loads(path.read_text())
        if fields.pop("format") != FORMAT:
            raise OutputError(f"{path}: written by another version of fmx; do this shard again")
        for name in ("head", "tail"):
            fields[name] = base64.b64decode(fields[name], validate=True)
        return Manifest(**fields)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}; do this shard again") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OutputError(f"{path}: damaged; remove {folder} and do this shard again") from error


def difference(one: dict, other: dict) -> str:
    """What two runs differ in, in words; "" if they are the same."""
    for key in sorted({*one, *other}):
        mine, yours = one.get(key), other.get(key)
        if mine == yours:
            continue
        if isinstance(mine, dict) and isinstance(yours, dict):
            return f"{key}: {difference(mine, yours)}"
        return f"{key} {json.dumps(mine)}, not {json.dumps(yours)}"
    return ""
