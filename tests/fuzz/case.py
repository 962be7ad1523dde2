"""A case: files and command lines."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Case:
    """``commands`` are run in turn, as far as they exit with 0, in a folder that holds ``files``.

    ``files`` {name: bytes, or a str, the target of a link}; ``outputs`` are files and folders that may appear
    or change; ``facts`` is what the kind's check wants to know; ``what`` names the damage in a few words.
    ``chunk_size`` of reads, in bytes, if not fmx's own.
    """

    kind: str
    name: str
    commands: list
    files: dict
    what: str = ""
    outputs: list = field(default_factory=list)
    stdin: bytes = b""
    chunk_size: int | None = None
    facts: dict = field(default_factory=dict)

    def write_files(self, folder: Path) -> None:
        """Lay the files out in a folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.symlink_to(content)
            else:
                path.write_bytes(content)
