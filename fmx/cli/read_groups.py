"""Read groups: the one that --rg names, or those that BAM and CRAM with reads bring along."""

import os
import re

import click


def read_groups(text, paths) -> tuple:
    """(@RG lines, the ID of all reads, letters of the longest ID that a read of ``paths`` may bring along).

    ``text`` of --rg or None, which comes first.  Raises UsageError, InputError.
    """
    if text is not None:
        try:
            return *named_group(text), 0
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--rg") from error
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


def named_group(text) -> tuple:
    """(@RG line, its ID) of --rg, where \\t stands for a tab; only what SAM's specification allows.

    Raises ValueError.
    """
    line = text.replace("\\t", "\t")
    start, *fields = line.split("\t")
    tags = [field[:2] for field in fields]
    values = {field[:2]: field[3:] for field in fields}
    if start != "@RG" or not values.get("ID"):
        raise ValueError(r"must look like '@RG\tID:name\tSM:sample'")
    for field in fields:
        described = field.startswith("DS:") and field.isprintable()  # which may hold UTF-8
        if not re.fullmatch("[A-Za-z][A-Za-z0-9]:[ -~]+", field) and not described:
            raise ValueError(f"'{field}' is not two letters, a colon and printable ASCII")
        if tags.count(field[:2]) > 1:
            raise ValueError(f"{field[:2]} is there twice")
    if " " in values["ID"]:
        raise ValueError("the ID holds a space")
    return line, values["ID"]
