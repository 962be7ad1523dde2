"""Bytes of FASTA or FASTQ -> ReadBatch: arrays, no Python object per read.

The packed words of read r and of its reverse complement stand next to each other (n_words = ceil(m / 32)):

    words   | read 0 | reverse 0 | read 1 | reverse 1 | ... | spare |
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..errors import InputError
from .dna import CODE, WORD, pack_letters, reverse_complement, symbols
from .read_problems import OK, complaint
from .record import take_fasta, take_fastq

LONGEST_NAME, LONGEST_READ = 254, 2**28 - 1  # of SAM and BAM: an operation of a CIGAR has 28 bits
FORWARD, REVERSE = 1, 2  # strands, as bits


class ReadBatch(NamedTuple):
    """A chunk of reads.  Offsets are into ``data`` uint8[n]; all int64[n_reads].

    ``quality_start`` is -1 for FASTA; ``searchable`` bool[n_reads]: only A C G T U, at least one.
    """

    data: np.ndarray
    name_start: np.ndarray
    name_length: np.ndarray
    start: np.ndarray
    length: np.ndarray
    quality_start: np.ndarray
    searchable: np.ndarray


class Patterns(NamedTuple):
    """What an engine searches: pattern i is ``length[i]`` symbols packed from word ``first[i]``.

    ``length`` int64[n] is 0 where nothing is to be searched; ``words`` uint64 ends with a spare word.
    """

    words: np.ndarray
    first: np.ndarray
    length: np.ndarray


def parse(chunk) -> ReadBatch:
    """The reads of a chunk.  Raises InputError that names the record."""
    n = chunk.n_bound
    columns = [np.empty(n, np.int64) for _ in range(5)]
    batch = ReadBatch(chunk.data, *columns, np.empty(n, np.bool_))  # type: ignore[call-arg]
    n_reads, problem = _scan(batch, chunk.is_fastq, CODE)
    if problem:
        raise InputError(
            chunk.path, f"record {chunk.number + n_reads}", complaint(chunk, batch, n_reads, problem)
        )
    return ReadBatch(chunk.data, *(field[:n_reads] for field in batch[1:]))


def check_sam(chunk, batch) -> None:
    """Raise InputError that names the first record of a chunk that SAM and BAM cannot hold."""
    for lengths, most, what, remedy in (
        (batch.name_length, LONGEST_NAME, "name is longer than {} characters", "rename it"),
        (batch.length, LONGEST_READ, "sequence is longer than {} letters", "write another format"),
    ):
        if (r := _first_above(lengths, most)) < lengths.size:
            what = f"its {what.format(most)}, the limit of SAM and BAM; {remedy}"
            raise InputError(chunk.path, f"record {chunk.number + r}", what)


@compiled
def _first_above(lengths, most):
    """The first of lengths that is more than ``most``; their number if none is."""
    for r in range(lengths.size):
        if lengths[r] > most:
            return r
    return lengths.size


def pack(batch, strands=FORWARD | REVERSE) -> Patterns:
    """The searchable reads of a batch as patterns: row 2r is read r, row 2r + 1 its reverse complement."""
    n_reads = batch.length.size
    first, length = np.empty(2 * n_reads, np.int64), np.empty(2 * n_reads, np.int64)
    patterns = Patterns(np.empty(_lay_out(batch, first) + 1, np.uint64), first, length)
    _pack(batch, strands, CODE, patterns)
    return patterns


@compiled
def _lay_out(batch, first):
    """Fill in the first word of each pattern; the number of words."""
    n_words = np.int64(0)
    for r in range(batch.length.size):
        n = (batch.length[r] + WORD - 1) // WORD if batch.searchable[r] else 0
        first[2 * r], first[2 * r + 1] = n_words, n_words + n
        n_words += 2 * n
    return n_words


@compiled
def _scan(batch, is_fastq, code):
    """Fill the batch; (number of whole records, problem with the next one)."""
    i, n = 0, 0
    while i < batch.data.size:
        after, problem = take_fastq(batch, n, i, code) if is_fastq else take_fasta(batch, n, i, code)
        if problem or after == i:  # only blank lines are left
            return n, problem
        i, n = after, n + 1
    return n, OK


@compiled
def _pack(batch, strands, code, patterns):
    patterns.words[-1] = 0
    for r in range(batch.length.size):
        patterns.length[2 * r] = patterns.length[2 * r + 1] = 0
        pack_strands(batch, r, strands, code, patterns)


@inlined
def pack_strands(batch, r, strands, code, patterns):
    """Pack read r, if it is searchable, from word first[2r] on, and its reverse; note which are searched."""
    if not batch.searchable[r]:
        return
    length, first, other = batch.length[r], patterns.first[2 * r], patterns.first[2 * r + 1]
    pack_read(batch.data, batch.start[r], length, code, patterns.words, first)
    if strands & FORWARD:
        patterns.length[2 * r] = length
    if strands & REVERSE:
        patterns.length[2 * r + 1] = length
        pack_reverse(patterns.words, first, other, length)


@inlined
def pack_read(data, start, length, code, words, first):
    """Pack ``length`` letters of ``data`` from ``start``, all of them A C G T U, from word ``first`` on."""
    for i in range(0, length, WORD):
        at, k = start + i, min(WORD, length - i)
        word = np.uint64(0)
        if at + WORD <= data.size:
            word = pack_letters(data, at)
            if k < WORD:
                word = (word >> np.uint64(2 * (WORD - k))) << np.uint64(2 * (WORD - k))
        else:
            for j in range(at, at + k):
                word = (word << np.uint64(2)) | np.uint64(code[data[j]])
            word <<= np.uint64(2 * (WORD - k))
        words[first + (i >> 5)] = word


@inlined
def pack_reverse(words, first, other, length):
    """Pack the reverse complement of the ``length`` symbols at word ``first`` from word ``other`` on."""
    for i in range(0, length, WORD):
        k = min(WORD, length - i)
        word = reverse_complement(symbols(words, first, length - i - k, k), k)
        words[other + (i >> 5)] = word << np.uint64(2 * (WORD - k))
