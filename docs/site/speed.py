"""Draws docs/figures/speed.svg from the table of speeds in README.md: python docs/site/speed.py."""

import re
from pathlib import Path

from fmx.report.page import COLOURS, text

ROOT = Path(__file__).parent.parent.parent
PLACE = ROOT / "docs" / "figures" / "speed.svg"
TASKS = {  # of the first word of a row
    "map": "map reads",
    "index": "build an index",
    "count": "count guides",
    "maximal": "maximal matches",
    "align": "align pairs",
}
LEFT, WIDE, ROW = 215, 520, 20  # width for names, of the longest bar, and height of a row
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
    known = speeds(readme)
    width, height = LEFT + WIDE + 170, 16 + ROW * len(known)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="12">',
        f'<title>{TITLE}</title>\n<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for i, (name, ratio) in enumerate(known.items()):
        y, long = 8 + ROW * i, ratio / max(known.values()) * WIDE
        parts.append(text(LEFT - 8, y + 12, name, "end"))
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{long:.1f}" height="15" fill="{COLOURS[0]}"/>')
        parts.append(text(LEFT + long + 8, y + 12, f"{ratio:g} times"))
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    PLACE.write_text(drawn((ROOT / "README.md").read_text()))
