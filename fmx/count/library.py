"""A library: guides with an id, a sequence and a gene, of a CSV, TSV or FASTA file."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..errors import InputError, n_of, shown
from ..input.chunks import begins_fastq
from ..input.dna import IUPAC
from ..input.tables import read_rows, read_text
from .columns import columns_of
from .table import MOST_SPELLINGS, spellings

LARGE = 1 << 28  # bytes that no library has
WITH_PAM = 23  # letters of a guide of Cas9 and its PAM
LONGEST, SHORTEST = 32, 4  # letters of a guide: a packed word's; fewer are everywhere
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
                left.append(self._told_apart(i, first[sequence]))
            else:
                first[sequence] = i
                kept.append(i)
        columns = (self.ids, self.genes, self.sequences, self.seconds)
        return Library(self.path, *([column[i] for i in kept] if column else [] for column in columns)), left

    def _told_apart(self, i: int, j: int) -> tuple:
        """The ids of two guides; with their genes, where the ids are the same."""
        one, two = self.ids[i], self.ids[j]
        return (one, two) if one != two else (f"{one} of {self.genes[i]}", f"{two} of {self.genes[j]}")


def read_library(path: str, asked: tuple = (), say: Callable[[str], None] | None = None) -> Library:
    """The guides of a file; one without an id is named by its sequence.

    ``asked``: which columns hold what, as of columns_of; ``say`` is told how a table was understood.
    Raises InputError that names the line, or the record.
    """
    text = read_text(path)
    if text.startswith("@"):
        begins_library(path, ord("@"))
    if text.lstrip().startswith(">"):
        if asked:
            raise InputError(path, "", "this is FASTA, which has no columns: leave --columns out")
        rows = _fasta(text)
    else:
        rows = _table(path, text, asked, say)
    library, lines = Library(str(path), [], [], [], []), {}  # type: tuple[Library, dict]
    for where, name, gene, *sequences in rows:
        sequences = ["".join(sequence.split()).upper().replace("U", "T") for sequence in sequences]
        is_named, name = name is not None, "|".join(sequences) if name is None else name
        for sequence in sequences:
            _check(path, where, name, sequence)
        if not gene.isprintable():
            raise InputError(path, where, f"the gene {shown(gene)} holds what cannot be printed")
        if is_named and name in lines:
            raise InputError(path, where, f"the id {shown(name)!r} is that of {lines[name]} too: ids differ")
        lines[name] = where
        library.ids.append(name)
        library.genes.append(gene or name)
        library.sequences.append(sequences[0])
        library.seconds.extend(sequences[1:])
    if not library.ids:
        raise InputError(path, "", "it holds no guide: give a table of id, sequence and gene, or FASTA")
    if say and all(len(x) == WITH_PAM and x.endswith("GG") for x in library.sequences):
        say(f"{path}: all guides have {WITH_PAM} letters and end with GG, as with a PAM: reads hold none")
    return library


def begins_library(path: str, byte: int) -> None:
    """Raise InputError if a file that begins with this byte holds reads."""
    if byte == ord("@"):
        raise InputError(path, "", "this is FASTQ, not a library of guides: -l takes a table or FASTA")


def begins_reads(path: str, byte: int) -> None:
    """Raise InputError if a file that begins with this byte is neither FASTQ nor FASTA, or is a library."""
    try:
        begins_fastq(path, byte)
    except InputError as error:
        if os.path.getsize(path) < LARGE and _is_library(path):
            raise InputError(path, "", "this is a library of guides, not reads: give it with -l") from error
        raise


def _is_library(path: str) -> bool:
    try:
        return len(read_library(path)) > 0
    except InputError:
        return False


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


def _table(path: str, text: str, asked: tuple, say: Callable[[str], None] | None) -> Iterator[tuple]:
    """Yield (where, id or None, gene, sequence, the second one if there is one) of the lines of a table."""
    rows = read_rows(path, text)
    if not rows:
        return
    columns = columns_of(path, rows, asked)
    if columns.note and say:
        say(f"{path}: {columns.note}")
    several = [columns.sequence] + ([] if columns.second is None else [columns.second])
    for number, cells in rows[columns.is_header :]:
        name = None if columns.id is None else cells[columns.id]
        gene = "" if columns.gene is None else cells[columns.gene]
        yield f"line {number}", name, gene, *(cells[i] for i in several)


def _fasta(text):
    """The same of FASTA: the first word of a header is the id, the second one, if any, the gene."""
    for number, record in enumerate(re.split(r"^>", text.lstrip(), flags=re.MULTILINE)[1:], 1):
        header, _, sequence = record.partition("\n")
        words = header.split()
        gene = words[1].removeprefix("gene=") if len(words) > 1 else ""
        yield f"record {number}", words[0] if words else "", gene, sequence
