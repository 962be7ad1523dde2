"""Index folders with a harmful change and right checksums: no crash, no hang, no traceback."""

from .. import mutate_index, world
from ..case import Case
from . import damaged

SHARE = 3


def make(rng, folder) -> Case:
    name = rng.choice(sorted(world.INDEXES))
    files, what, is_trusted = mutate_index.hostile(rng, world.files_of(folder, name), name)
    case = damaged.case_of(rng, name, files, what, "hostile")
    if is_trusted or rng.random() < 0.3:  # docs/formats.md: only after this
        case.commands.insert(0, ["inspect", "--verify", damaged.INDEX])
    return case


def check(case, outcomes, folder) -> list:
    """Answers of a hostile index may be wrong; exit codes and messages are looked at for every kind."""
    return []
