"""Man pages from the texts of --help: fmx.1 and a page for each command, put into the wheel by hook.py.

Where fmx is installed, ``man fmx`` and ``man fmx-search`` find them: man looks beside the folders of PATH.
"""

import inspect

import click

EXIT = {
    "0": "Success.",
    "1": "Failure; a line on standard error states the problem.",
    "2": "Usage error.",
    "129, 130, 143": "Stopped by SIGHUP, SIGINT or SIGTERM.",
    "141": "The reader of a pipe closed it.",
}
VARIABLES = {
    "FMX_INDEX": "Index to use without -x.",
    "FMX_CACHE": "Folder for fmx/, with compiled code, instead of $XDG_CACHE_HOME or ~/.cache.",
}


def pages(group, version):
    """(name of the file, page) of the group and of each command in it."""
    top = click.Context(group, info_name="fmx", **group.context_settings)
    below = {word: group.get_command(top, word) for word in group.list_commands(top)}
    rows = [(f"fmx-{word}(1)", command.get_short_help_str(limit=1000)) for word, command in below.items()]
    yield "fmx.1", page(top, rows, version)
    for word, command in below.items():
        context = click.Context(command, parent=top, info_name=word)
        yield f"fmx-{word}.1", page(context, [], version)


def page(context, commands, version) -> str:
    """The page of a command in man's language; ``commands``: (name, what it does) of those below it."""
    command, name = context.command, context.command_path.replace(" ", "-")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    short = command.get_short_help_str(limit=1000).rstrip(".")
    short = short[:1].lower() + short[1:]
    lines = [f'.TH "{name.upper()}" 1 "" "fmx {version}"', ".nh", ".ad l"]  # not hyphenated, nor justified
    lines += [".SH NAME", f"{plain(name)} \\- {plain(short)}"]
    lines += [".SH SYNOPSIS", plain(usage), ".SH DESCRIPTION", *paragraphs(command.help)]
    lines += entries(".SH COMMANDS", commands) + options(context)
    if command.epilog:
        lines += [".SH EXAMPLES", ".in 2n", ".nf", *map(plain, command.epilog.splitlines()), ".fi", ".in"]
    if context.parent:
        about = "\\fBfmx\\fR(1) lists the commands, environment variables and exit statuses."
        return "\n".join([*lines, ".SH SEE ALSO", about, ""])
    lines += entries(".SH ENVIRONMENT", VARIABLES.items()) + entries(".SH EXIT STATUS", EXIT.items())
    return "\n".join([*lines, ""])


def options(context) -> list:
    """Lines of the options of a command, under the headings that it has."""
    command = context.command
    if isinstance(command, click.Group):
        params = [param for param in command.get_params(context) if isinstance(param, click.Option)]
        return entries(".SH OPTIONS", [record for x in params if (record := x.get_help_record(context))])
    found = [".SH OPTIONS"]
    for heading, below in command.headings(context).items():
        found += entries(f".SS {heading}", [option.get_help_record(context) for option in below])
    return found


def entries(title, rows) -> list:
    """Lines of a section of (name, what it is); none where there are no rows.

    Names are bold; the values of options are underlined.
    """
    found = [line for name, said in rows for line in (".TP", tag(name), plain(said))]
    return [title, *found] if found else []


def tag(name) -> str:
    """The name of an entry with its fonts: an option with its value, or anything else."""
    if not name.startswith("-"):
        return f"\\fB{plain(name)}\\fR"
    found = []
    for word in name.split(" "):
        own, font = word.rstrip(","), "B" if word.startswith("-") else "I"
        found.append(f"\\f{font}{plain(own)}\\fR{word[len(own) :]}")
    return " ".join(found)


def paragraphs(text) -> list:
    """Lines of a help text; after a line of \\b, its paragraph is kept as it is laid out."""
    found = []
    for block in inspect.cleandoc(text).split("\n\n"):
        kept = block.startswith("\b")
        words = block.lstrip("\b\n").split("\n")
        found += [".PP", ".nf", *map(plain, words), ".fi"] if kept else [".PP", plain(" ".join(words))]
    return found


def plain(text) -> str:
    """Text that man prints as it is."""
    text = " ".join(text.split("\n")).replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith((".", "\\(aq")) else text
