"""An index on disk: its folder; the modules write, open, check and seal it."""

import os
import re
from pathlib import Path

META = "meta.json"
FASTA = r"\.(fa|fasta|fna|ffn|fas)(\.(gz|bgz|bgzf|bz2|xz|zst))?$"


def index_at(path: str | os.PathLike) -> Path:
    """Return the folder of an index: ``path``, or NAME.fmx beside it if ``path`` is NAME, NAME.fa or similar.

    If there is none, returns ``path``, which is refused when it is opened.
    """
    name = os.fspath(path)
    beside = [f"{name.rstrip(os.sep)}.fmx", re.sub(FASTA, ".fmx", name)]
    return next(
        (Path(each) for each in (name, *beside) if os.path.isfile(os.path.join(each, META))), Path(path)
    )


def what_is_there(path: Path) -> str:
    """Describe what to do if ``path`` is no index: it is named wrongly, or not built yet."""
    if re.search(FASTA, path.name) and path.is_file():
        return f"this is a reference, not its index: build one with 'fmx index {path}'"
    if path.is_file():
        return "this is a file, not an index: name the folder that 'fmx index' wrote"
    try:
        names = [each.stem for each in path.parent.iterdir() if each.suffix == ".fmx"]
    except OSError:
        names = []
    from difflib import get_close_matches  # only for errors

    beside = re.sub(FASTA, "", str(path)).removesuffix(".fmx") + ".fmx"
    missing = "there is no index at this path" + (f" or at {beside}" if beside != str(path) else "")
    if meant := get_close_matches(path.name.removesuffix(".fmx"), names, 1):
        return f"{missing}; did you mean {path.parent / meant[0]}.fmx?"
    return f"{missing}: build one with 'fmx index REFERENCE.fa -o {beside}'"


def default_index_path(reference: str | os.PathLike) -> str:
    """Return the default place of the index of a reference: beside it, with .fmx instead of .fa.gz etc."""
    path = Path(reference)
    if not path.name:
        path = path.resolve() / "index"  # a folder, which is refused when it is read
    if path.suffix in (".gz", ".bgz", ".bgzf", ".zst", ".xz", ".bz2"):
        path = path.with_suffix("")
    return str(path.with_suffix(".fmx"))
