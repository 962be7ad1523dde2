"""Index: an opened index, and what a Python program asks of it."""

from collections.abc import Iterator

import numpy as np

from .. import limits
from ..errors import n_of
from ..mem.matching import ALL as ANY
from ..mem.matching import IN_BOTH, IN_REFERENCE, MemOptions
from ..search import hits
from ..search.mapper import BOTH, FORWARD, REVERSE, Near
from ..search.proper import ORIENTATIONS, Pairing
from . import arguments, travels
from .arguments import Sequences
from .sources import Source
from .table import HIT, MATCH, NEAR_HIT, Table, joined

STRANDS = {"both": BOTH, "forward": FORWARD, "reverse": REVERSE}
UNIQUE = {"reference": IN_REFERENCE, "both": IN_BOTH}


class Index:
    """An opened index: ``fmx.open``, ``fmx.build`` and ``fmx.from_sequences`` give one.

    Reads, patterns and queries are given as the path of a FASTA or FASTQ file, plain or compressed; as str or
    bytes in a list, an array or a generator; or as a dict, {name: sequence}.  Many sequences in a list are
    about as fast as a file.  A generator is asked for more by the threads that search, one at a time.

    Attributes:
        path: Its folder, a Path; None in memory.
        contigs: Names of the contigs, a list of str.
        lengths: Their lengths, int64[n].
        groups: Names of the groups of contigs, a list of str; None where the index has none.
        group_of_contig: The number of each contig's group, uint32[n]; None where the index has none.
    """

    def __init__(self, load, searchers, **wanted):
        self._load, self._searchers, self._wanted = load, searchers, wanted
        self._index = load(**wanted)
        self._others: dict = {}  # the same index as other queries need it
        reference = self._index.reference
        self.path, self.contigs = self._index.path, list(reference.names)
        self.lengths = np.asarray(reference.lengths)
        self.groups, self.group_of_contig = reference.groups or (None, None)

    def __repr__(self):
        place = self.path or "in memory"
        n_bases = n_of(int(self.lengths.sum()), "base")
        return f"<fmx.Index {place}: {n_of(len(self.contigs), 'contig')}, {n_bases}>"

    def search(
        self, reads: Sequences, *, k: int | None = 1, strands: str = "both", at_most: int | None = None,
        seed: int | None = None, mismatches: int = 0, strata: bool = False,
    ) -> Table:  # fmt: skip
        """Up to ``k`` hits of each read, as ``fmx search`` reports them.

        Args:
            reads: A path, sequences, or a dict of them by name.
            k: How many hits of a read, 1 to 2^62; None for all.
            strands: both, forward (reads as given) or reverse (their reverse complements).
            at_most: Reads with more occurrences than this have no hits.
            seed: Choose hits at random; the same seed makes the same choice.
            mismatches: Of up to 2 letters of a hit.
            strata: Of a read's hits, those with the fewest mismatches.

        Returns:
            A Table of dtype ``fmx.HIT``, sorted by read, contig, position, strand: ``read``, its number from
            0; ``contig``, an index into ``contigs``; ``position``, from 0; ``reverse``, True on the minus
            strand; ``occurrences`` of the read in all, reported or not.  With mismatches of dtype
            ``fmx.NEAR_HIT``, which adds ``mismatches``, those of a read with the fewest first.  Reads that
            do not occur have no row.

        Raises:
            InputError: A file cannot be read, or a record is bad.
            DeviceError: A GPU is not there, or lacks memory.
            TypeError, ValueError: An argument is wrong.

        Examples:
            >>> index.search(["GATTACA", "GGGG"]).tolist()
            [(0, 0, 2, False, 2)]
        """
        found = self.search_chunks(
            reads, k=k, strands=strands, at_most=at_most, seed=seed, mismatches=mismatches, strata=strata
        )
        return joined(NEAR_HIT if mismatches else HIT, found)

    def search_chunks(
        self, reads: Sequences, *, k: int | None = 1, strands: str = "both", at_most: int | None = None,
        seed: int | None = None, mismatches: int = 0, strata: bool = False, progress: bool = False,
    ) -> Iterator[Table]:  # fmt: skip
        """The same, a Table for each chunk of some MB of reads: for files that are larger than memory.

        Numbers of reads go on from chunk to chunk, and so do those of ``names``.  While one Table is looked
        at, threads search on, but not far ahead.

        Args:
            reads: And all others, as of ``search``.
            progress: Show on standard error how far it is, as ``fmx search`` does.

        Yields:
            Tables, as of ``search``; together they are its Table.

        Examples:
            >>> for hits in index.search_chunks("reads.fq"):
            ...     print(len(hits), "hits of", len(hits.names["read"]), "reads")
            2 hits of 3 reads
        """
        policy = _policy(k, at_most, seed)
        if arguments.yes_or_no("strata", strata) and not mismatches:
            raise ValueError("strata must be False without mismatches: it chooses by these")
        near, is_shown = _near(mismatches, strata=strata), arguments.yes_or_no("progress", progress)
        source, mappers = Source("reads", reads), self._searched(policy, strands, near)
        return travels.search(mappers, source, self._index.reference, is_shown, policy.seed >= 0)

    def search_pairs(
        self, reads1: Sequences, reads2: Sequences, *, k: int | None = 1, orientation: str = "fr",
        min_insert: int = 0, max_insert: int = 500, at_most: int | None = None, seed: int | None = None,
    ) -> Table:  # fmt: skip
        """Up to ``k`` proper pairs of each pair of reads, as ``fmx search -1 -2`` reports them.

        Args:
            reads1: Mates 1: a path, sequences, or a dict of them by name.
            reads2: Mates 2, in the same order and with the same names, but for /1 and /2.
            k: How many proper pairs of each, 1 to 2^62; None for all.
            orientation: fr, rf or ff: how the mates of a proper pair point.
            min_insert: The least bases from the first to the last of a proper pair.
            max_insert: The most.
            at_most: Pairs with more proper pairs than this have no row.
            seed: Choose among them at random; the same seed makes the same choice.

        Returns:
            A Table of dtype ``fmx.PROPER_PAIR``: ``pair``, its number from 0; ``contig``; ``position1`` and
            ``position2`` of the mates, from 0; ``reverse1`` and ``reverse2``; ``insert``; ``occurrences``,
            the number of proper pairs in all.  Mates of a pair without one may occur by themselves:
            ``search`` finds them.

        Raises:
            InputError, DeviceError, TypeError, ValueError: As of ``search``.
            UnsupportedError: The reference has too many contigs, or too long ones.

        Examples:
            >>> index.search_pairs(["TTGA"], ["AATG"])[["position1", "position2", "insert"]].tolist()
            [(0, 7, 11)]
        """
        policy = _policy(k, at_most, seed)
        pairing = Pairing(
            arguments.one_of("orientation", orientation, ORIENTATIONS),
            arguments.whole("min_insert", min_insert, limits.INSERT, 0),
            arguments.whole("max_insert", max_insert, limits.INSERT, Pairing.most),
        )
        if pairing.least > pairing.most:
            raise ValueError(f"min_insert must be max_insert, {pairing.most}, or less, not {pairing.least}")
        sources = Source("reads1", reads1), Source("reads2", reads2)
        mappers = self._searchers.of(self._index, policy, pairing=pairing)
        return travels.pair(mappers, sources, self._index.reference)

    def locate(
        self, patterns: Sequences, *, strands: str = "both", mismatches: int = 0, iupac: bool = False
    ) -> Table:
        """Every occurrence of each pattern, as ``fmx locate`` lists them.

        Args:
            patterns: A path, sequences, or a dict of them by name.
            strands: both, forward or reverse.
            mismatches: Of up to 2 letters.
            iupac: Let N, R, Y and so on stand for their bases.

        Returns:
            A Table as of ``search``, sorted by pattern, contig, position, strand.  With mismatches or iupac
            of dtype ``fmx.NEAR_HIT``.

        Raises:
            InputError, DeviceError, TypeError, ValueError: As of ``search``.

        Examples:
            >>> index.locate(["GATTRCA"], iupac=True)["position"]
            array([2, 6])
        """
        near = _near(mismatches, iupac, best_first=False)
        source, policy = Source("patterns", patterns), hits.SelectionPolicy(hits.ALL)
        mappers = self._searched(policy, strands, near)
        return joined(NEAR_HIT if near else HIT, travels.search(mappers, source, self._index.reference))

    def count(
        self, reads: Sequences, *, strands: str = "both", mismatches: int = 0, iupac: bool = False
    ) -> np.ndarray:
        """How often each read occurs, by ``locate``'s rules; nothing is located, but for near matches.

        Returns:
            int64[n_reads].

        Raises:
            InputError, DeviceError, TypeError, ValueError: As of ``search``.

        Examples:
            >>> index.count(["GATTACA", "ACGT", "CCC"])
            array([2, 2, 0])
        """
        source, near = Source("reads", reads), _near(mismatches, iupac)
        return travels.count(self._searched(hits.SelectionPolicy(), strands, near), source)

    def mem(
        self, queries: Sequences, *, min_length: int = 20, strands: str = "forward", unique: str | None = None
    ) -> Table:
        """Maximal exact matches of queries, as ``fmx mem`` finds them.

        Args:
            queries: A path, sequences, or a dict of them by name; of any lengths.
            min_length: Leave out shorter matches.
            strands: forward, reverse or both.
            unique: reference: matches that occur once in the reference; both: and once in the query.

        Returns:
            A Table of dtype ``fmx.MATCH``: ``query``, its number from 0; ``query_position`` from 0, in the
            query as it was given; ``contig``; ``position`` from 0; ``length``; ``reverse``, True where the
            reverse complement of the query's letters matches.

        Raises:
            InputError, DeviceError, TypeError, ValueError: As of ``search``.
            UnsupportedError: The index has no whole suffix array.

        Examples:
            >>> index.mem(["CCGATTACATTG"], min_length=5).tolist()
            [(0, 2, 0, 2, 9, False)]
        """
        least = arguments.whole("min_length", min_length, limits.LENGTH, 20)
        which = STRANDS[arguments.one_of("strands", strands, STRANDS)]
        kept = ANY if unique is None else UNIQUE[arguments.one_of("unique", unique, UNIQUE)]
        source, index = Source("queries", queries), self._with(method="verify")
        options = MemOptions(least, which, kept, self._searchers.n_threads)
        matchers = self._searchers.matchers(index, options)
        return joined(MATCH, travels.match(index, options, matchers, source))

    def _searched(self, policy, strands, near) -> list:
        """What maps to the index."""
        strands = STRANDS[arguments.one_of("strands", strands, STRANDS)]
        index = self._with(with_text=True) if near else self._index
        return self._searchers.of(index, policy, strands, near)

    def _with(self, **wanted):
        """The same index, as other queries need it; what is mapped from disk again takes no more memory."""
        part = self._index.parts[0]
        if "method" in wanted:
            is_so = part.method == wanted["method"]
        else:
            is_so, wanted = part.text_words is not None, {**self._wanted, **wanted}
        key = tuple(wanted.items())
        if not is_so and key not in self._others:
            self._others[key] = self._load(**wanted)
        return self._index if is_so else self._others[key]


def _policy(k, at_most, seed) -> hits.SelectionPolicy:
    """Which hits are reported."""
    return hits.SelectionPolicy(
        arguments.whole("k", k, limits.COUNT, hits.ALL),
        arguments.whole("at_most", at_most, limits.COUNT, hits.ALL),
        arguments.whole("seed", seed, limits.SEED, -1),
    )


def _near(mismatches, iupac=False, **how) -> Near | None:
    """Which near matches are asked for."""
    most = arguments.whole("mismatches", mismatches, limits.MISMATCHES, 0)
    is_near = arguments.yes_or_no("iupac", iupac) or most > 0
    return Near(most, iupac, **how) if is_near else None
