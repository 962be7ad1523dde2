"""What holds for every command, whatever it was given."""

import hashlib
import os
import re
from pathlib import Path

CODES = {0, 1, 2, 130, 141}
MOST_GROWTH = 1 << 30  # bytes; all inputs are tiny


def snapshot(folder: Path) -> dict:
    """{name: what it is} of all that a folder holds."""
    found = {}
    for parent, folders, names in os.walk(folder):
        for name in [*names, *folders]:
            path = Path(parent) / name
            found[str(path.relative_to(folder))] = _signature(path)
    return found


def _signature(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    if path.is_file():
        return hashlib.blake2b(path.read_bytes()).hexdigest()
    return "folder" if path.is_dir() else "special"


def of_exit(outcome) -> list:
    """What is wrong with how a command ended and with what it said."""
    if outcome.broken:
        return [f"{outcome.broken} {_frame_of_crash(outcome.message)}".strip()]
    wrong, message = [], outcome.message
    if "Traceback" in message:
        return [f"traceback: {_summary(message)}"]
    if outcome.code not in CODES:
        wrong.append(f"exit code {outcome.code}")
    if outcome.grown > MOST_GROWTH:
        wrong.append(f"memory: grew by more than {MOST_GROWTH >> 20} MB")
    lines = message.split("\n")
    odd = sorted({letter for line in lines for letter in line if not letter.isprintable()})
    if odd or b"\xff" in outcome.err:
        wrong.append(f"raw bytes on stderr: {odd!r}")
    errors = [line for line in lines if line.startswith("fmx: error: ")]
    others = [line for line in lines if line and not line.startswith("fmx: ")]
    is_help = outcome.code == 2 and lines[0].startswith("Usage: ") and "Error: " not in message
    if outcome.code == 0 and errors:
        wrong.append("exit 0 with an error")
    if outcome.code in (1, 2) and len(errors) != 1 and not is_help:
        wrong.append(f"exit {outcome.code} with {len(errors)} lines 'fmx: error: '")
    elif others and not is_help:
        wrong.append(f"not a message of fmx on stderr: {others[0][:100]!r}")
    return wrong


def of_files(before: dict, after: dict, outputs, failed: bool, kept=()) -> list:
    """What is wrong with the files: inputs changed, things left, outputs of what failed but ``kept``."""
    wrong = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        is_output = any(name == output or name.startswith(f"{output}/") for output in outputs)
        if not is_output:
            wrong.append(f"{'changed' if name in before else 'left behind'}: {_plain(name)}")
        elif failed and name not in kept:
            wrong.append(f"an output of a command that failed: {_plain(name)}")
    return wrong


def _plain(name: str) -> str:
    """A name without its random part."""
    return ascii(re.sub(r"[0-9a-f]{6,}|\d{3,}", "...", name))


def _summary(message: str) -> str:
    """Last line of a traceback, and where in fmx it was raised."""
    places = re.findall(r'File ".*?/(fmx/[^"]*)", line \d+, in (\S+)', message)
    place = f" in {places[-1][0]}:{places[-1][1]}" if places else ""
    last = [line for line in message.strip().split("\n") if line][-1]
    return re.sub(r"\d+", "N", last)[:200] + place


def _frame_of_crash(message: str) -> str:
    places = re.findall(r'File ".*?/(fmx/[^"]*)", line \d+ in (\S+)', message)
    places = [place for place in places if not place[0].startswith(("fmx/compiler/", "fmx/machines/"))]
    return f"in {places[0][0]}:{places[0][1]}" if places else ""
