"""Pages of the site that are no files of docs/: README, CONTRIBUTING, CHANGELOG; commands; the library."""

import inspect
import json
import re
from pathlib import Path

import click
import numpy as np
from mkdocs.structure.files import File

import fmx
from fmx.cli import main as cli

ROOT = Path(__file__).parent.parent.parent
TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def on_files(files, config):
    """mkdocs calls it with the files that it found; those of the site besides are added."""
    for name, page in TOP.items():
        files.append(File.generated(config, page, content=moved((ROOT / name).read_text())))
    for page, text in commands().items():
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "library.md", content=library()))
    files.append(File.generated(config, "tour.md", content=tour()))
    return files


def on_page_content(html, page, config, files):
    """mkdocs calls it with each page; names inside the library become those of ``import fmx``."""
    if page.file.src_uri == "library.md":
        for name in fmx.__all__:
            html = html.replace(f">{getattr(getattr(fmx, name), '__name__', name)}</span>", f">{name}</span>")
    return html


def moved(text) -> str:
    """A page of the top folder, with links as they are from docs/."""
    for name, page in TOP.items():
        text = text.replace(f"]({name}", f"]({page}")
    return text.replace("](docs/", "](").replace("[docs/", "[")


def tour() -> str:
    """The page of the notebook: its cells with their outputs."""
    found = []
    for each in json.loads((ROOT / "docs" / "tour.ipynb").read_text())["cells"]:
        text = "".join(each["source"])
        found.append(text if each["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for data in (output["data"] for output in each.get("outputs", ())):
            if image := data.get("image/png"):
                found.append(f"![dot plot](data:image/png;base64,{image})")
            else:
                found.append(f"```text\n{''.join(data['text/plain'])}\n```")
    return "\n\n".join(found)


def library() -> str:
    """The page of the Python library: what ``dir(fmx)`` shows, by its docstrings."""
    found = ["# Python: reference", "What `import fmx` gives: functions, classes, fields of rows, errors."]
    kinds = {name: getattr(fmx, name) for name in fmx.__all__ if not name.startswith("_")}
    for name, value in sorted(kinds.items(), key=lambda item: (order(item[1]), item[0])):
        if isinstance(value, np.dtype):
            rows = [f"| `{field}` | {kind} |" for field, (kind, *_) in value.fields.items()]
            table = "\n".join(["| field | type |", "|---|---|", *rows])
            found += [f"## `fmx.{name}`", "The fields of a row, as a NumPy dtype.", table]
        else:
            heading = f"    options:\n      heading: fmx.{name}\n      toc_label: {name}"
            found.append(f"::: {value.__module__}.{value.__qualname__}\n{heading}")
    return "\n\n".join(found)


def order(value) -> int:
    """Functions come first, then classes, then fields of rows, then errors."""
    if isinstance(value, type):
        return 3 if issubclass(value, Exception) else 1
    return 2 if isinstance(value, np.dtype) else 0


def commands() -> dict:
    """{name of the page: its text}: the list of all commands, and the reference of each."""
    top = click.Context(cli.fmx, info_name="fmx", terminal_width=100, **cli.fmx.context_settings)
    below = {name: cli.fmx.get_command(top, name) for name in cli.fmx.list_commands(top)}
    rows = [
        f"| [`fmx {name}`](command-{name}.md) | {each.get_short_help_str(200)} |"
        for name, each in below.items()
    ]
    pages = {"commands.md": "\n".join(["# Commands", "", "| command | description |", "|---|---|", *rows])}
    for name, command in below.items():
        context = click.Context(command, parent=top, info_name=name)
        pages[f"command-{name}.md"] = "\n\n".join([f"# fmx {name}", *of_command(context)])
    return pages


def of_command(context) -> list:
    """The parts of a command's page: usage, text, a table of options under each heading, examples."""
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    found = [f"    {usage}", *inspect.cleandoc(command.help).split("\n\n")]
    for heading, options in command.headings(context).items():
        records = (option.get_help_record(context) for option in options)
        rows = [f"| {cell(f'`{name}`')} | {cell(text)} |" for name, text in records]
        found += [f"## {heading}", "\n".join(["| option | description |", "|---|---|", *rows])]
    if command.epilog:
        found += ["## Examples", indented(command.epilog)]
    return found


def cell(text) -> str:
    """Text in a cell of a Markdown table; code with bars as HTML, as Markdown would show their escapes."""
    if text.startswith("`") and "|" in text:
        plain = re.sub(r"([<*_[])", r"\\\1", text.strip("`"))
        return f"<code>{plain.replace('|', '&#124;')}</code>"
    return text if text.startswith("`") else re.sub(r"([|<*_])", r"\\\1", text)


def indented(text) -> str:
    """Text as a block of code."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
