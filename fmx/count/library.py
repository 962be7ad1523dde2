"""A library: guides with an id, a sequence and a gene, of a CSV, TSV or FASTA file."""

import re
from dataclasses import dataclass, replace

from ..errors import InputError, shown
from ..input.delimited import find_columns, read_rows, read_text
from ..input.dna import IUPAC
from .table import MOST_SPELLINGS, spellings

LONGEST, SHORTEST = 32, 4  # letters of a guide: a packed word's; fewer are everywhere
COLUMNS = {
    "id": ("id", "sgrna", "sgrnaid", "guide", "guideid", "grna", "grnaid", "name", "feature", "barcodeid"),
    "sequence": (
        "sequence", "seq", "guidesequence", "guideseq", "sgrnasequence", "sgrnaseq", "grnasequence",
        "grnaseq", "sgrnatargetsequence", "targetsequence", "spacer", "spacersequence", "protospacer",
        "barcode",
    ),
    "gene": ("gene", "geneid", "genesymbol", "genename", "target", "targetgene", "symbol"),
}  # fmt: skip
_LETTERS = IUPAC.decode()


@dataclass(frozen=True)
class Library:
    """Guides in the order of their file: ``ids``, ``genes``, ``sequences`` (upper case, T for U)."""

    path: str
    ids: list
    genes: list
    sequences: list

    def __len__(self):
        return len(self.ids)

    def unique(self):
        """(this without the guides whose sequence an earlier one has, [(id left out, id that stays)])."""
        first, kept, left = {}, [], []
        for i, sequence in enumerate(self.sequences):
            if sequence in first:
                left.append((self.ids[i], self.ids[first[sequence]]))
            else:
                first[sequence] = i
                kept.append(i)
        fields = {name: [getattr(self, name)[i] for i in kept] for name in ("ids", "genes", "sequences")}
        return replace(self, **fields), left


def read_library(path) -> Library:
    """The guides of a file.  Raises InputError that names the line, or the record."""
    text = read_text(path)
    rows = _fasta(text) if text.lstrip().startswith(">") else _table(path, text)
    library = Library(str(path), [], [], [])
    lines: dict = {}
    for where, name, sequence, gene in rows:
        sequence = "".join(sequence.split()).upper().replace("U", "T")
        _check(path, where, name, sequence)
        if name in lines:
            raise InputError(path, where, f"the id {shown(name)!r} is that of {lines[name]} too: ids differ")
        lines[name] = where
        library.ids.append(name)
        library.genes.append(gene or name)
        library.sequences.append(sequence)
    if not library.ids:
        raise InputError(path, "", "it holds no guide: give a table of id, sequence and gene, or FASTA")
    return library


def _check(path, where, name, sequence):
    if not name:
        raise InputError(path, where, "a guide without an id")
    if not name.isprintable():
        raise InputError(path, where, f"the id {shown(name)} holds what cannot be printed")
    if other := sequence.strip(_LETTERS):
        raise InputError(path, where, f"the sequence of {name} holds {shown(other[0])!r}, no letter of DNA")
    if not SHORTEST <= len(sequence) <= LONGEST:
        what = f"the sequence of {name} has {len(sequence)} letters; a guide has {SHORTEST} to {LONGEST}"
        raise InputError(path, where, what)
    if sequence.strip("ACGT") and spellings(sequence) is None:
        raise InputError(
            path, where, f"the sequence of {name} stands for more than {MOST_SPELLINGS:,} others"
        )


def _table(path, text):
    """Yield (where, id, sequence, gene) of the lines of a table."""
    rows = read_rows(path, text)
    if not rows:
        return
    where, names = f"line {rows[0][0]}", rows[0][1]
    if len(names) < 2:
        raise InputError(path, where, "it has one column: id, sequence and gene stand apart by tab or comma")
    columns = find_columns(names, COLUMNS)
    if "sequence" in columns and "id" in columns:
        rows = rows[1:]
    elif "sequence" in columns:
        raise InputError(path, where, "no column is named id: name them id, sequence and gene")
    else:
        columns = {name: i for i, name in enumerate(COLUMNS) if i < len(names)}
        if names[1].strip(_LETTERS + _LETTERS.lower()):  # names that are not known
            rows = rows[1:]
    for number, cells in rows:
        gene = cells[columns["gene"]] if "gene" in columns else ""
        yield f"line {number}", cells[columns["id"]], cells[columns["sequence"]], gene


def _fasta(text):
    """The same of FASTA: the first word of a header is the id, the second one, if any, the gene."""
    for number, record in enumerate(re.split(r"^>", text.lstrip(), flags=re.MULTILINE)[1:], 1):
        header, _, sequence = record.partition("\n")
        words = header.split()
        gene = words[1].removeprefix("gene=") if len(words) > 1 else ""
        yield f"record {number}", words[0] if words else "", sequence, gene
