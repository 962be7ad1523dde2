"""A shard of a run: a range of the inputs, and a folder for its outputs, with a manifest.

The folder appears complete or not at all; a complete shard is not run again.
"""

import hashlib
import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import xxhash

from .._version import __version__
from ..errors import (
    ClusterError,
    IndexFileError,
    InputError,
    OutputError,
    brief,
    cannot_write,
    named_input,
)
from ..input import InputRange, paths_of, spans
from ..input.shards import Shard, ShardPlan
from ..input.streams import STANDARD, input_name
from ..machines.progress import Wall
from ..output import PLAIN, Container, as_fields
from ..output.run import Output, Run
from ..system import DraftFolder, available_cores
from . import Cache, Context, Job

_ENDS = 1 << 16  # bytes at both ends of an input that identify it, with its name and size


def identity(job: Any) -> dict:
    """Return the properties of a run that all its shards must share, as JSON types.  Raises InputError."""
    from ..index.disk import digest_of, read_meta  # only for jobs with an index

    def without_places(value: Any) -> dict:  # system.py
        names = [each.name for each in fields(value) if not each.metadata.get("is_place")]
        return {name: getattr(value, name) for name in names}

    inputs = []
    for path in job.inputs:
        if path == STANDARD or (os.path.exists(path) and not os.path.isfile(path)):
            raise InputError(input_name(path), "", "cannot be split into shards: give a regular file")
        with named_input(path), open(path, "rb") as file:
            digest, size = xxhash.xxh3_64(file.read(_ENDS)), os.path.getsize(path)
            file.seek(max(file.tell(), size - _ENDS))
            digest.update(file.read())
        inputs.append([os.path.basename(path), size, digest.hexdigest()])
    index = ",".join(digest_of(read_meta(path)) for path in job.index_paths)
    options = json.loads(json.dumps(job, default=without_places)) | job.facts()
    return {
        "fmx": __version__, "index": index or None, "inputs": inputs, "command": job.name, "options": options,
        **job.output.additional(),
    }  # fmt: skip


def absolute(value: Any) -> Any:
    """Return a job, or another dataclass, with absolute paths in its places, and in those of its fields."""
    if isinstance(value, tuple):
        return tuple(map(absolute, value))
    if not is_dataclass(value):
        return os.path.abspath(value) if isinstance(value, str | Path) and value != STANDARD else value
    values = {each: getattr(value, each.name) for each in fields(value)}
    places = [each for each in values if each.metadata.get("is_place") or is_dataclass(values[each])]
    return replace(value, **{each.name: absolute(values[each]) for each in places})  # type: ignore[type-var]


# The files of a shard, each of which is complete, in OUT.d/0003-of-0064: manifest.json, output (the main one,
# in its format), report.json, al, un ... (with --al and --un), its tables, and of fmx count, counts.npz (what
# is added up).

MANIFEST, OUTPUT, REPORT, COUNTS = "manifest.json", "output", "report.json", "counts.npz"
TABLES = {"--counts": "counts.tsv", "--screen": "screen.tsv", "--summary": "summary.tsv"}
_FORMAT = 8  # of manifests
_LONGEST = 60  # characters of a value in a message


@dataclass(frozen=True)
class Manifest:
    """The manifest of shard ``number`` of ``count``; ``run``: what all shards of the run have in common.

    ``begin``, ``end``: those of input.shards.ShardPlan, as lists; ``around``: bytes of the main
    output before the first piece and after the last; ``container``: of the main output (output/__init__.py);
    ``files``: {name: [bytes, xxh3]} of the other files in the folder; ``output``: kind, tables, reads and
    reports of the JobOutput; ``summary``, ``sums``: what is added up; ``wording`` of the summary.
    """

    run: dict
    number: int
    count: int
    begin: list | None
    end: list | None
    is_empty: bool
    around: list
    container: dict
    files: dict
    output: dict
    seconds: float
    summary: dict = field(default_factory=dict)
    wording: dict | None = None
    sums: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the shard's folder."""
        return name_of(self.number, self.count)

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "format": _FORMAT}, indent=1)


def _checksum(path: str | Path) -> list:
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
        if fields.pop("format") != _FORMAT:
            raise OutputError(
                f"{path}: written by another version of fmx; delete {folder} and run this shard again"
            )
        return Manifest(**fields)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}; run this shard again") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OutputError(f"{path}: damaged; delete {folder} and run this shard again") from error


class ShardRun(Run):
    """The run of shard ``number``, from 1, of ``count``, which writes into a folder in ``folder``.

    ``client``: the identity of the run as the client of a cluster sees it, or None.
    """

    is_whole = False

    def __init__(self, number: int, count: int, folder: str, client: dict | None = None) -> None:
        self._shard, self.n_shards, self.client = Shard(number, count), count, client
        self._folder, self._place = Path(folder), Path(folder) / name_of(number, count)
        self._run, self._wall = {}, Wall()  # type: tuple[dict, Wall]
        self._cache = Cache()
        self._plan: ShardPlan | None = None

    def __str__(self) -> str:
        return f"shard {self._shard} in {self._folder}"

    def begin(self, job: Job, context: Context) -> bool:
        """Begin the shard of a job; return False if it is complete already.

        It is complete by the sizes of its files.  Raises OutputError if it is of another run, ClusterError if
        the inputs differ from the client's.
        """
        self._wall, self._cache = context.progress.wall, context.cache
        try:
            self._run, advice = identity(job), ""
            if self.client is not None and (advice := difference(self._run, self.client)):
                advice += ", as the client has: use one version of fmx, and files that all machines share"
        except (InputError, IndexFileError) as error:
            if self.client is None:
                raise
            advice = str(error)
        if advice:
            raise ClusterError(f"worker on {os.uname().nodename}: {advice}")
        if not self._place.exists():
            return True
        manifest = read_manifest(self._place)
        if differs := difference(manifest.run, self._run):
            raise OutputError(
                f"{self} is from another run ({differs}): delete {self._place} and run this command again, "
                "or choose another folder"
            )
        files = {self._place / name: size for name, (size, _) in manifest.files.items()}
        return not all(path.is_file() and path.stat().st_size == size for path, size in files.items())

    @property
    def where(self) -> str:  # type: ignore[override]
        """Which shard, and why it may be empty."""
        why = self._plan and self._plan.whole
        return f"shard {self._shard}: {why or 'the inputs are empty or too short to be split'}"

    def plan(self, inputs: InputRange) -> Generator[Any, None, None]:
        """Return the spans of the shard; sequences in memory belong to it alone: all their spans."""
        if all(isinstance(path, bytes) for path in inputs.files):
            return spans.plan(paths_of(inputs.files), inputs.size)
        return self.cut(inputs).spans()

    def cut(self, inputs: InputRange) -> ShardPlan:
        """Return the plan that cuts the files for the shard."""
        n_counting = inputs.n_threads if self.client is None else available_cores()  # others of a worker wait
        self._plan = ShardPlan(self._shard, inputs, n_counting, self._cache.shared)
        return self._plan

    def share_of(self, n: int) -> tuple[int, int]:
        """Return (start, stop) of the shard among n items that every shard knows."""
        return self._shard.of(n)

    @contextmanager
    def opened(
        self,
        output: Any,
        head: bytes = b"",
        end: bytes = b"",
        container: Container = PLAIN,
        n_threads: int = 1,
    ) -> Iterator[Output]:
        """Open the files of the shard."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with DraftFolder(self._place) as draft:
                files = SimpleNamespace(
                    path=str(draft.path / OUTPUT),
                    tables={option: str(draft.path / TABLES[option]) for option in output.tables},
                    reads_files={str(draft.path / file.name): file for file in output.reads_files.values()},
                    reports=[str(draft.path / REPORT)] if output.report else [],
                )
                with super().opened(files, head, end, container, n_threads) as outputs:
                    try:
                        yield outputs
                    except InputError as error:
                        renumbered = self._plan.renumbered(error) if self._plan else error
                        if renumbered is error:  # an error that is its own cause has no end
                            raise
                        raise renumbered from error
                if outputs.counts:
                    (draft.path / COUNTS).write_bytes(outputs.counts)
                plan: Any = self._plan or SimpleNamespace(begin=None, end=None, is_empty=False)
                summary: Any = outputs.summary
                numbers = as_fields(summary) if summary else {}
                manifest = Manifest(
                    self._run, *self._shard, plan.begin, plan.end, plan.is_empty,
                    around=[len(head), len(end)], container=as_fields(container),
                    files={path.name: _checksum(path) for path in draft.path.iterdir()},
                    output={
                        "kind": output.kind, "tables": output.tables, "reports": output.reports,
                        "reads": output.reads and asdict(output.reads),
                    },
                    seconds=round(self._wall.over(), 3),
                    summary={
                        name: n if isinstance(n, str) else int(n) for name, n in numbers.items()
                        if isinstance(n, str | int | np.integer)
                    },
                    wording=as_fields(summary.wording) if summary and summary.wording else None,
                    sums=outputs.sums,
                )  # fmt: skip
                (draft.path / MANIFEST).write_text(manifest.to_json())
                draft.commit(is_lasting=self.client is None)  # shards of a cluster are merged at once
        except (OSError, OutputError) as error:  # in the draft of the folder
            cause = error if isinstance(error, OSError) else error.__cause__
            if not isinstance(cause, OSError):
                raise
            raise cannot_write(self._folder, cause) from cause


def difference(one: dict, other: dict) -> str:
    """Return how two runs differ, by the names of their fields; "" if they are the same."""
    for key in sorted({*one, *other}):
        values = one.get(key), other.get(key)
        if values[0] == values[1]:
            continue
        if all(isinstance(value, dict) for value in values):
            return f"{key}: {difference(*values)}"  # type: ignore[arg-type]
        if key.startswith("--") and not all(values):  # an option whose output shards store
            return f"{'with' if values[0] else 'without'} {key}"
        if all(isinstance(value, list) for value in values):
            pairs = zip_longest(*values)  # type: ignore[arg-type]
            values = next(pair for pair in pairs if pair[0] != pair[1])
        return f"{key} {', not '.join(brief(json.dumps(value), _LONGEST) for value in values)}"
    return ""
