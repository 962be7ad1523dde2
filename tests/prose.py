"""Finds phrases that docs/style.md says to avoid: in documents, help, messages, docstrings and comments.

``python -m tests.prose [FILE]...`` prints place and phrase, and exits with 1 if there are any.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
STYLE = ROOT / "docs" / "style.md"


def avoided(style: str) -> list[str]:
    """Phrases of the first column of the table of phrases."""
    table = style.split("## Phrases")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (?!avoid |---)(.*?) \|", table, re.MULTILINE)
    return [phrase.strip() for row in rows for phrase in row.split(",")]


def texts() -> list[Path]:
    """Files whose words are checked: documents and the package; the style guide quotes what it forbids."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.ipynb")]
    return sorted({*pages, *(ROOT / "fmx").rglob("*.py")} - {STYLE})


def found(text: str, phrases: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, phrase) of each, in any case, also across the end of a line and the start of a comment."""
    space = r"(?:[ ]|\s*\n\s*(?:#\s|\"|f\")?\s*)"
    words = "|".join(space.join(map(re.escape, phrase.split())) for phrase in phrases)
    for match in re.finditer(rf"\b(?:{words})\b", text, re.IGNORECASE):
        yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split())


def main(arguments: Sequence[str]) -> int:
    """Print what is found in files, all by default; the exit code."""
    phrases = avoided(STYLE.read_text())
    n_found = 0
    for path in map(Path, arguments) if arguments else texts():
        for line, phrase in found(path.read_text(), phrases):
            n_found += 1
            print(f"{path.relative_to(ROOT) if path.is_absolute() else path}:{line}: {phrase}")
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
