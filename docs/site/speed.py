"""Draws docs/figures/speed.svg from the table of speeds in README.md: python docs/site/speed.py."""

import re
from pathlib import Path

from fmx.report.svg import amounts

ROOT = Path(__file__).parent.parent.parent
PLACE = ROOT / "docs" / "figures" / "speed.svg"
TASKS = {  # of the first word of a row
    "map": "map reads",
    "index": "build an index",
    "count": "count guides",
    "maximal": "maximal matches",
    "align": "align pairs",
}
TITLE = "Speed relative to other tools, on two cores"


def speeds(readme: str) -> dict:
    """{other tool and task: how many times as long it takes}, of the table of speeds."""
    found = {}
    for task, other, ratios in re.findall(
        r"^\| (.*?) \| [\d.]+ s \| (.*?) \| (.*?) \| \[", readme, re.MULTILINE
    ):
        tools = [re.match(r"\w+-?\w*", each.strip())[0] for each in other.split(";")]
        for tool, ratio in zip(tools, re.findall(r"\d+(?:\.\d+)?", ratios), strict=True):
            found[f"{TASKS[task.split()[0]]}: {tool}"] = float(ratio)
    return found


def drawn(readme: str) -> str:
    """The figure, of the text of README.md."""
    figure = amounts({name: (ratio, f"{ratio:g} times") for name, ratio in speeds(readme).items()}, TITLE)
    return figure.replace("</title>", '</title>\n<rect width="100%" height="100%" fill="#fff"/>') + "\n"


if __name__ == "__main__":
    PLACE.write_text(drawn((ROOT / "README.md").read_text()))
