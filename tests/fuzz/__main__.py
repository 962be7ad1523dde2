"""python -m tests.fuzz --seconds 60 --seed 1 [--only KIND], or --replay KIND SEED-NUMBER of a finding."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from .session import KINDS, Session


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (after the indexes are built)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same cases")
    parser.add_argument("--only", action="append", choices=KINDS, default=[], help="a kind; repeatable")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a command may take")
    parser.add_argument(
        "--replay", nargs=2, metavar=("KIND", "NAME"), help="run a finding, and keep its files"
    )
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp())
    with Session(work, given.limit) as session:
        if given.replay:
            kind, name = given.replay
            session.look_at(session.case(kind, *name.split("-")))
            print(f"its files are in {session.folder}")
        else:
            session.run(given.seconds, given.seed, given.only)
            shutil.rmtree(work)
    print(session.report())
    return bool(session.found)


if __name__ == "__main__":
    sys.exit(main())
