"""Read groups: the one that --rg names, or those that BAM and CRAM with reads bring along."""

import os
import re

import click


def read_groups(text, paths) -> tuple:
    """(@RG lines, the ID of all reads, letters of the longest ID that a read of ``paths`` may bring along).

    ``text`` of --rg or None, which comes first.  Raises UsageError, InputError.
    """
    if text is not None:
        return *_named(text), 0
    from ..input.alignments import read_groups as groups_of
    from ..input.streams import Source

    lines: dict = {}
    for path in filter(os.path.isfile, paths):
        with Source(path) as source:
            if source.alignments:
                source.alignments.check()
            found = groups_of(path) if source.alignments else []
        for line in found:
            name = dict(field.split(":", 1) for field in line.split("\t")[1:])["ID"]
            if lines.setdefault(name, line) != line:
                raise click.UsageError(
                    f"read group {name} of {path} is another one elsewhere: say --rg for all"
                )
    return "\n".join(lines.values()), "", max(map(len, lines), default=0)


def _named(text) -> tuple:
    """(@RG line, its ID) of --rg, where \\t stands for a tab; only what SAM's specification allows."""
    line = text.replace("\\t", "\t")
    start, *fields = line.split("\t")
    tags = [field[:2] for field in fields]
    values = {field[:2]: field[3:] for field in fields}
    if start != "@RG" or not values.get("ID"):
        _refuse(r"must look like '@RG\tID:name\tSM:sample'")
    for field in fields:
        described = field.startswith("DS:") and field.isprintable()  # which may hold UTF-8
        if not re.fullmatch("[A-Za-z][A-Za-z0-9]:[ -~]+", field) and not described:
            _refuse(f"'{field}' is not two letters, a colon and printable ASCII")
        if tags.count(field[:2]) > 1:
            _refuse(f"{field[:2]} is there twice")
    if " " in values["ID"]:
        _refuse("the ID holds a space")
    return line, values["ID"]


def _refuse(what):
    raise click.BadParameter(what, param_hint="--rg")
