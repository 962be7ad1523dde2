"""The papers' values (facts.tsv) and figures (figures.toml), and the measured tables to compare them with."""

import csv
import functools
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import click

from ...errors import FmxError
from ...measure import tables, timing


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
    """A figure or table of a paper, ``made_of`` measured tables of these names (measure/tables.py).

    ``note``: why the measured values differ from the paper, or why there are none.  ``picture``: its name,
    or "" for none.
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

    def __init__(self, tables: Iterable[tables.BenchTable]) -> None:
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
    return Figure(about["name"], about["about"], about["note"], made_of, picture)


@functools.cache
def facts() -> list:
    """All lines of facts.tsv, as Facts."""
    return [Fact(**row) for row in csv.DictReader(_text("facts.tsv").splitlines(), delimiter="\t")]


def fact(paper: str, figure: str, what: str) -> Fact:
    """The value of a figure of a paper with the label ``what``."""
    return next(fact for fact in facts() if fact[:3] == (paper, figure, what))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


# The runs of fmx bench that the papers' figures are made from, each in its own process.

ENGINES = ("task-naive16", "task-improved", "memory", "full-2", "full-4", "full-8")


class BenchRun(NamedTuple):
    """A run of fmx bench: its ``words``, and those that make it ``quick``.

    ``more``: options of fmx bench papers to pass on.  ``names``: new names of its tables.  ``files``: options
    of fmx bench papers whose files are arguments of the run.
    """

    words: str
    quick: str
    more: tuple = ()
    names: dict = {}  # noqa: RUF012
    files: tuple = ()


_T, _GPU = ("threads",), ("device",)
_SMALL = "--bases 300M --queries 1M"  # which COFI with k = 15 needs
_ENGINES = "".join(f" --engine cuda_{engine}" for engine in ENGINES)
_BOTH_D = " --layout sampled-k1-d64 --layout sampled-k1-d448"
_FOR_ENERGY = " --layout sampled-k1-d64 --layout sampled-k1-d192 --layout alternate-k2-d64"
_GPU_RUN = "gpu --queries 10M --no-energy --experiment"
RUNS = {
    "search": BenchRun("search --threads 2", "--size 1 --size 4 --reads 100k --runs 1"),
    "cores": BenchRun(
        "search --size 100 --only layouts", "--size 4 --reads 100k --runs 1", _T, {"search-layouts": "cores"}
    ),
    "columns": BenchRun(
        "search --only columns --reads 1k", "--size 4", _T, {"search-columns": "genome-columns"}, ("genome",)
    ),
    "mem": BenchRun(
        "mem --experiment commands --workload HS2 --bases 5M --runs 1", "--size 2M --bases 200k", _T
    ),
    "cluster": BenchRun("cluster --no-merge --disk 200G", ""),
    "roofline": BenchRun("roofline --largest 16G", "--largest 1G", _GPU),
    "designs": BenchRun(f"{_GPU_RUN} designs{_ENGINES}", _SMALL, _GPU),
    "threads": BenchRun(f"{_GPU_RUN} threads{_BOTH_D}", _SMALL, _GPU),
    "sizes": BenchRun(f"{_GPU_RUN} sizes --bases 1500M", _SMALL, _GPU),
    "energy": BenchRun(
        f"gpu --queries 10M --experiment designs --engine cuda_task-improved{_FOR_ENERGY}", _SMALL, _GPU,
        {"designs": "energy"},
    ),
    "short": BenchRun(
        f"{_GPU_RUN} designs --length 32 --layout sampled-k1-d64 --engine cuda_task-improved", _SMALL, _GPU,
        {"designs": "short"},
    ),
    "mem-gpu": BenchRun(
        "mem --engine cuda --experiment stages --size 100M --bases 20M", "--size 2M --bases 200k",
        (*_GPU, *_T),
    ),
    "pairwise": BenchRun("pairwise --gpu --runs 1", "--part peak", (*_GPU, *_T), files=("genes",)),
}  # fmt: skip


def make(name: str, given: dict[str, Any]) -> list:
    """The tables of a run; ``given`` {option of the command: value}.  Raises FmxError where it fails."""
    run = RUNS[name]
    words = run.words.split() + (run.quick.split() if given["quick"] else [])
    for option in run.more:
        words += [f"--{option}", given[option]] if given[option] else []
    words += [given[option] for option in run.files if given[option]]
    with tempfile.TemporaryDirectory() as folder:
        click.echo(f"fmx bench {' '.join(map(str, words))}", err=True)
        timing.run(timing.fmx_command("bench", *words, "-o", folder))
        found = [table for path in sorted(Path(folder).glob("*.json")) for table in tables.read(path)]
    return [table._replace(table=run.names.get(table.table, table.table)) for table in found]


def add(known: list[tables.BenchTable], new: Iterable[tables.BenchTable]) -> list:
    """Known tables and new ones; a new table replaces the known one of the same name."""
    return [*{table.table: table for table in [*known, *new]}.values()]


def make_all(
    names: Iterable[str],
    given: dict[str, Any],
    known: list[tables.BenchTable],
    done: Callable[[list[tables.BenchTable]], None],
) -> list:
    """Known tables and those of these runs; calls ``done(tables)`` after each run and reports failed ones."""
    for name in names:
        try:
            known = add(known, make(name, given))
        except FmxError as error:
            click.echo(f"{name} is not measured: {error}", err=True)
            continue
        done(known)
    return known
