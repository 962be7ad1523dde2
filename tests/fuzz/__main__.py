"""python -m tests.fuzz --seconds 60 --seed 1 [--only KIND], or --replay FOLDER of a finding."""

import argparse
import sys
import tempfile
from pathlib import Path

from .case import load
from .session import KINDS, Session


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (after the indexes are built)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same cases")
    parser.add_argument("--only", action="append", choices=KINDS, default=[], help="a kind; repeatable")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a command may take")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="folder for findings")
    parser.add_argument("--replay", type=Path, help="folder of one finding: run it again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work, Session(Path(work), given.limit) as session:
        if given.replay:
            complaints, outcomes = session.play(load(given.replay))
            for outcome in outcomes:
                print(f"fmx {outcome.arguments}: exit {outcome.code} {outcome.broken}\n{outcome.message}")
            print("\n".join(complaints) or "nothing is wrong")
            return bool(complaints)
        session.run(given.seconds, given.seed, given.only)
        print(session.report())
        if session.found:
            session.save(given.keep)
            print(f"kept in {given.keep}; again with: python -m tests.fuzz --replay FOLDER")
        return bool(session.found)


if __name__ == "__main__":
    sys.exit(main())
