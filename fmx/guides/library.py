"""Libraries of guides: reads tables and FASTA, and finds the columns of tables by name or option."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..dna import IUPAC
from ..errors import InputError, brief, n_of, shown
from ..input.chunks import begins_fastq
from ..input.tables import find_columns, read_rows, read_text
from .table import MOST_SPELLINGS, spellings

COLUMN_KEYS = {  # by --columns
    "id": "id", "sequence": "sequence", "sequence1": "sequence", "sequence2": "second", "gene": "gene",
}  # fmt: skip
_KNOWN = {  # names without case, spaces and punctuation; if several columns match, the earlier name wins
    "id": (
        "id", "sgrnaid", "guideid", "grnaid", "sgrna", "guide", "grna", "sgrnas", "guides", "grnas", "uid",
        "sgrnaname", "guidename", "grnaname", "name", "sgrnaids", "feature", "barcodeid", "crisprid", "code",
        "featurename", "featureid", "tagname",
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
_IN_ORDER = ("id", "sequence", "gene")  # if no name is known
_SUFFIX = "-[0-9]+"  # of 10x's barcodes
_CONTENTS = [  # of a column of sequences, the surest first; words of a few letters may also be names
    re.compile(f"(?i)[{letters}]{{{n},}}({_SUFFIX})?")
    for letters, n in ((IUPAC.decode(), 8), ("ACGTUN", 4), (IUPAC.decode(), 4))
]
_JUDGED = 1000  # lines


def _columns_of(path: str, rows: list, columns: tuple = ()) -> tuple[dict[str, int], bool, str]:
    """Return ({sequence, and second (of pairs), id, gene if any: column}, whether the first line is a header,
    what was assumed if it could be wrong) of a table; ``rows`` from read_rows.

    ``columns``: as of read_library.  Raises InputError if it is unclear which column has the sequences.
    """
    where, names = f"line {rows[0][0]}", rows[0][1]
    numbers, is_header = _by_option(path, where, names, columns)
    known, used, is_chosen = find_columns(names, _KNOWN), set(numbers.values()), "sequence" in numbers
    likely = [numbers["sequence"]] if is_chosen else _likely(rows, used)
    if not columns and len(names) == 1 and not known and (not likely or " " in names[0]):
        raise InputError(path, where, "only one column: separate id, sequence and gene by tabs or commas")
    first = [names[i] for i in likely] or names[:2]
    if not is_header and not _is_like(0, *names) and not (likely and _is_like(1, *first)):
        is_header = bool(known) or not _is_like(2, *first)
    if is_header:
        if "sequence" in dict(columns):  # of single guides
            known.pop("second", None)
        numbers = {name: i for name, i in known.items() if i not in used} | numbers
        if "id" not in numbers and "" in names[:1] and 0 not in numbers.values():
            numbers["id"] = 0  # R writes row names without a header
    certain = dict(numbers)
    if "sequence" not in numbers:
        numbers["sequence"] = _by_content(path, where, names, likely, (numbers, is_header))
    if numbers.get("id") == numbers["sequence"]:
        del numbers["id"]
    elif not is_chosen and (numbers != certain or len(names) == 2):
        numbers = _others(rows[is_header:], len(names), numbers) | numbers
    is_guess = numbers != certain and (is_header or numbers["sequence"] != 1)
    return numbers, is_header, _note(names, numbers, is_header, is_guess)


def _is_like(content: int, *cells: str) -> bool:
    """Return whether any of the cells matches a pattern of _CONTENTS."""
    return any(_CONTENTS[content].fullmatch("".join(cell.split())) for cell in cells)


def _likely(rows: Sequence[tuple[int, list[str]]], taken: Iterable[int]) -> list[int]:
    """Return the columns that look most like sequences; of equal columns, only the second or the first."""
    columns = sorted(set(range(len(rows[0][1]))).difference(taken), key=lambda i: (i != 1, i))
    cells = {i: [row[i] for _, row in rows[:_JUDGED]] for i in columns}
    for content in range(len(_CONTENTS)):
        n = {i: sum(_is_like(content, cell) for cell in cells[i]) for i in columns}
        most = max(n.values(), default=0)
        if 2 * most >= len(rows[:_JUDGED]):
            different = {tuple(cells[i]): i for i in reversed(columns) if 2 * n[i] > most}
            return sorted(different.values())
    return []


def _by_option(path: str, where: str, names: Sequence[str], columns: tuple[tuple[str, str], ...]) -> tuple:
    """Return ({name: column} of the requested columns, whether one was named as in the first line)."""
    numbers, is_header = {}, False
    for name, column in columns:
        plain = [cell.lower() for cell in names]
        if column.lower() in plain:
            numbers[COLUMN_KEYS[name]], is_header = plain.index(column.lower()), True
        elif re.fullmatch("[0-9]{1,6}", column) and 1 <= int(column) <= len(names):
            numbers[COLUMN_KEYS[name]] = int(column) - 1
        elif re.fullmatch("[0-9]+", column):
            what = f"there is no column {brief(column, 60)} (--columns {name}=...), only "
            raise InputError(path, where, what + n_of(len(names), "column"))
        else:
            what = f"no column is called {brief(column, 60)!r} (--columns {name}=...); the columns are "
            raise InputError(path, where, what + _listed(names))
    return numbers, is_header


def _by_content(
    path: str, where: str, names: Sequence[str], likely: list[int], so_far: tuple[dict, bool]
) -> int:
    """Return which of the ``likely`` columns has the sequences.  Raises InputError if that is unclear."""
    numbers, is_header = so_far
    if is_header:
        likely = [i for i in likely if i not in (numbers.get("gene"), numbers.get("second"))]
        likely = [numbers["id"]] if numbers.get("id") in likely else likely
    else:
        likely = [i for i in likely if i < len(_IN_ORDER)] or likely
        likely = likely or ([] if numbers else [min(1, len(names) - 1)])
    if len(likely) != 1:
        what = (
            f"cannot tell which of the columns {_listed(names)} has the sequences of guides: name it, as in "
        )
        raise InputError(path, where, f"{what}--columns id=2,sequence=1, by name or number")
    return likely[0]


def _others(rows: Sequence[tuple[int, list[str]]], n: int, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the columns of ids and genes, by order or by content, of ``n``; ``numbers``: known columns."""
    in_order = dict(zip(_IN_ORDER, range(n), strict=False))
    if all(in_order.get(name) == i for name, i in numbers.items()):
        return in_order
    rest = [i for i in range(n) if i not in numbers.values() and n <= len(_IN_ORDER)]
    ids = [i for i in rest if "id" not in numbers and len({row[i] for _, row in rows}) == len(rows)]
    genes = [i for i in rest if i not in ids[:1]]
    return {name: each[0] for name, each in (("id", ids), ("gene", genes)) if each}


def _note(names: Sequence[str], numbers: Mapping[str, int], is_header: bool, is_guess: bool) -> str:
    """Return which columns are used for what, if guessed, some are unused or guides have no ids; else ""."""
    unused = [i for i in range(len(names)) if i not in numbers.values()]
    if not unused and "id" in numbers and not is_guess:
        return ""
    nouns = {"id": "ids", "sequence": "sequences", "second": "second sequences", "gene": "genes"}
    label = [brief(name, 60) if is_header else str(i + 1) for i, name in enumerate(names)]
    shown_label = [repr(name) for name in label] if is_header else label
    columns = [(what, shown_label[numbers[name]]) for name, what in nouns.items() if name in numbers]
    words = [f"{what} from column {column}" for what, column in columns]
    if "id" not in numbers:
        words.append("guides are named by their sequence")
    if "gene" not in numbers and len(names) > 1:
        words.append("no gene column found")
    if unused:
        words.append(f"not used: {_listed([label[i] for i in unused])}")
    if is_guess:
        words.append("to change, use --columns")
    return "; ".join(words)


def _listed(names: Sequence[str]) -> str:
    """Return the names of columns, at most 12 of them."""
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(repr(brief(name, 60)) for name in names[:12]) + more


_LARGE = 1 << 28  # bytes; libraries are smaller
_WITH_PAM = 23  # bases of a Cas9 guide with its PAM
_LONGEST, _SHORTEST = 32, 4  # bases of a guide: 32 fit into a word; shorter ones occur everywhere


@dataclass(frozen=True)
class Library:
    """Guides in the order of their file: ``ids``, ``genes``, ``sequences`` (upper case, T for U).

    ``seconds``: the second sequences of pairs of guides; empty for single guides.
    """

    path: str
    ids: list
    genes: list
    sequences: list
    seconds: list

    def __len__(self) -> int:
        return len(self.ids)

    def unique(self) -> "tuple[Library, list[tuple[str, str]]]":
        """Return (the library without duplicate sequences, [(id left out, id of the same sequence)]).

        Equal ids have their genes.
        """
        first: dict = {}
        rows, left = [], []
        for i, sequence in enumerate(zip(self.sequences, self.seconds or self.sequences, strict=True)):
            j = first.setdefault(sequence, i)
            if i == j:
                rows.append(i)
            elif self.ids[i] != self.ids[j]:
                left.append((self.ids[i], self.ids[j]))
            else:
                left.append((f"{self.ids[i]} of {self.genes[i]}", f"{self.ids[j]} of {self.genes[j]}"))
        columns = (self.ids, self.genes, self.sequences, self.seconds)
        return Library(self.path, *([column[i] for i in rows] if column else [] for column in columns)), left

    def gene_names(self) -> set:
        """Return the genes, without those that are ids of guides."""
        return {gene for gene, name in zip(self.genes, self.ids, strict=True) if gene != name}


def read_library(path: str, columns: tuple = (), say: Callable[[str], None] | None = None) -> Library:
    """Read the guides of a file; a guide without an id is named by its sequence.

    ``columns``: pairs of a key of COLUMN_KEYS and the name or number of its column; ``say`` receives notes on
    how a table was read.  Raises InputError, which names the line or record.
    """
    text = read_text(path)
    if text.startswith("@"):
        begins_library(path, ord("@"))
    rows: Iterable = _rows_of_table(path, text, columns, say)
    if text.lstrip().startswith(">"):
        if columns:
            raise InputError(path, "", "FASTA has no columns: leave out --columns")
        records = [record.partition("\n") for record in re.split("(?m)^>", text.lstrip())[1:]]
        words = [[*header.split(), "", ""][:2] for header, _, _ in records]  # the id, and the gene
        rows = [
            (f"record {number}", name, gene.removeprefix("gene="), sequence)
            for number, ((name, gene), (*_, sequence)) in enumerate(zip(words, records, strict=True), 1)
        ]
    library, lines = Library(str(path), [], [], [], []), {}  # type: tuple[Library, dict]
    for where, name, gene, *sequences in rows:
        sequences = ["".join(sequence.split()).upper().replace("U", "T") for sequence in sequences]
        spelled = "|".join(sequences)
        is_named, name = name is not None, spelled if name is None else name
        if "-" in spelled:
            sequences = [re.sub(f"{_SUFFIX}$", "", sequence) for sequence in sequences]
        if problem := next(filter(None, (_problem(name, sequence) for sequence in sequences)), ""):
            raise InputError(path, where, problem)
        if not gene.isprintable():
            raise InputError(path, where, f"the gene {shown(gene)} contains unprintable characters")
        if is_named and name in lines:
            raise InputError(
                path, where, f"the id {shown(name)!r} is also that of {lines[name]}: make ids unique"
            )
        lines[name] = where
        library.ids.append(name)
        library.genes.append(gene or name)
        library.sequences.append(sequences[0])
        library.seconds.extend(sequences[1:])
    if not library.ids:
        raise InputError(path, "", "no guides: give a table of id, sequence and gene, or FASTA")
    if say and all(len(x) == _WITH_PAM and x.endswith("GG") for x in library.sequences):
        say(f"{path}: all guides have {_WITH_PAM} bases and end with GG: remove the PAM, if it is one")
    return library


def _problem(name: str, sequence: str) -> str:
    """Return what is wrong with the id or the sequence of a guide, or ""."""
    if not name:
        return "guide without an id"
    if not name.isprintable():
        return f"the id {shown(name)} contains unprintable characters"
    codes = sequence.strip("ACGT")
    if other := codes.strip(IUPAC.decode()):
        return f"the sequence of {name} contains {shown(other[0])!r}, which is not a base"
    if not _SHORTEST <= len(sequence) <= _LONGEST:
        size = n_of(len(sequence), "base")
        what = f"the sequence of {name} has {size}; a guide has {_SHORTEST} to {_LONGEST}"
        advice = (
            ": give longer ones as FASTA to fmx index, and count with fmx search --length N --counts FILE"
        )
        return what + advice * (len(sequence) > _LONGEST)
    if codes and spellings(sequence) is None:
        return f"the sequence of {name} matches more than {MOST_SPELLINGS:,} sequences: use fewer IUPAC codes"
    return ""


def begins_library(path: str, byte: int) -> None:
    """Raise InputError if a file that begins with this byte contains reads."""
    if byte == ord("@"):
        raise InputError(path, "", "this is FASTQ, not a library of guides: give -l a table or FASTA")


def begins_reads(path: str, byte: int) -> None:
    """Raise InputError if a file that begins with this byte is neither FASTQ nor FASTA, or is a library."""
    try:
        begins_fastq(path, byte)
    except InputError:
        is_library = False
        with suppress(InputError):
            is_library = os.path.getsize(path) < _LARGE and _is_like(1, *read_library(path).sequences)
        if is_library:
            raise InputError(path, "", "this is a library of guides, not reads: give it with -l") from None
        raise


def _rows_of_table(
    path: str, text: str, options: tuple, say: Callable[[str], None] | None
) -> Iterator[tuple]:
    """Yield (where, id or None, gene, sequence, second sequence if any) of the lines of a table."""
    rows = read_rows(path, text, _KNOWN)
    if not rows:
        return
    columns, is_header, note = _columns_of(path, rows, options)
    if note and say:
        say(f"{path}: {note}")
    several = [columns[key] for key in ("sequence", "second") if key in columns]
    for number, cells in rows[is_header:]:
        name = cells[columns["id"]] if "id" in columns else None
        gene = cells[columns["gene"]] if "gene" in columns else ""
        yield f"line {number}", name, gene, *[cells[i] for i in several]
