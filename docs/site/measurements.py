"""Writes docs/measurements.md: python docs/site/measurements.py [NEW.json ...]

The tables in docs/measurements.json are those that docs/bench wrote, each with a title and a note. A table of
NEW.json replaces the one of its name and keeps the note, or is added at the end.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).parents[1]
sys.path.append(str(DOCS / "bench"))
import runner  # noqa: E402

HEAD = """# Measurements

How fast fmx is and how much memory it takes, beside other programs: one table per task.

Unless a table says otherwise, its programs ran in turn on the same files, and times are the wall seconds of
whole commands, start included, with compiled code, warm caches and files in memory. CPU seconds are those of
all threads. A ratio is the other program's time divided by that of fmx. Several times in a cell are runs.

Machines with 2 cores are virtual and have 24 GiB: an AMD EPYC (Zen 3) with Python 3.11, and an Intel Xeon.
Shared: other work ran on them. H200: NVIDIA H200 GPUs and Intel Xeon processors, Python 3.12, numba-cuda
0.30.4.

`make bench` measures your machine. Commands are those of the time of measurement: `bench` is
`python docs/bench` today, and some of its commands and options have changed. [The papers'
figures](papers.md) have the measurements of kernels.
"""


def page(tables: Iterable[runner.Table]) -> str:
    """The page of all tables, in their order."""
    return HEAD + "".join(map(_section, tables))


def _section(table: runner.Table) -> str:
    commands = ", ".join(f"`{line}`" for line in table.command.splitlines())
    commit = table.commit and f"commit {table.commit}"
    source = "; ".join(filter(None, (table.device, table.date, commit, commands)))
    return f"\n## {table.table}\n\n{table.note}\n\n{source}\n\n{runner.markdown(table.rows)}"


if __name__ == "__main__":
    known = {table.table: table for table in runner.read(DOCS / "measurements.json")}
    for path in sys.argv[1:]:
        for table in runner.read(path):
            note = known[table.table].note if table.table in known else ""
            known[table.table] = table._replace(note=table.note or note)
    runner.write(known.values(), DOCS / "measurements.json")
    (DOCS / "measurements.md").write_text(page(known.values()), encoding="utf-8")
