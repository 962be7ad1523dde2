"""A library: guides with an id, a sequence and a gene, of a CSV, TSV or FASTA file."""

import re
from dataclasses import dataclass

from ..errors import InputError, n_of, shown
from ..input.delimited import find_columns, read_rows, read_text
from ..input.dna import IUPAC
from .table import MOST_SPELLINGS, spellings

LONGEST, SHORTEST = 32, 4  # letters of a guide: a packed word's; fewer are everywhere
COLUMNS = {
    "id": ("id", "sgrna", "sgrnaid", "guide", "guideid", "grna", "grnaid", "name", "feature", "barcodeid"),
    "sequence": (
        "sequence", "seq", "guidesequence", "guideseq", "sgrnasequence", "sgrnaseq", "grnasequence",
        "grnaseq", "sgrnatargetsequence", "targetsequence", "spacer", "spacersequence", "protospacer",
        "barcode", "sequence1", "sequencea", "seq1", "spacer1", "spacera", "guide1", "guidea",
        "protospacer1", "protospacera",
    ),
    "gene": ("gene", "geneid", "genesymbol", "genename", "target", "targetgene", "symbol"),
    "second": (
        "sequence2", "sequenceb", "seq2", "spacer2", "spacerb", "guide2", "guideb", "protospacer2",
        "protospacerb",
    ),
}  # fmt: skip
_LETTERS = IUPAC.decode()


@dataclass(frozen=True)
class Library:
    """Guides in the order of their file: ``ids``, ``genes``, ``sequences`` (upper case, T for U).

    Of pairs of guides ``seconds`` are the sequences of the second ones; else it is empty.
    """

    path: str
    ids: list
    genes: list
    sequences: list
    seconds: list

    def __len__(self):
        return len(self.ids)

    def unique(self):
        """(this without the guides whose sequence an earlier one has, [(id left out, id that stays)])."""
        first, kept, left = {}, [], []
        for i, sequence in enumerate(zip(self.sequences, self.seconds or self.sequences, strict=True)):
            if sequence in first:
                left.append((self.ids[i], self.ids[first[sequence]]))
            else:
                first[sequence] = i
                kept.append(i)
        columns = (self.ids, self.genes, self.sequences, self.seconds)
        return Library(self.path, *([column[i] for i in kept] if column else [] for column in columns)), left


def read_library(path) -> Library:
    """The guides of a file.  Raises InputError that names the line, or the record."""
    text = read_text(path)
    rows = _fasta(text) if text.lstrip().startswith(">") else _table(path, text)
    library, lines = Library(str(path), [], [], [], []), {}  # type: tuple[Library, dict]
    for where, name, gene, *sequences in rows:
        sequences = ["".join(sequence.split()).upper().replace("U", "T") for sequence in sequences]
        for sequence in sequences:
            _check(path, where, name, sequence)
        if not gene.isprintable():
            raise InputError(path, where, f"the gene {shown(gene)} holds what cannot be printed")
        if name in lines:
            raise InputError(path, where, f"the id {shown(name)!r} is that of {lines[name]} too: ids differ")
        lines[name] = where
        library.ids.append(name)
        library.genes.append(gene or name)
        library.sequences.append(sequences[0])
        library.seconds.extend(sequences[1:])
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
        what = (
            f"the sequence of {name} has {n_of(len(sequence), 'letter')}; a guide has {SHORTEST} to {LONGEST}"
        )
        raise InputError(path, where, what)
    if sequence.strip("ACGT") and spellings(sequence) is None:
        raise InputError(
            path, where, f"the sequence of {name} stands for more than {MOST_SPELLINGS:,} others"
        )


def _table(path, text):
    """Yield (where, id, gene, sequence, the second one if there is one) of the lines of a table."""
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
        columns = {name: i for i, name in enumerate(("id", "sequence", "gene")) if i < len(names)}
        if names[1].strip(_LETTERS + _LETTERS.lower()):  # names that are not known
            rows = rows[1:]
    for number, cells in rows:
        gene = cells[columns["gene"]] if "gene" in columns else ""
        sequences = (cells[columns[name]] for name in ("sequence", "second") if name in columns)
        yield f"line {number}", cells[columns["id"]], gene, *sequences


def _fasta(text):
    """The same of FASTA: the first word of a header is the id, the second one, if any, the gene."""
    for number, record in enumerate(re.split(r"^>", text.lstrip(), flags=re.MULTILINE)[1:], 1):
        header, _, sequence = record.partition("\n")
        words = header.split()
        gene = words[1].removeprefix("gene=") if len(words) > 1 else ""
        yield f"record {number}", words[0] if words else "", gene, sequence
