"""The loop: kinds of cases in turn by their shares of the time; findings."""

import random
import re
import shutil
import time
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from . import kinds, rules, world
from .case import Case
from .runner import Runner

KINDS = sorted(module.name for module in iter_modules(kinds.__path__))


class Session:
    """``work`` is an empty folder for everything; ``limit`` seconds a command may take.

    ``found``: {signature: the first (case, complaints, outcomes)}; ``counts``: {(kind, exit code): cases}.
    """

    def __init__(self, work: Path, limit=120.0):
        self.folder, self.world = work / "case", work / "world"
        self.found, self.counts, self._many = {}, Counter(), Counter()
        world.make(self.world)
        self._world_before = _stamps(self.world)
        self._runner = Runner(work / "standard", limit)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._runner.stop()

    def run(self, seconds: float, seed: int, only=()) -> None:
        """Make and run cases for some time; case i of a kind is the same for the same seed."""
        names = list(only) or KINDS
        spent, number = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
        end = time.monotonic() + seconds
        while (start := time.monotonic()) < end:
            kind = min(names, key=lambda name: spent[name] / self.module(name).SHARE)
            self.look_at(self.case(kind, seed, number[kind]))
            number[kind] += 1
            spent[kind] += time.monotonic() - start

    def run_first(self, numbers: dict, seed: int) -> None:
        """Run the first cases of each kind, {kind: how many}."""
        for kind, n in numbers.items():
            for number in range(n):
                self.look_at(self.case(kind, seed, number))

    def case(self, kind, seed, number) -> Case:
        """The case of a number: always the same."""
        rng = random.Random(f"{seed} {kind} {number}")
        return replace(self.module(kind).make(rng, self.world), kind=kind, name=f"{seed}-{number}")

    def module(self, kind: str):
        """The module of a kind of case."""
        return import_module(f".kinds.{kind}", __package__)

    def look_at(self, case: Case) -> None:
        """Run a case, and note what is found."""
        complaints, outcomes = self.play(case)
        self.counts[case.kind, outcomes[-1].code if not outcomes[-1].broken else "broken"] += 1
        if not complaints:
            return
        mark = signature(case, complaints)
        self._many[mark] += 1
        self.found.setdefault(mark, (case, complaints, outcomes))

    def play(self, case: Case) -> tuple:
        """(complaints, outcomes) of a case."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        case.write_files(self.folder)
        module = self.module(case.kind)
        complaints, outcomes = [], []
        for arguments in case.commands:
            before = rules.snapshot(self.folder)
            outcome = self._runner.run(self.folder, arguments, case.stdin, case.chunk_size)
            outcomes.append(outcome)
            complaints += rules.of_exit(outcome)
            after = rules.snapshot(self.folder)
            complaints += rules.of_files(
                before, after, case.outputs, outcome.code != 0, case.facts.get("kept", ())
            )
            if outcome.code != 0:
                break
        if not complaints:
            complaints = module.check(case, outcomes, self.folder)
        if _stamps(self.world) != self._world_before:
            complaints = ["changed an index that was only to be read"]
            shutil.rmtree(self.world)
            world.make(self.world)
            self._world_before = _stamps(self.world)
        return complaints, outcomes

    def report(self) -> str:
        """What was run and what was found, as text."""
        lines = []
        for kind in sorted({kind for kind, _ in self.counts}):
            exits = {code: n for (name, code), n in self.counts.items() if name == kind}
            shown = ", ".join(f"{n} exit {code}" for code, n in sorted(exits.items(), key=str))
            lines.append(f"{kind:<10} {sum(exits.values()):>7} cases: {shown}")
        for mark, (case, complaints, outcomes) in self.found.items():
            lines += ["", f"FOUND {self._many[mark]} x {mark}", f"  {case.kind} {case.name}: {case.what}"]
            lines += [f"  - {text}" for text in complaints[:3]]
            for outcome in outcomes:
                words = " ".join(ascii(text)[:80] for text in outcome.arguments)
                lines += [
                    f"  $ fmx {words}",
                    f"  exit {outcome.code} {outcome.broken}",
                    outcome.message[:5000],
                ]
        lines.append(f"{sum(self.counts.values())} cases, {len(self.found)} kinds of finding")
        return "\n".join(lines)


def signature(case, complaints) -> str:
    """What tells one finding from another: the first complaint without its numbers and quoted parts."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", complaints[0].split("\n")[0])
    return (
        f"{case.kind} {case.commands[0][0] if case.commands[0] else ''}: {re.sub(r'[0-9]+', 'N', text)[:160]}"
    )


def _stamps(folder: Path) -> dict:
    stamps = {}
    for path in folder.rglob("*"):
        at = path.lstat()
        stamps[path] = at.st_ino, at.st_size, at.st_mtime_ns
    return stamps
