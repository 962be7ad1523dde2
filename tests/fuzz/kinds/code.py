"""Damaged files of compiled code: compiled anew, with the right output; each in a process of its own."""

import functools
import shutil
from pathlib import Path
from tempfile import mkdtemp

from .. import mutate, world
from ..case import Case
from ..runner import Runner
from . import damaged

SHARE = 3
CACHE = "cache"
SEARCH = ["search", "-q", "-a", "-x"]


def environment(folder) -> dict:
    """Of the process that runs a case."""
    return {"FMX_CACHE": str(folder / CACHE)}


def make(rng, folder) -> Case:
    files = dict(_compiled(folder))
    names = rng.sample(sorted(files), rng.choice([*[1] * 7, len(files)]))
    way = rng.choice(["bytes", "bytes", "head", "swapped", "json"])
    what = way
    for name in names:
        if way == "swapped":
            other = rng.choice(sorted(files))
            files[name], files[other] = files[other], files[name]
        elif way == "json":
            files[name] = (
                rng.choice([b"5", b"null", b"[" * 100_000, b'{"a": 1}', b"[1, 2, 3, 4]", b""]) + b"\n"
            )
        elif way == "head":
            n = files[name].find(b"\n")
            files[name] = mutate.mutated(rng, files[name][:n], mutate.BYTES)[0] + files[name][n:]
        else:
            files[name], what = mutate.mutated(rng, files[name], mutate.BYTES)
    shown = names[0] if len(names) == 1 else "all files"
    files = {**files, damaged.READS: world.fasta(rng, 6)}
    arguments = [*SEARCH, f"{world.FOLDER}/whole.fmx", damaged.READS]
    return Case("code", "", [arguments], files, f"{shown}: {what}", [CACHE])


def prepare(folder) -> None:
    _compiled(folder)


@functools.cache
def _compiled(folder) -> dict:
    """The files of code that a search uses, {name with the cache's folder: bytes}."""
    work = Path(mkdtemp(dir=folder.parent))
    reads = work / damaged.READS
    reads.write_bytes(b">a\nACGT\n")
    with Runner(work / "standard", 300, **environment(work)) as runner:
        outcome = runner.run(work, [*SEARCH, str(folder / "whole.fmx"), str(reads)])
        assert outcome.code == 0, outcome.message
    found = {str(path.relative_to(work)): path.read_bytes() for path in (work / CACHE).rglob("*.o")}
    shutil.rmtree(work)
    return found


def check(case, outcomes, folder) -> list:
    (outcome,) = outcomes
    if outcome.code:
        return [f"damaged code ends in exit {outcome.code}: {outcome.message.strip()[:200]}"]
    return damaged.check(case, outcomes, folder)
