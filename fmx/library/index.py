"""Index: an opened index and its searches, for Python programs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from .. import limits
from ..errors import n_of
from ..index.fm_index import ANY_LENGTH, ANY_MATCH, AnyIndex
from ..input import PairedFiles, spans
from ..machines.pipeline import run_ordered
from ..mem.matching import ALL as ANY
from ..mem.matching import Finder, MemOptions, matched
from ..search import hits
from ..search.mappers import make_mapper, map_reads
from ..search.mapping import ORIENTATIONS, MapOptions, Pairing
from . import arguments, results
from .arguments import Orientation, Sequences, SequenceSource, Strands, Unique
from .table import HIT, MATCH, NEAR_HIT, NEAR_PROPER_PAIR, PROPER_PAIR, Table


class Index:
    """An opened index, as returned by ``fmx.open``, ``fmx.build`` and ``fmx.from_sequences``.

    Reads, patterns and queries can be the path of a FASTA, FASTQ, BAM or CRAM file, compressed or not;
    sequences, which are str or bytes in a list, an array or a generator; or a dict, {name: sequence}.  A
    generator is called by the searching threads, one at a time.  A ``with`` statement closes the index at its
    end.

    Searches raise InputError if a file cannot be read or a record is damaged, and TypeError or ValueError if
    an argument is wrong.

    Attributes:
        path: The folder of the index, a Path; None in memory.
        contigs: Names of the contigs, a list of str.
        lengths: Lengths of the contigs, int64[n].
        groups: Names of the groups of contigs, a list of str; None without groups.
        group_of_contig: The number of each contig's group, uint32[n]; None without groups.
    """

    def __init__(self, load: Callable[..., AnyIndex], n_threads: int, **options: Any) -> None:
        self._load, self._n_threads, self._options = load, n_threads, options
        self._opened: AnyIndex | None = load(**options)
        self._others: dict[tuple, AnyIndex] = {}  # the index opened for other methods
        reference = self._opened.reference
        self.path, self.contigs = self._opened.path, list(reference.names)
        self.lengths, groups = np.array(reference.lengths), reference.groups
        self.groups: list[str] | None = groups and groups.names
        self.group_of_contig = groups and np.array(groups.of_contig)

    def __repr__(self) -> str:
        what = [n_of(len(self.contigs), "contig"), n_of(int(self.lengths.sum()), "base")]
        what += [n_of(len(self.groups), "group")] if self.groups else []
        what += [] if self._opened else ["closed"]
        return f"<fmx.Index {self.path or 'in memory'}: {', '.join(what)}>"

    def close(self) -> None:
        """Release the memory and the files of the index; contigs and lengths stay available.

        Searching a closed index raises ValueError.  Tables remain valid.  Iterators of ``search_chunks`` can
        be finished, and release what they use at their end.
        """
        self._opened, self._load = None, _refuse
        self._others.clear()

    def __enter__(self) -> Self:
        self._index  # noqa: B018  # raises if the index is closed
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(
        self, reads: Sequences, *, k: int | None = 1, strands: Strands = "both", at_most: int | None = None,
        seed: int | None = None, mismatches: int = 0, strata: bool = False,
    ) -> Table:  # fmt: skip
        """Find up to ``k`` hits of each read, as ``fmx search`` reports them.

        Args:
            k: Report up to k hits per read, 1 to 2^62; None for all.
            strands: both, forward (reads as given) or reverse (their reverse complements).
            at_most: Report no hits of reads with more occurrences than this.
            seed: Choose hits at random, reproducibly for each seed.
            mismatches: Allow up to this many mismatches in a hit, 0 to 2.
            strata: Report, and count as occurrences, only the hits with the fewest mismatches.

        Returns:
            A Table of dtype ``fmx.HIT`` with one row per hit, sorted by read, contig, position and strand:
            ``read``, the number of the read, from 0; ``contig``, an index into ``contigs``; ``position``, of
            the first base of the hit in the contig, from 0; ``reverse``, True on the minus strand;
            ``occurrences``, the number of all occurrences of the read, reported or not.  With mismatches the
            dtype is ``fmx.NEAR_HIT``, which adds ``mismatches``, and the hits of a read with the fewest
            mismatches come first.  Reads without a hit have no row.

        Examples:
            >>> index.search(["GATTACA", "GGGG"]).tolist()
            [(0, 0, 2, False, 2)]
        """
        options = _options(k, at_most, seed, mismatches, strata, strands)
        return results.joined(*self._map(options, SequenceSource("reads", reads)))

    def search_chunks(
        self, reads: Sequences, *, k: int | None = 1, strands: Strands = "both", at_most: int | None = None,
        seed: int | None = None, mismatches: int = 0, strata: bool = False,
    ) -> Iterator[Table]:  # fmt: skip
        """Search reads chunk by chunk, for files larger than memory; yield a Table for some MB of reads each.

        Reads and ``names`` are numbered across chunks.  While the caller uses one Table, threads search ahead
        by a limited number of chunks.  The arguments, and the rows of all Tables together, are those of
        ``search``.
        """
        options = _options(k, at_most, seed, mismatches, strata, strands)
        return self._map(options, SequenceSource("reads", reads))[1]

    def search_pairs(
        self, reads1: Sequences, reads2: Sequences, *, k: int | None = 1, orientation: Orientation = "fr",
        min_insert: int = 0, max_insert: int = 500, at_most: int | None = None, seed: int | None = None,
        mismatches: int = 0, strata: bool = False,
    ) -> Table:  # fmt: skip
        """Find up to ``k`` proper pairs of each pair of reads, as ``fmx search -1 -2`` reports them.

        Args:
            reads2: Mates 2, in the order of ``reads1``, with the same names except for suffixes such as /2.
            k, at_most, seed: As in ``search``, for proper pairs.
            orientation: fr, rf or ff: how the mates of a proper pair point.
            min_insert, max_insert: Bounds of the insert size of a proper pair, in bases.
            mismatches: Allow up to this many mismatches in each mate, 0 to 2.
            strata: Report and count only the proper pairs with the fewest mismatches of both mates together.

        Returns:
            A Table of dtype ``fmx.PROPER_PAIR`` with one row per proper pair: ``pair``, the number of the
            pair of reads, from 0; ``contig``, an index into ``contigs``; of each mate, ``position1`` and
            ``position2``, ``reverse1`` and ``reverse2``, as in ``search``; ``insert``, the insert size in
            bases; ``occurrences``, the number of all proper pairs of the pair, reported or not.  With
            mismatches the dtype is ``fmx.NEAR_PROPER_PAIR``, which adds ``mismatches1`` and ``mismatches2``,
            and the proper pairs with the fewest mismatches come first.  Mates without a proper pair may still
            occur separately: use ``search`` to find them.

        Raises UnsupportedError if the reference has too many contigs, or too long ones.

        Examples:
            >>> index.search_pairs(["TTGA"], ["AATG"])[["position1", "position2", "insert"]].tolist()
            [(0, 7, 11)]
        """
        pairing = Pairing(
            arguments.one_of("orientation", orientation, ORIENTATIONS),
            arguments.whole("min_insert", min_insert, limits.INSERT, 0),
            arguments.whole("max_insert", max_insert, limits.INSERT, Pairing.most),
        )
        if pairing.least > pairing.most:
            raise ValueError(f"min_insert must be max_insert, {pairing.most}, or less, not {pairing.least}")
        options = _options(k, at_most, seed, mismatches, strata, pairing=pairing)
        sources = SequenceSource("reads1", reads1), SequenceSource("reads2", reads2)
        return results.joined(*self._map(options, *sources))

    def locate(
        self, patterns: Sequences, *, strands: Strands = "both", mismatches: int = 0, iupac: bool = False
    ) -> Table:
        """Find every occurrence of each pattern, as ``fmx locate`` lists them.

        Args:
            strands, mismatches: As in ``search``.
            iupac: Match IUPAC codes of patterns, such as N or R, to their bases.

        Returns:
            A Table of dtype ``fmx.HIT``, or ``fmx.NEAR_HIT`` with mismatches or iupac, with one row per
            occurrence, sorted by pattern, contig, position and strand.  The columns are those of ``search``;
            ``read`` is the number of the pattern, from 0.

        Examples:
            >>> index.locate(["GATTRCA"], iupac=True)["position"]
            array([2, 6])
        """
        near = arguments.near(mismatches, iupac, best_first=False)
        options = MapOptions(hits.SelectionPolicy(limits.ALL), arguments.strand_set(strands), near=near)
        return results.joined(*self._map(options, SequenceSource("patterns", patterns)))

    def count(
        self, reads: Sequences, *, strands: Strands = "both", mismatches: int = 0, iupac: bool = False
    ) -> np.ndarray:
        """Return the number of occurrences of each read, int64[n_reads]; arguments as for ``locate``.

        Exact occurrences are counted without locating them.

        Examples:
            >>> index.count(["GATTACA", "ACGT", "CCC"])
            array([2, 2, 0])
        """
        source, near = SequenceSource("reads", reads), arguments.near(mismatches, iupac)
        mapper = self._mapper(MapOptions(strands=arguments.strand_set(strands), near=near))
        parts = [np.empty(0, np.int64)]

        def work(emit: Callable, span: Any) -> int:
            batch = mapper.search(span.read())
            if near:
                for _ in mapper.hits_of(batch):  # computes the totals
                    pass
            emit(batch.total)
            return batch.total.size

        plan = source.plan(mapper.options.chunk_size, self._n_threads)
        for _ in run_ordered(plan, [work] * self._n_threads, parts.append):
            pass
        return np.concatenate(parts)

    def mem(
        self, queries: Sequences, *, min_length: int = 20, strands: Strands = "forward",
        unique: Unique | None = None,
    ) -> Table:  # fmt: skip
        """Find maximal exact matches of queries, as ``fmx mem`` does.

        Args:
            min_length: Shortest match to report, in bases.
            strands: As in ``search``.
            unique: Report only matches that occur once in the reference (reference), or once in the reference
                and once in the query (both); None for all.

        Returns:
            A Table of dtype ``fmx.MATCH`` with one row per match: ``query``, the number of the query, from 0;
            ``query_position``, from 0, in the query as given; ``contig``, an index into ``contigs``;
            ``position``, from 0, in the contig; ``length``, in bases; ``reverse``, True if the reverse
            complement of the query matches.

        Raises UnsupportedError if the index has neither a whole suffix array nor a sparse one, or if
        ``min_length`` is shorter than a sparse one finds: 36 with layout ``sparse``.

        Examples:
            >>> index.mem(["CCGATTACATTG"], min_length=5).tolist()
            [(0, 2, 0, 2, 9, False)]
        """
        least = arguments.whole("min_length", min_length, limits.LENGTH, 20)
        which = arguments.strand_set(strands)
        names = arguments.UNIQUE
        uniqueness = ANY if unique is None else names[arguments.one_of("unique", unique, names)]
        source, part = SequenceSource("queries", queries), self._index.parts[0]
        is_whole = part.method == ("verify" if part.meta["layouts"] else "sparse")
        index = self._index if is_whole else self._other(method=ANY_MATCH)
        writer = results.MatchRows(MATCH, index.reference, source.has_names)
        finder = Finder(index, MemOptions(least, which, uniqueness, self._n_threads), writer)
        run = partial(matched, finder, source.plan(finder.task_size, self._n_threads))
        return results.joined(writer, results.tables(writer, run))

    @property
    def _index(self) -> AnyIndex:
        return self._opened or _refuse()

    def _map(
        self, options: MapOptions, *sources: SequenceSource
    ) -> tuple[results.RowWriter, Iterator[Table]]:
        """Return a RowWriter, and a Table for each chunk."""
        mapper, is_near = self._mapper(options), options.near is not None
        names = self._index.reference, all(source.has_names for source in sources)
        sizes = mapper.options.chunk_size, self._n_threads
        if options.pairing:
            writer: results.RowWriter = results.PairRows(NEAR_PROPER_PAIR if is_near else PROPER_PAIR, *names)
            plan = spans.plan(PairedFiles(*((each.whole(),) for each in sources)), *sizes)
        else:
            writer = results.HitRows(NEAR_HIT if is_near else HIT, *names)
            plan = sources[0].plan(*sizes, options.policy.seed >= 0)
        return writer, results.tables(writer, partial(map_reads, mapper, plan, writer))

    def _mapper(self, options: MapOptions) -> Any:
        index, near = self._index, options.near
        if near:  # needs the text, and with IUPAC codes a method that finds patterns of any length
            part, others = index.parts[0], {**self._options, "with_text": True}
            if near.iupac and others.get("method", "auto") == "auto":
                others["method"] = ANY_LENGTH
            if part.text_words is None or (near.iupac and part.method == "sparse"):
                index = self._other(**others)
        return make_mapper(index, replace(options, n_threads=self._n_threads))

    def _other(self, **options: Any) -> AnyIndex:
        """Return the index opened once more with other options; memory-mapped files are shared."""
        key = tuple(options.items())
        if key not in self._others:
            self._others[key] = self._load(**options)
        return self._others[key]


def _options(
    k: int | None, at_most: int | None, seed: int | None, mismatches: int, strata: bool,
    strands: Strands = "both", pairing: Pairing | None = None,
) -> MapOptions:  # fmt: skip
    policy = hits.SelectionPolicy(
        arguments.whole("k", k, limits.COUNT, limits.ALL),
        arguments.whole("at_most", at_most, limits.COUNT, limits.ALL),
        arguments.whole("seed", seed, limits.SEED, -1),
    )
    if arguments.yes_or_no("strata", strata) and not mismatches:
        raise ValueError("strata must be False without mismatches")
    near, which = arguments.near(mismatches, strata=strata), arguments.strand_set(strands)
    return MapOptions(policy, which, near=near, pairing=pairing)


def _refuse(**_: object) -> AnyIndex:
    raise ValueError("the index is closed: open it again, or search it before closing it")
