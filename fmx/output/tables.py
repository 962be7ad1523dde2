"""Tables beside the output of fmx search, and how those of shards are added up."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from ..report.facts import joined_screens
from .formats import tsv


class Table(Protocol):
    """What a run has counted beside its output.

    To add one: write these, give it to Run.note, and its path to LocalRun and jobs.merge.merge.
    """

    name: ClassVar[str]  # of the file in which a shard keeps it

    def text(self) -> bytes:
        """What is written."""

    def part(self) -> bytes:
        """What a shard keeps."""

    @classmethod
    def merged(cls, parts: Sequence[bytes]) -> Self:
        """The table of all shards, of whose parts this is the sum."""


@dataclass(frozen=True)
class CountsTable:
    """--counts: ``lines`` of TSV, whose first two columns name a row, and whose others are numbers."""

    name: ClassVar[str] = "counts.tsv"
    lines: bytes

    def text(self) -> bytes:
        return self.lines

    def part(self) -> bytes:
        return self.lines

    @classmethod
    def merged(cls, parts: Sequence[bytes]) -> "CountsTable":
        tables = [[line.split(b"\t") for line in part.splitlines()] for part in parts]
        lines = [b"\t".join(tables[0][0])]
        for rows in zip(*(table[1:] for table in tables), strict=True):
            numbers = zip(*(row[2:] for row in rows), strict=True)
            lines.append(b"\t".join([*rows[0][:2], *map(_sum, numbers)]))
        return cls(b"".join(line + b"\n" for line in lines))


@dataclass(frozen=True)
class ScreenTable:
    """--screen: ``rows`` of {groups, reads}, as a report has them; ``total`` of all reads, or ``what``."""

    name: ClassVar[str] = "screen.json"
    rows: list
    what: str
    total: int

    @classmethod
    def of(cls, combinations: Mapping[tuple[str, ...], int], summary: Any) -> "ScreenTable":
        """Of a Screen and a Summary."""
        n, what = summary.seen()
        return cls([{"groups": list(names), "reads": n} for names, n in combinations.items()], what, n)

    def text(self) -> bytes:
        return tsv.screen({tuple(row["groups"]): row["reads"] for row in self.rows}, self.what, self.total)

    def part(self) -> bytes:
        return json.dumps([self.rows, self.what, self.total]).encode()

    @classmethod
    def merged(cls, parts: Sequence[bytes]) -> "ScreenTable":
        rows, what, total = zip(*map(json.loads, parts), strict=True)
        return cls(joined_screens(rows), what[0], sum(total))


def _sum(numbers: Sequence[bytes]) -> bytes:
    """Of whole numbers, or of numbers with as many decimals each."""
    from decimal import Decimal  # 5 ms, of which a search needs none

    return str(sum(Decimal(number.decode()) for number in numbers)).encode()
