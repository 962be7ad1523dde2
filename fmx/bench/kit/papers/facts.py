"""What the papers say (facts.tsv), their figures (figures.toml), and tables to look measured values up in."""

import csv
import functools
import tomllib
from importlib import resources
from typing import NamedTuple


class Fact(NamedTuple):
    """What a paper says: ``value`` in a ``unit``, in a section.

    There is no value where it is only drawn, and no section either where the paper does not have it.
    """

    paper: str
    figure: str
    what: str
    value: str
    unit: str
    section: str


class Figure(NamedTuple):
    """A figure or table of a paper: ``made_of`` tables of these names (measure/tables.py).

    ``note``: why what is measured differs from the paper; or why nothing is.  ``picture``: its name, or "".
    """

    name: str
    about: str
    note: str
    made_of: tuple
    picture: str


class Paper(NamedTuple):
    """A paper, ``key`` as in facts.tsv, and all its figures and tables in order."""

    key: str
    title: str
    figures: list


class MissingError(LookupError):
    """A table or a row that was not measured."""


class Found:
    """Tables by their names, to look values up in."""

    def __init__(self, tables):
        self.tables = {table.table: table for table in tables}

    def rows(self, name, /, **wanted) -> list:
        """The rows of a table with these values in the columns ``wanted``.  Raises MissingError for none."""
        table = self.tables.get(name)
        rows = table.rows if table else []
        rows = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
        if not rows:
            raise MissingError(name, wanted)
        return rows

    def most(self, name, column, /, **wanted) -> float:
        """The largest value of a column of such rows."""
        return max(row[column] for row in self.rows(name, **wanted) if row.get(column) is not None)

    def row_of_most(self, name, column, /, **wanted) -> dict:
        """The row with it."""
        return max(self.rows(name, **wanted), key=lambda row: row[column])


def papers() -> list:
    """All papers of figures.toml, by year."""
    found = tomllib.loads(_text("figures.toml"))
    return [Paper(key, paper["title"], list(map(_figure, paper["figures"]))) for key, paper in found.items()]


def _figure(about) -> Figure:
    made_of, picture = tuple(about.get("from", ())), about.get("picture", "")
    return Figure(about["name"], about["about"], about["note"], made_of, picture)


@functools.cache
def facts() -> list:
    """All lines of facts.tsv, as Facts."""
    return [Fact(**row) for row in csv.DictReader(_text("facts.tsv").splitlines(), delimiter="\t")]


def fact(paper, figure, what) -> Fact:
    """What a paper says of a thing in a figure."""
    return next(fact for fact in facts() if fact[:3] == (paper, figure, what))


def _text(name) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
