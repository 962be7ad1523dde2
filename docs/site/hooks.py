"""Pages of the site that are no files of docs/: README, CONTRIBUTING, CHANGELOG; commands; the library."""

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
    files.append(File.generated(config, "commands.md", content=commands()))
    files.append(File.generated(config, "library.md", content=library()))
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


def library() -> str:
    """The page of the Python library: what ``dir(fmx)`` shows, by its docstrings."""
    found = ["# Python: reference", "What `import fmx` gives: its types, its arguments, an example each."]
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


def commands() -> str:
    """The page of all commands: what --help shows of each."""
    found = ["# Commands", "Every command with its options, as `--help` shows them."]

    def walk(command, context):
        if context.parent:
            found.append(f"{'#' * (1 + context.command_path.count(' '))} {context.command_path}")
        found.append("\n".join(f"    {line}".rstrip() for line in command.get_help(context).splitlines()))
        if isinstance(command, click.Group):
            for word in command.list_commands(context):
                below = command.get_command(context, word)
                walk(below, click.Context(below, parent=context, info_name=word, terminal_width=100))

    walk(cli.fmx, click.Context(cli.fmx, info_name="fmx", terminal_width=100, **cli.fmx.context_settings))
    return "\n\n".join(found)
