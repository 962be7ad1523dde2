"""Shards of a run: what each has counted, as bytes, and the sum of all."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import n_of
from ..input.chunks import CHUNK_SIZE
from ..input.read_range import Share
from ..input.spans import plan
from ..machines.threads import Link
from .counting import FIRST
from .inputs import Input, read_batch
from .library import Library
from .outputs import Seen
from .samples import Sample
from .tally import Sum, Tally

if TYPE_CHECKING:
    from .counting import Counter


@dataclass(frozen=True)
class Counted:
    """What a shard has seen, as numbers that add up; ``unit``: read, or pair."""

    reads: int
    assigned: int
    unit: str = "read"

    things = "reads"

    def seen(self) -> tuple[int, str]:
        """What a rate is of: how many, and of what."""
        return self.reads, f"{self.unit}s"

    def sentence(self, _: object = None) -> str:
        """What happened, in one line."""
        share = 100 * self.assigned / max(self.reads, 1)
        return f"{n_of(self.reads, self.unit)}: {self.assigned:,} assigned ({share:.2f} %)"


class ShardInputs:
    """The spans of a ``shard`` (jobs.shard.ShardRun) of Samples; a Counter finds where guides stand.

    An iterator of what a Counter's ``work`` takes.  A file is of one sample, and the reads of the shard are
    counted from 1 in each file: nobody knows how many stand before a shard that begins inside of it.
    """

    def __init__(self, samples: Sequence[Sample], shard: Any, counter: "Counter", n_threads: int) -> None:
        self._files = {
            path: (i, file) for i, sample in enumerate(samples) for file, path in enumerate(sample.paths)
        }
        self._n_files, self._seen = [len(sample.paths) for sample in samples], []  # type: tuple[list, list]
        self._shard, self._counter, self._inputs = shard, counter, {}  # type: tuple[Any, Any, dict]
        self._spans, self.share = shard.plan(list(self._files), CHUNK_SIZE, n_threads), Share([])

    def __iter__(self) -> "Iterator[_Taken]":
        for span in self._spans:
            if span.path not in self._inputs:
                self._inputs[span.path] = self._open(span.path)
            yield _Taken(self._inputs[span.path], span, self._shard.first_number(span.path), self._seen)

    def n_reads(self) -> list:
        """Of each sample, how many reads of each file the shard has; asked for when all were read."""
        found = [[0] * n for n in self._n_files]
        for sample, file, n in self._seen:
            found[sample][file] += n
        return found

    def _open(self, path: str) -> Input:
        sample, file = self._files[path]
        made = Input(sample, file, (path,), 1)
        made.close()
        made.where = Link(self._counter.find(made.names, _first_batches(path)))
        return made


@dataclass(frozen=True)
class _Taken:
    """A span of a file, in which the shard's first read has the number ``first``; its reads are ``seen``."""

    source: Input
    span: Any
    first: int
    seen: list

    def take(self) -> tuple[Input, Callable[..., Any], bool]:
        return self.source, self._read, False

    def _read(self) -> list:
        (reads,) = read_batch(self.span)
        self.seen.append((self.source.sample, self.source.file, reads.batches[0].length.size))
        return [reads._replace(number=reads.number - self.first + 1)]


def _first_batches(path: str) -> tuple:
    """The first reads of a file, as a run without shards sees them."""
    spans = plan([path])
    first = next(spans, None)
    batches = read_batch(first)[0].batches if first else ()
    spans.close()
    return batches


def pack(seen: Seen, n_reads: list) -> bytes:
    """What a shard has Seen; ``n_reads`` as of ShardInputs."""
    about = {
        "library": asdict(seen.library), "samples": [asdict(sample) for sample in seen.samples],
        "options": seen.options, "left_length": seen.left_length, "n_reads": n_reads,
    }  # fmt: skip
    arrays: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    for i, tally in enumerate(seen.found):
        arrays |= {f"{name}{i}": array for name, array in tally._asdict().items()}
    into = io.BytesIO()
    np.savez_compressed(into, **arrays)
    return into.getvalue()


def unpack(pieces: Iterator) -> Seen:
    """The sum of what shards have Seen: their bytes, one after the other, in order.

    Of unassigned reads it keeps what a run without shards keeps: the windows of the first reads of each file.
    """
    about, sums, before = {}, [], []  # type: tuple[dict, list, list]
    for piece in pieces:
        with np.load(io.BytesIO(piece), allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            for i in range(len(about["samples"])):
                tally = Tally(*(arrays[f"{name}{i}"] for name in Tally._fields))
                if i == len(sums):
                    sums.append(Sum(tally.counts.size))
                    before.append([0] * len(about["n_reads"][i]))
                sums[i].add(tally.after(before[i], FIRST))
                before[i] = [sum(pair) for pair in zip(before[i], about["n_reads"][i], strict=True)]
    samples = [Sample(each["name"], tuple(each["first"])) for each in about["samples"]]
    found = [each.tally() for each in sums]
    counts = np.array([tally.counts for tally in found])
    return Seen(Library(**about["library"]), samples, found, counts, about["options"], about["left_length"])
