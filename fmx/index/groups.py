"""Groups of contigs, each contig in one: the files that a reference was read of, or what a table says.

A strain, a species, a host: whatever reads are counted by.
"""

from typing import NamedTuple

import numpy as np

from ..errors import InputError, UnsupportedError, shown
from ..input.tables import read_named

COLUMNS = {
    "contig": ("contig", "sequence", "seqid", "seqname", "chrom", "chromosome", "accession", "name"),
    "group": ("group", "strain", "genome", "species", "taxon", "sample", "file", "reference"),
}


class Groups(NamedTuple):
    """``names`` list of str, in the order of their first contigs; ``of_contig`` uint32[n_contigs]."""

    names: list
    of_contig: np.ndarray


def grouped(names_of_contigs) -> Groups:
    """Groups by the name of each contig's."""
    numbers: dict = {}
    of_contig = [numbers.setdefault(name, len(numbers)) for name in names_of_contigs]
    return Groups(list(numbers), np.array(of_contig, np.uint32))


def are_names(names) -> bool:
    """Whether groups may be called so: what is printed, no two alike."""
    return all(name and name.isprintable() for name in names) and len(set(names)) == len(names)


def read_groups(path, contigs, tell) -> Groups:
    """Groups of ``contigs`` (names) by a table of contig and group, with or without a line of names.

    ``tell`` takes a sentence on lines of other contigs.  Raises InputError that names the line, or a contig
    that has no line.
    """
    columns, rows = read_named(path, COLUMNS)
    found: dict = {}
    for number, cells in rows:
        where = f"line {number}"
        if len(cells) < 2:
            raise InputError(path, where, "a contig and its group are wanted, with a tab between them")
        contig, group = cells[columns["contig"]], cells[columns["group"]]
        if not are_names([group]):
            raise InputError(path, where, f"{shown(group)!r} is no name of a group: letters that print")
        if found.setdefault(contig, group) != group:
            raise InputError(path, where, f"contig {shown(contig)} is in group {found[contig]} already")
    if missing := [name for name in contigs if name not in found]:
        what = f"has no line here, nor have {len(missing) - 1:,} more" if missing[1:] else "has no line here"
        raise InputError(path, f"contig {missing[0]}", f"{what}: each contig needs a group")
    if others := len(found.keys() - set(contigs)):
        tell(f"{path}: {others:,} of its contigs {'is' if others == 1 else 'are'} not in the reference")
    return grouped(found[name] for name in contigs)


def blocks_by_group(reference):
    """The Blocks of a Reference, with the number of its group in the place of a contig's."""
    blocks = reference.blocks
    return blocks._replace(contig=reference.groups.of_contig[blocks.contig].astype(np.int64))


def groups_of(index) -> Groups:
    """The Groups of an opened index.  Raises UnsupportedError where it has none."""
    if index.reference.groups is None:
        raise UnsupportedError(
            f"{index.path} has no groups of contigs: build it of several files or with --groups, or add them "
            f"with 'fmx index --add --groups TABLE {index.path}'"
        )
    return index.reference.groups
