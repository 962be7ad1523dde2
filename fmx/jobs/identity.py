"""What identifies a run, how many shards it has, and the manifest of a shard."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

from .._version import __version__
from ..errors import InputError, OutputError, brief, n_of, shown
from ..input.streams import STANDARD, input_name

# For the CPU and GPUs: number of shards before they get larger; smallest and largest shard, input bytes.
SIZES = (64, 32 << 20, 128 << 20), (16, 256 << 20, 1 << 30)
MOST = 4096  # shards
_ENDS = 1 << 16  # bytes at both ends of an input that identify it, with its name and size


def identity(job: Any) -> dict:
    """Return the properties of a run that all its shards must share, as JSON types.  Raises InputError."""
    for path in job.inputs:
        if not os.path.isfile(path):
            raise InputError(input_name(path), "", "cannot be split into shards: give a regular file")
    common = {"command": job.name, "options": as_json(job) | job.facts(), **job.output.additional()}
    return seen(job.inputs, job.index_paths) | common


def seen(paths: Sequence[str], index_paths: Sequence[str]) -> dict:
    """Return the part of ``identity`` that may differ on another machine.  Raises InputError."""
    from ..index.disk import digest_of, read_meta  # only for jobs with an index

    inputs = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                digest, size = xxhash.xxh3_64(file.read(_ENDS)), os.path.getsize(path)
                file.seek(max(file.tell(), size - _ENDS))
                digest.update(file.read())
        except OSError as error:
            raise InputError(error.filename, "", error.strerror or str(error)) from error
        inputs.append([os.path.basename(path), size, digest.hexdigest()])
    index = ",".join(digest_of(read_meta(path)) for path in index_paths)
    return {"fmx": __version__, "index": index or None, "inputs": inputs}


def unlike(worker: dict, client: dict, index_paths: Sequence[str]) -> str:
    """How a worker's view (from ``seen``) differs from the client's, and what to do; "" if it does not."""
    if worker["fmx"] != client["fmx"]:
        versions = f"it runs fmx {worker['fmx']}, but the client {client['fmx']}"
        return f"{versions}: install the same version everywhere"
    if worker["index"] != client["index"]:
        digests = zip(index_paths, *(view["index"].split(",") for view in (worker, client)), strict=True)
        path = next(path for path, one, other in digests if one != other)
        return (
            f"its index {path} differs from the client's: copy the client's index there, or give a path "
            "that all machines share"
        )
    for (name, n, ends_here), (_, size, ends) in zip(worker["inputs"], client["inputs"], strict=True):
        if (n, ends_here) != (size, ends):
            it_has = f"its {name} has {n:,} bytes, but the client's {size:,}"
            it_has = it_has if n != size else f"the contents of its {name} differ from the client's"
            return f"{it_has}: copy the client's file there, or give a path that all machines share"
    return ""


def n_of_bytes(n_bytes: int, engine: str) -> int:
    """Return the number of shards for files, independent of the cluster, so that a second run can resume."""
    several, least, most = SIZES[engine not in ("cpu", "auto")]
    return max(1, min(n_bytes // min(max(n_bytes // several, least), most), MOST))


def as_json(value: Any) -> Any:
    """Return the fields of a dataclass, and of those in it, as JSON types, except places (system.py)."""

    def without_places(value: Any) -> dict:
        names = [each.name for each in fields(value) if not each.metadata.get("is_place")]
        return {name: getattr(value, name) for name in names}

    return json.loads(json.dumps(value, default=without_places))


def absolute(value: Any) -> Any:
    """Return a job, or another dataclass, with absolute paths in its places, and in those of its fields."""
    if isinstance(value, tuple):
        return tuple(map(absolute, value))
    if not is_dataclass(value):
        return os.path.abspath(value) if isinstance(value, str | Path) and value != STANDARD else value
    values = {each: getattr(value, each.name) for each in fields(value)}
    places = [each for each in values if each.metadata.get("is_place") or is_dataclass(values[each])]
    return replace(value, **{each.name: absolute(values[each]) for each in places})  # type: ignore[type-var]


# The manifest of a shard, a JSON file beside its outputs, each of which is complete.
#
# OUT.d/0003-of-0064/manifest.json    the run, the shard, its sums, and size and checksum of each file
# OUT.d/0003-of-0064/output           its part of the main output
# OUT.d/0003-of-0064/counts.tsv       its table of reads and hits per contig, with --counts
# OUT.d/0003-of-0064/screen.tsv       its reads by the groups that they occur in, with --screen
# OUT.d/0003-of-0064/summary.tsv      its sites of each guide, with --summary
# OUT.d/0003-of-0064/report.json      its report, with --report
# OUT.d/0003-of-0064/al, un ...       its mapped and unmapped reads, unchanged, with --al and --un

MANIFEST, OUTPUT, REPORT = "manifest.json", "output", "report.json"
TABLES = {"--counts": "counts.tsv", "--screen": "screen.tsv", "--summary": "summary.tsv"}
FORMAT = 5  # of manifests
_LONGEST = 60  # characters of a value in a message


@dataclass(frozen=True)
class Manifest:
    """The manifest of shard ``number`` of ``count``; ``run``: what all shards of the run have in common.

    ``begin``, ``end``: those of input.shards.ShardPlan, as lists; ``around``: bytes of the main
    output before the first piece and after the last; ``container``: of the merged output (output/run.py);
    ``files``: {name: [bytes, xxh3]} of the other files in the folder; ``summary``, ``sums``: what is added
    up; ``wording`` of the summary; ``options``: {option: value} of the command, if there was one.
    """

    run: dict
    number: int
    count: int
    begin: list | None
    end: list | None
    is_empty: bool
    around: tuple[int, int]
    container: dict
    files: dict
    seconds: float
    summary: dict = field(default_factory=dict)
    wording: dict | None = None
    sums: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the shard's folder."""
        return name_of(self.number, self.count)

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "format": FORMAT}, indent=1)


def checksum(path: str | Path) -> list:
    """Return [bytes, xxh3] of a file."""
    with open(path, "rb") as file:
        return [os.fstat(file.fileno()).st_size, hashlib.file_digest(file, xxhash.xxh3_64).hexdigest()]


def name_of(number: int, count: int) -> str:
    """Return the name of a shard's folder."""
    return f"{number:04}-of-{count:04}"


def read_manifest(folder: str | Path) -> Manifest:
    """Return the Manifest in the folder of a shard.  Raises OutputError."""
    path = Path(folder) / MANIFEST
    try:
        fields: dict[str, Any] = json.loads(path.read_text())
        if fields.pop("format") != FORMAT:
            raise OutputError(
                f"{path}: written by another version of fmx; delete {folder} and run this shard again"
            )
        return Manifest(**{**fields, "around": tuple(fields["around"])})
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}; run this shard again") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OutputError(f"{path}: damaged; delete {folder} and run this shard again") from error


_OF_PLACES = {  # options that do not change what a shard contains, or that the identity names
    "-o", "-x", "-t", "-q", "--shard", "--scheduler", "--scheduler-file", "--engine", "--device", "--gpus",
    "--gpu-memory", "--max-memory", "--layout", "--method", "--verify", "--reference", "--counts", "--screen",
    "--al", "--un", "--report", "--summary",
}  # fmt: skip


def _as_typed(name: str, value: Any) -> str:
    if value is None or value is False or value == []:
        return f"without {name}"
    if value is True:
        return f"with {name}"
    each = value if isinstance(value, list) else [value]
    return f"with {brief(' '.join(f'{name} {item}' for item in each))}"


def differing(one: Manifest, run: dict, options: dict, places: tuple[str, str]) -> str:
    """Return how the run of a Manifest and another differ, in words; "" if they are the same.

    ``options``: {option: value} of the other; ``places``: where the options of each were given.
    """
    differs = difference(one.run, run)
    if not differs.startswith("options"):
        return differs
    names = sorted(one.options.keys() & options.keys() - _OF_PLACES)
    names = [name for name in names if one.options[name] != options[name]]
    return (
        "; ".join(
            f"{', '.join(_as_typed(name, values[name]) for name in names)} {place}"
            for values, place in zip((one.options, options), places, strict=True)
            if names
        )
        or differs
    )


def difference(one: dict, other: dict) -> str:
    """Return how two runs differ, by the names of their fields; "" if they are the same."""
    inputs, others = one.get("inputs", []), other.get("inputs", [])
    for (name, size, ends), (other_name, other_size, other_ends) in zip(inputs, others, strict=False):
        if name != other_name:
            return f"inputs: {shown(name)}, not {shown(other_name)}"
        if size != other_size:
            return f"inputs: {shown(name)} with {size:,} bytes, not {other_size:,}"
        if ends != other_ends and len(inputs) == len(others):
            return f"inputs: {shown(name)} with other contents"
    if len(inputs) != len(others):
        return f"inputs: {n_of(len(inputs), 'file')}, not {len(others):,}"
    for key in sorted({*one, *other}):
        values = one.get(key), other.get(key)
        if values[0] == values[1]:
            continue
        if all(isinstance(value, dict) for value in values):
            return f"{key}: {difference(*values)}"  # type: ignore[arg-type]
        if key.startswith("--") and not all(values):  # an option whose output shards store
            return f"{'with' if values[0] else 'without'} {key}"
        return f"{key} {', not '.join(brief(json.dumps(value), _LONGEST) for value in values)}"
    return ""
