"""Shards of a run: what each has counted, as bytes, and the sum of all."""

import io
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..input.chunks import CHUNK_SIZE
from ..input.link import Link
from ..input.share import Share
from ..input.spans import plan
from .counting import FIRST
from .inputs import Input, read_batch
from .library import Library
from .outputs import Seen
from .samples import Sample
from .tally import Sum, Tally


@dataclass(frozen=True)
class Counted:
    """What a shard has seen, as numbers that add up."""

    reads: int
    assigned: int


class ShardInputs:
    """The spans of a ``shard`` (cluster.run.ShardRun) of Samples; a Counter finds where guides stand.

    An iterator of what a Counter's ``work`` takes.  A file is of one sample.
    """

    def __init__(self, samples, shard, counter, n_threads):
        self._sample = {path: i for i, sample in enumerate(samples) for path in sample.paths}
        self._shard, self._counter, self._inputs = shard, counter, {}  # type: tuple[Any, Any, dict]
        self._spans, self.share = shard.plan(list(self._sample), CHUNK_SIZE, n_threads), Share([])

    def __iter__(self):
        for span in self._spans:
            if span.path not in self._inputs:
                self._inputs[span.path] = self._open(span.path)
            yield _Taken(self._inputs[span.path], span, self._shard.begins_inside(span.path))

    def _open(self, path) -> Input:
        made = Input(self._sample[path], (path,), 1)
        made.close()
        made.where = Link(self._counter.find(made.names, _first_batches(path)))
        return made


@dataclass(frozen=True)
class _Taken:
    """A span of a file; where it ``is_inside``, nobody knows how many reads came before."""

    source: Input
    span: Any
    is_inside: bool

    def take(self):
        return self.source, self._read, False

    def _read(self) -> list:
        (reads,) = read_batch(self.span)
        return [reads._replace(number=FIRST + 1) if self.is_inside else reads]


def _first_batches(path) -> tuple:
    """The first reads of a file, as a run without shards sees them."""
    spans = plan([path])
    first = next(spans, None)
    batches = read_batch(first)[0].batches if first else ()
    spans.close()
    return batches


def pack(seen: Seen) -> bytes:
    """What a shard has Seen."""
    about = {
        "library": asdict(seen.library), "samples": [asdict(sample) for sample in seen.samples],
        "options": seen.options, "left_length": seen.left_length,
    }  # fmt: skip
    arrays: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    for i, tally in enumerate(seen.found):
        arrays |= {f"{name}{i}": array for name, array in tally._asdict().items()}
    into = io.BytesIO()
    np.savez_compressed(into, **arrays)
    return into.getvalue()


def unpack(pieces) -> Seen:
    """The sum of what shards have Seen: their bytes, one after the other."""
    about, sums = {}, []  # type: tuple[dict, list]
    for piece in pieces:
        with np.load(io.BytesIO(piece), allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            for i in range(len(about["samples"])):
                tally = Tally(*(arrays[f"{name}{i}"] for name in Tally._fields))
                if i == len(sums):
                    sums.append(Sum(tally.counts.size))
                sums[i].add(tally)
    samples = [Sample(each["name"], tuple(each["first"])) for each in about["samples"]]
    found = [each.tally() for each in sums]
    counts = np.array([tally.counts for tally in found])
    return Seen(Library(**about["library"]), samples, found, counts, about["options"], about["left_length"])
