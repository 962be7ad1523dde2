"""The papers' values (facts.tsv) and figures (figures.toml), and the measured tables to compare them with."""

import csv
import functools
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import runner

STAGES = ("copy in", "match", "copy out", "post-process")  # of maximal exact matching


class Fact(NamedTuple):
    """A value of a paper, with its unit and section.

    ``value`` is "" if the paper only plots it; ``section`` is "" as well if the paper does not have it.
    """

    paper: str
    figure: str
    what: str
    value: str
    unit: str
    section: str


class Figure(NamedTuple):
    """A figure or table of a paper, ``made_of`` measured tables of these names (docs/bench/runner.py).

    ``note``: why the measured values differ from the paper, or why there are none.  ``note`` and ``picture``
    (a name) may be "".
    """

    name: str
    about: str
    note: str
    made_of: tuple
    picture: str


class Paper(NamedTuple):
    """A paper with its ``key`` in facts.tsv, and all its figures and tables in order."""

    key: str
    title: str
    figures: list


class MissingError(LookupError):
    """A table or a row that was not measured."""


class MeasuredTables:
    """Measured tables by name, to look up values."""

    def __init__(self, tables: Iterable[runner.Table]) -> None:
        self.tables = {table.table: table for table in tables}

    def rows(self, name: str, /, **wanted: Any) -> list:
        """The rows of a table with these values in the columns ``wanted``.  Raises MissingError for none."""
        table = self.tables.get(name)
        rows = table.rows if table else []
        rows = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
        if not rows:
            raise MissingError(name, wanted)
        return rows

    def most(self, name: str, column: str, /, **wanted: Any) -> float:
        """The largest value of a column among the rows with the values ``wanted``."""
        return max(row[column] for row in self.rows(name, **wanted) if row.get(column) is not None)

    def row_of_most(self, name: str, column: str, /, **wanted: Any) -> dict:
        """The row with the largest value of a column, among the rows with the values ``wanted``."""
        return max(self.rows(name, **wanted), key=lambda row: row[column])


class Value:
    """A value that ``of(found)`` computes from MeasuredTables.  Values can be divided by each other."""

    def __init__(self, of: Callable[[MeasuredTables], Any]) -> None:
        self.of = of

    def __truediv__(self, other: "Value") -> "Value":
        return Value(lambda found: self.of(found) / other.of(found))


def value(function: Callable[..., Any]) -> Callable[..., Value]:
    """Turn a function of MeasuredTables and other arguments into one of these that returns a Value."""
    return lambda *given, **wanted: Value(lambda found: function(found, *given, **wanted))


def papers() -> list:
    """All papers of figures.toml, by year."""
    found = tomllib.loads(_text("figures.toml"))
    return [Paper(key, paper["title"], list(map(_figure, paper["figures"]))) for key, paper in found.items()]


def _figure(about: dict) -> Figure:
    made_of, picture = tuple(about.get("from", ())), about.get("picture", "")
    return Figure(about["name"], about["about"], about.get("note", ""), made_of, picture)


@functools.cache
def facts() -> list:
    """All lines of facts.tsv, as Facts."""
    return [Fact(**row) for row in csv.DictReader(_text("facts.tsv").splitlines(), delimiter="\t")]


def fact(paper: str, figure: str, what: str) -> Fact:
    """The value of a figure of a paper with the label ``what``."""
    return next(fact for fact in facts() if fact[:3] == (paper, figure, what))


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
