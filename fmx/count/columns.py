"""Which columns of a library's table hold what: by names that libraries have, or as asked."""

import re
from dataclasses import dataclass

from ..errors import InputError, brief
from ..input.dna import IUPAC
from ..input.tables import find_columns

ASKED = {"id": "id", "sequence": "sequence", "sequence2": "second", "gene": "gene"}  # by --columns
_KNOWN = {  # without case, spaces and marks; of several that fit, the one that is called so first counts
    "id": (
        "id", "sgrnaid", "guideid", "grnaid", "sgrna", "guide", "grna", "sgrnas", "guides", "grnas", "uid",
        "sgrnaname", "guidename", "grnaname", "name", "sgrnaids", "feature", "barcodeid", "crisprid", "code",
    ),
    "sequence": (
        "sequence", "seq", "guidesequence", "guideseq", "sgrnasequence", "sgrnaseq", "grnasequence",
        "grnaseq", "sgrnatargetsequence", "targetsequence", "targetseq", "spacer", "spacersequence",
        "spacerseq", "protospacer", "protospacersequence", "barcode", "barcodesequence", "sgrnaseqs",
        "wgesequence", "sequence1", "sequencea", "seq1", "spacer1", "spacera", "guide1", "guidea",
        "protospacer1", "protospacera",
    ),
    "gene": (
        "gene", "genesymbol", "genename", "symbol", "targetgenesymbol", "targetgenename",
        "annotatedgenesymbol", "approvedsymbol", "hgncsymbol", "genes", "targetgene", "target", "geneid",
        "targetgeneid", "annotatedgeneid", "genepairid",
    ),
    "second": (
        "sequence2", "sequenceb", "seq2", "spacer2", "spacerb", "guide2", "guideb", "protospacer2",
        "protospacerb",
    ),
}  # fmt: skip
_IN_ORDER = ("id", "sequence", "gene")  # where no names tell
_LETTERS = IUPAC.decode() + IUPAC.decode().lower()


@dataclass(frozen=True)
class Columns:
    """Numbers of columns: of the ``sequence``, and of ``second`` (of pairs), ``id`` and ``gene``, or None.

    The first line ``is_header``.  ``note``: what was understood, where a person may have meant another thing.
    """

    sequence: int
    second: int | None
    id: int | None
    gene: int | None
    is_header: bool
    note: str


def columns_of(path: str, rows: list, asked: tuple = ()) -> Columns:
    """The Columns of the ``rows`` of a table, as of read_rows.

    ``asked``: pairs of one of ASKED and the name or number of its column.
    Raises InputError where it is not clear which column holds the sequences.
    """
    where, names = f"line {rows[0][0]}", rows[0][1]
    found, is_header = _asked(path, where, names, asked)
    if not asked and len(names) == 1 and not _is_guide(names[0]) and not find_columns(names, _KNOWN):
        raise InputError(path, where, "it has one column: id, sequence and gene stand apart by tab or comma")
    is_data = any(re.fullmatch("(?i)[ACGTUN]{8,}", cell) for cell in names)
    known = {} if is_data and not is_header else find_columns(names, _KNOWN)
    taken = set(found.values())
    if "sequence" in found:
        is_header = is_header or not _is_guide(names[found["sequence"]])
    else:
        is_header = is_header or bool(known) or not (is_data or any(map(_is_guide, names[:2])))
    if is_header:
        found = {name: i for name, i in known.items() if i not in taken} | found
        if "id" not in found and "" in names[:1] and 0 not in found.values():
            found["id"] = 0  # as R writes the names of rows
    note = ""
    if "sequence" not in found:
        found, note = _by_place(path, where, rows, (found, is_header))
    note = note or _note(names, found, is_header)
    second, name, gene = map(found.get, ("second", "id", "gene"))
    return Columns(found["sequence"], second, name, gene, is_header, note)


def _is_guide(cell: str) -> bool:
    """Might this be a guide?"""
    return len(cell) > 3 and not cell.strip(_LETTERS)


def _asked(path, where, names, asked) -> tuple:
    """({name: column} of what was asked for, whether any is a name of the first line)."""
    found, is_header = {}, False
    for name, wanted in asked:
        plain = [cell.lower() for cell in names]
        if wanted.lower() in plain:
            found[ASKED[name]], is_header = plain.index(wanted.lower()), True
        elif re.fullmatch("[0-9]{1,6}", wanted) and 1 <= int(wanted) <= len(names):
            found[ASKED[name]] = int(wanted) - 1
        else:
            called = f"no column is called {brief(wanted, 60)!r} (--columns {name}=...)"
            raise InputError(path, where, f"{called}; there are {_listed(names)}")
    return found, is_header


def _by_place(path, where, rows, so_far) -> tuple:
    """({name: column}, a note) where no name tells which column holds sequences: by order or by content."""
    (found, is_header), names, cells = so_far, rows[0][1], [cells for _, cells in rows[so_far[1] :]]

    def holds_guides(column):
        return bool(cells) and all(_is_guide(row[column]) for row in cells)

    in_order = {name: i for i, name in enumerate(_IN_ORDER) if i < len(names)}
    if len(names) == 1:
        return {"sequence": 0}, ""
    if not is_header and not found:
        return in_order, ""
    if "id" in found and holds_guides(found["id"]):
        found = {name: i for name, i in found.items() if name != "id"} | {"sequence": found["id"]}
        return found, ""
    if all(in_order.get(name) == column for name, column in found.items()) and holds_guides(1):
        unknown = [names[i] for name, i in in_order.items() if name not in found]
        as_what = ", ".join(name for name in in_order if name not in found)
        return in_order, f"{_listed(unknown)} taken for {as_what}, by their order; else say --columns"
    what = f"no column is known for the sequences of guides, of {_listed(names)}: say which is, as in "
    raise InputError(path, where, f"{what}--columns id=1,sequence=2,gene=3, by name or number")


def _note(names, found, is_header) -> str:
    """What is told of columns: what was taken for what, if not all were, or guides have no ids."""
    unused = [i for i in range(len(names)) if i not in found.values()]
    if not unused and "id" in found:
        return ""
    words = {"id": "ids", "sequence": "sequences", "second": "second sequences", "gene": "genes"}
    label = [brief(name, 60) for name in names] if is_header else [str(i + 1) for i in range(len(names))]
    said = [
        f"{what} from column {label[found[name]]!r}"
        if is_header
        else f"{what} from column {label[found[name]]}"
        for name, what in words.items()
        if name in found
    ]
    if "id" not in found:
        said.append("guides are named by their sequence")
    if "gene" not in found and len(names) > 1:
        said.append("no column of genes is known")
    if unused:
        said.append(f"not used: {_listed([label[i] for i in unused])}")
    return "; ".join(said)


def _listed(names) -> str:
    """Names of columns, the first 12 of them."""
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(repr(brief(name, 60)) for name in names[:12]) + more
