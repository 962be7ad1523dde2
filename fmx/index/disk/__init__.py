"""An index on disk: where it lies; in its files how it is written, opened, checked and sealed."""

import os
import re
from difflib import get_close_matches
from pathlib import Path

META = "meta.json"
_FASTA = r"\.(fa|fasta|fna|ffn|fas)(\.(gz|bgz|bgzf|bz2|xz|zst))?$"


def index_at(path: str | os.PathLike) -> Path:
    """The folder of an index: ``path``, else NAME.fmx beside it where it is NAME, NAME.fa or the like.

    Where there is none it is ``path``, which whoever opens it will refuse.
    """
    name = os.fspath(path)
    beside = [f"{name.rstrip(os.sep)}.fmx", re.sub(_FASTA, ".fmx", name)]
    return next(
        (Path(each) for each in (name, *beside) if os.path.isfile(os.path.join(each, META))), Path(path)
    )


def what_is_there(path: Path) -> str:
    """What to do where ``path`` is no index: named wrongly, or not yet built."""
    if re.search(_FASTA, path.name) and path.is_file():
        return f"a reference, not its index: build one with 'fmx index {path}'"
    if path.is_file():
        return "a file, no index: name the folder that 'fmx index' has written"
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix == ".fmx"]
    except OSError:
        names = []
    if meant := get_close_matches(path.name, names, 1) or get_close_matches(f"{path.name}.fmx", names, 1):
        return f"no index here; did you mean {path.parent / meant[0]}?"
    return f"no index here; build one with 'fmx index REFERENCE.fa -o {path}'"


def default_index_path(reference: str | os.PathLike) -> str:
    """Where the index of a reference goes: beside it, its name with .fmx in place of .fa.gz and the like."""
    path = Path(reference)
    if not path.name:
        path = path.resolve() / "index"  # of a folder, which reading it will refuse
    if path.suffix in (".gz", ".bgz", ".bgzf", ".zst", ".xz", ".bz2"):
        path = path.with_suffix("")
    return str(path.with_suffix(".fmx"))
