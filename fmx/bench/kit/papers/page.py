"""The page of the papers' figures, as Markdown."""

from . import chacon, cofi, mummergpu, pairwise
from .facts import Found, MissingError, facts, papers

VALUES: dict = {
    "gharaibeh2010": mummergpu.VALUES, "chacon2014": chacon.FIRST, "chacon2015": chacon.SECOND,
    "truong2014": pairwise.VALUES, "langarita2020": cofi.VALUES,
}  # fmt: skip
NAMES = {
    "gharaibeh2010": "Gharaibeh 2010: MUMmerGPU++", "chacon2014": "Chacón 2014: cooperative search",
    "chacon2015": "Chacón 2015: k-step search", "truong2014": "Truong 2014: pairwise alignment",
    "langarita2020": "Langarita 2020: COFI",
}  # fmt: skip
HEAD = """# The papers' figures

Every figure and table of the five papers that fmx builds on: what they say, what is measured, why it differs.

Made by `fmx bench papers`{said}. A number of a paper is told with the section of its text or tables; *drawn*
means that it is in a picture only, and nothing that the paper does not have it. Where no table follows, a
sentence says why.

| made of | command | machine | date |
| --- | --- | --- | --- |
"""


def page(tables, pictures, quick) -> str:
    """The page of what was measured.

    ``pictures``: names of those that are drawn; ``quick``: whether sizes were too small to tell speeds.
    """
    found, all_papers = Found(tables), papers()
    lines = [HEAD.format(said=", quickly: it shows that it works, not how fast it is" if quick else "")[:-1]]
    for name in dict.fromkeys(
        name for paper in all_papers for figure in paper.figures for name in figure.made_of
    ):
        if table := found.tables.get(name):
            lines.append(f"| {name} | `{table.command}` | {table.device} | {table.date} |")
        else:
            lines.append(f"| {name} | not run | | |")
    for paper in all_papers:
        lines += ["", f"## {NAMES[paper.key]}", "", f"{paper.title}."]
        for figure in paper.figures:
            lines += ["", *_figure(paper, figure, found)]
            if figure.picture in pictures:
                lines += ["", f"![{figure.about}](figures/{figure.picture}.png)"]
    return "\n".join(lines) + "\n"


def _figure(paper, figure, found) -> list:
    """The lines of a figure."""
    note = f"**{figure.name.capitalize()}: {figure.about}.** {figure.note}"
    values = VALUES[paper.key].get(figure.name)
    if not values:
        return [note]
    source = f" From {', '.join(figure.made_of)}." if figure.made_of else ""
    lines = [note + source, "", "| | the paper | here | unit | section |", "| --- | --- | --- | --- | --- |"]
    for fact in facts():
        if fact[:2] == (paper.key, figure.name):
            said = fact.value or ("drawn" if fact.section else "")
            measured = _said(values[fact.what], found)
            lines.append(f"| {fact.what} | {said} | {measured} | {fact.unit} | {fact.section} |")
    return lines


def _said(value, found) -> str:
    """A measured value: three digits of a number."""
    try:
        measured = value(found)
    except MissingError:
        return "not measured"
    if isinstance(measured, str):
        return measured
    return f"{measured:,.0f}" if abs(measured) >= 100 else f"{measured:.3g}"
