"""Index folders with a harmful change and right checksums: no crash, no hang, no traceback."""

from .. import mutate_index, world
from ..case import Case
from . import damaged

SHARE = 3


def make(rng, folder) -> Case:
    name = rng.choice(sorted(world.INDEXES))
    files, what = mutate_index.hostile(rng, world.files_of(folder, name), name)
    return damaged.case_of(rng, name, files, what, "hostile")


def check(case, outcomes, folder) -> list:
    """Answers of a hostile index may be wrong; exit codes and messages are looked at for every kind."""
    return []
