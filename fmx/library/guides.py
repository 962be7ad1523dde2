"""fmx.count and fmx.offtargets: guides of a library in the reads of samples, and their sites in a genome."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import limits
from ..errors import quoted
from ..guides.assign import CountOptions, GuideWindow
from ..guides.counting import count_all, make_counter
from ..guides.library import COLUMN_KEYS, Library, read_library
from ..guides.results import SampleStats
from ..guides.samples import Sample, samples_of
from ..index.reference import Names
from ..machines.progress import Progress
from ..sites.kernels import extent_of
from ..sites.search import SiteOptions, batches, checked, read_genome
from . import arguments
from .arguments import Path, Sequences, SequenceSource, Strands
from .results import places
from .table import Table, make_table

COUNT = np.dtype([("sample", "i4"), ("guide", "i8"), ("gene", "i8"), ("count", "i8")])
_LETTERS = "ACGTUNRYSWKMBDHV"
Samples = Path | Mapping[str, Path | list[Path] | tuple[Path, ...]]


@dataclass(frozen=True)
class Counts:
    """The result of ``fmx.count``.

    ``table``: a Table of dtype ``fmx.COUNT`` with one row per sample and guide, sample by sample:
    ``sample``, ``guide`` and ``gene``, numbers from 0 with names; ``count``, the number of reads, or of pairs
    with mates.  ``samples``: statistics of each sample: ``reads``, ``assigned``, ``ambiguous``,
    ``unassigned``, ``offsets``, ``gini`` and so on, as in ``fmx count --report FILE.json``.  ``notes``:
    messages and warnings about library and samples, such as columns that were not used.

    Examples:
        >>> counts = fmx.count({"day0": "reads.fq"}, "guides.csv")
        >>> counts.samples[0].reads, counts.samples[0].assigned
        (3, 2)
    """

    table: Table
    samples: tuple[SampleStats, ...]
    notes: tuple[str, ...]


def count(
    reads: Samples, library: Path, *, mates: Samples | None = None, columns: Mapping[str, str] | None = None,
    offsets: Iterable[int] = (), after: str = "", before: str = "", anywhere: bool = False,
    strands: Strands = "both", mismatches: int = 0, min_quality: int = 0, threads: int | None = None,
) -> Counts:  # fmt: skip
    """Count the guides of a library in samples, as ``fmx count`` does (docs/count.md).

    Args:
        reads: Path of a file of reads, or a dict of samples by name, each a path or a list of paths.
        library: Path of a table of id, sequence and gene, or of a FASTA file.
        mates: The files with second mates of the same samples, in the same form.
        columns: Columns of the library: a dict that maps id, sequence, sequence1 (the same as
            sequence), sequence2 or gene to the name of a column, or to its number from "1".
        offsets: Numbers of bases before the guide; by default found from the first reads of each file.
        after: Guides immediately follow these bases.
        before: These bases immediately follow the guide.
        anywhere: Guides may be anywhere in a read.
        strands: both, forward or reverse.
        mismatches: With 1, a read without an exact guide counts towards the longest guide that it matches
            with one mismatch, if there is only one.
        min_quality: Skip reads with a base quality below this within the guide, 0 to 93.
        threads: As in ``build``.

    Raises InputError if a file cannot be read, a record is damaged, or no offset is found in the first reads.

    Examples:
        >>> counts = fmx.count("reads.fq", "guides.csv")
        >>> counts.table["count"].tolist()
        [1, 1, 0]
    """
    samples, pairs_of_columns = _samples(reads, mates), _columns(columns)
    if isinstance(offsets, str | bytes) or not isinstance(offsets, Iterable):
        raise TypeError(f"offsets must be a list of whole numbers, not {quoted(offsets)}")
    numbers = (arguments.whole("offsets", each, (0, (1 << 31) - 1), 0) for each in offsets)
    after, before = _bases("after", after), _bases("before", before)
    looked = GuideWindow(
        tuple(dict.fromkeys(numbers)), after, before, arguments.yes_or_no("anywhere", anywhere),
        arguments.strand_set(strands),
    )  # fmt: skip
    if bool(looked.offsets) + bool(looked.after or looked.before) + looked.anywhere > 1:
        raise ValueError("give only one of offsets, after with before, and anywhere")
    options = CountOptions(
        (looked,) * (2 if mates is not None else 1),
        arguments.whole("mismatches", mismatches, (0, 1), 0),
        arguments.whole("min_quality", min_quality, (0, 93), 0), arguments.threads(threads),
    )  # fmt: skip
    notes: list[str] = []
    progress = Progress(quiet=True)
    guides = read_library(os.fspath(arguments.file("library", library)), pairs_of_columns, notes.append)
    progress.say = notes.append  # type: ignore[assignment, method-assign]
    progress.warn = lambda text: notes.append(f"warning: {text}")  # type: ignore[assignment, method-assign]
    counter = make_counter([guides], samples, options, progress)
    result = count_all(counter, samples, Progress(quiet=True))
    names, rows = [sample.name for sample in samples], result.library
    genes = {gene: i for i, gene in enumerate(dict.fromkeys(rows.genes))}
    table = np.zeros(result.counts.shape, COUNT)
    table["sample"] = np.arange(len(names))[:, None]
    table["guide"], table["gene"] = np.arange(len(rows)), [genes[gene] for gene in rows.genes]
    table["count"] = result.counts
    of_columns = {"sample": Names.of(names), "guide": Names.of(rows.ids), "gene": Names.of(genes)}
    return Counts(make_table(table.ravel(), of_columns), tuple(result.stats), tuple(notes))


SITE = np.dtype(
    [("guide", "i8"), ("contig", "i4"), ("start", "i8"), ("end", "i8"), ("reverse", "?"),
     ("mismatches", "i1")]
)  # fmt: skip


def offtargets(
    reference: Sequences, library: Path | Mapping[str, str], *, pam: str | Sequence[str] = "NGG",
    pam_5prime: bool = False, mismatches: int = 4, most: int | None = None,
    columns: Mapping[str, str] | None = None, threads: int | None = None,
) -> Table:  # fmt: skip
    """List the sites of guides in a genome, as ``fmx offtargets`` does (docs/off-targets.md).

    Args:
        reference: Path of a FASTA file or of an index, or sequences.
        library: Path of a table of id and sequence, or of a FASTA file; or a dict of sequences by id.
        pam: The PAM in IUPAC codes, or a list of them; the first that fits counts.
        pam_5prime: The PAM precedes the guide.
        mismatches: The most mismatches in a guide, 0 to 4.
        most: List at most this many sites of each guide, those with the fewest mismatches.
        columns, threads: As in ``count``.

    Returns:
        A Table of dtype ``fmx.SITE`` with one row per site, sorted by guide, mismatches and place: ``guide``
        and ``contig``, numbers from 0; ``start`` to ``end``, half-open, with the PAM; ``reverse``;
        ``mismatches``.

    Raises InputError if a file cannot be read, or if a guide does not have 16 to 28 bases A, C, G and T, and
    IndexFileError.

    Examples:
        >>> guides = {"g1": "GATTACAGATTACAGATT", "g2": "GATTACAGATTACACATT"}
        >>> fmx.offtargets({"plasmid": "ACGATTACAGATTACAGATTAGGTT"}, guides).tolist()
        [(0, 0, 2, 23, False, 0), (1, 0, 2, 23, False, 1)]
    """
    arguments.checked("pam", pam, "bases (IUPAC codes), or a list of them", str | list | tuple, bool)
    pams = [_bases("pam", each) for each in ([pam] if isinstance(pam, str) else pam)]
    if not all(limits.PAM[0] <= len(each) <= limits.PAM[1] for each in pams):
        raise ValueError(f"pam must have {limits.PAM[0]} to {limits.PAM[1]} bases, not {quoted(pam)}")
    options = SiteOptions(
        tuple(pams), arguments.yes_or_no("pam_5prime", pam_5prime),
        arguments.whole("mismatches", mismatches, limits.SITE_MISMATCHES, 4),
        arguments.whole("most", most, limits.COUNT, None), n_threads=arguments.threads(threads),
    )  # fmt: skip
    if isinstance(library, Mapping):
        what = "a path, or a dict of sequences (str) by id (str)"
        arguments.checked("library", library, what, Mapping, bool)
        ids = [arguments.checked("library", name, what, str, str.isprintable) for name in library]
        sequences = [_bases("library", letters) for letters in library.values()]
        guides = Library("given guides", ids, ids, sequences, [])
    else:
        guides = read_library(os.fspath(arguments.file("library", library)), _columns(columns))
    is_index = isinstance(reference, str | os.PathLike) and os.path.isdir(reference)
    where = reference if is_index else SequenceSource("reference", reference).whole()
    genome, tables = read_genome(where, options.n_threads, Progress(quiet=True)), [np.empty(0, SITE)]
    for first, rank, key, _ in batches(genome, checked(guides), options, 0, genome[0].n_text):
        rows, (start, n) = np.empty(rank.size, SITE), extent_of(key)
        rows["guide"], rows["mismatches"], rows["reverse"] = first + (rank >> 3), rank & 7, key & 1
        rows["contig"], rows["start"] = places(genome[0].blocks, start)
        rows["end"] = rows["start"] + n
        tables.append(rows)
    names = {"guide": Names.of(guides.ids), "contig": Names.of(genome[0].names)}
    return make_table(np.concatenate(tables), names)


def _columns(columns: object) -> tuple[tuple[str, str], ...]:
    """Return (key, name) of the columns of a library.  Raises TypeError, ValueError."""

    def is_right(by_key: Mapping) -> bool:
        return all(key in COLUMN_KEYS and isinstance(name, str) and name for key, name in by_key.items())

    what = f"a dict from {', '.join(COLUMN_KEYS)} to names of columns"
    by_key = {} if columns is None else arguments.checked("columns", columns, what, Mapping, is_right)
    if len({COLUMN_KEYS[key] for key in by_key}) < len(by_key):
        raise ValueError(f"columns must name each column once, not {quoted(columns)}")
    return tuple(by_key.items())


def _bases(name: str, letters: object) -> str:
    """Return bases, IUPAC codes, in upper case."""
    is_bases = lambda letters: not letters.upper().strip(_LETTERS)  # noqa: E731
    return arguments.checked(name, letters, "bases (IUPAC codes)", str, is_bases).upper()


def _samples(reads: Samples, mates: Samples | None) -> list[Sample]:
    """Return the Samples of the given files.  Raises TypeError, ValueError."""
    first, second = _files("reads", reads), {} if mates is None else _files("mates", mates)
    if not isinstance(reads, Mapping) and not isinstance(mates, Mapping):
        second = dict(zip(first, second.values(), strict=False))
    numbers = [{name: len(files) for name, files in of_mate.items()} for of_mate in (first, second)]
    if mates is not None and numbers[0] != numbers[1]:
        raise ValueError("mates must have the same samples as reads, with as many files each")
    return [Sample(name, files, second.get(name, ())) for name, files in first.items()]


def _files(what: str, value: object) -> dict[str, tuple[str, ...]]:
    """Return {name: paths} of samples."""
    if not isinstance(value, Mapping):
        path = os.fspath(arguments.file(what, value))
        return {samples_of([path])[0].name: (path,)}
    samples: dict[str, tuple[str, ...]] = {}
    for name, files in value.items():
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ValueError(f"{what} must have names of samples as keys, not {quoted(name)}")
        several, key = files if isinstance(files, list | tuple) else [files], f"{what}[{quoted(name)}]"
        samples[name] = tuple(os.fspath(arguments.file(key, path)) for path in several)
        if not several:
            raise ValueError(f"{key} must be a path, or a list of at least one")
    if not samples:
        raise ValueError(f"{what} must be a path, or a dict of at least one sample")
    return samples
