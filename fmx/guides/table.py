"""Looks up guides by sequence: a hash table for each length, and lists of guides that share a half.

The key of a guide of up to 32 bases is a number with 2 bits per base.  GuideTable finds the guide of a key;
Halves finds guides with one mismatch, which share one half of their bases with the key:

    key     | first half | second half |
    halves  | buckets of guides by their first half | ... | buckets by their second half | ...
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, popcount
from ..dna import CODE, SETS, reverse_complement

NONE, MANY = -1, -2  # instead of a guide: no guide, several; -n: index of their reads in GuideTally.totals
MOST_SPELLINGS = 4096  # of a guide with codes such as N
_MIX = 0x9E3779B97F4A7C15


class Halves(NamedTuple):
    """Buckets of guides; those of half h of length l begin at ``first``[2 l + h], int64[2 n_lengths].

    The hash of a half, shifted by ``shifts`` uint64[2 n_lengths], is its bucket b; its members are ``keys``
    uint64 and ``guides`` int32 from ``starts`` int64 [b] to [b + 1].
    """

    first: np.ndarray
    shifts: np.ndarray
    starts: np.ndarray
    keys: np.ndarray
    guides: np.ndarray


class GuideTable(NamedTuple):
    """Hash tables of guides, one with 2^j slots for each of ``lengths`` int64[n_lengths], the longest first.

    The hash of a key, shifted by ``shifts`` uint64[n_lengths] (64 - j), is the slot where probing begins,
    counted from ``first`` int64[n_lengths].  ``keys`` uint64 and ``guides`` int32 of each slot: NONE if free,
    MANY if several guides match the key.  ``marks`` uint64: a bit set, indexed by the hash shifted by
    ``mark_shift``, that rejects most absent keys.
    """

    lengths: np.ndarray
    first: np.ndarray
    shifts: np.ndarray
    keys: np.ndarray
    guides: np.ndarray
    marks: np.ndarray
    mark_shift: np.uint64
    halves: Halves


@inlined
def _mix(key):
    """Return the hash of a key in the high bits of a word (multiplicative hashing)."""
    return np.uint64(key) * np.uint64(_MIX)


@inlined
def find(table, which, key):
    """Return the guide with this key, of length number ``which``; NONE, or MANY."""
    mixed = _mix(key)
    bit = mixed >> table.mark_shift
    if (at(table.marks, bit >> np.uint64(6)) >> (bit & np.uint64(63))) & np.uint64(1) == 0:
        return np.int64(NONE)
    first, last = table.first[which], np.int64(np.uint64(0xFFFFFFFFFFFFFFFF) >> table.shifts[which])
    slot = np.int64(mixed >> table.shifts[which])
    while table.guides[first + slot] != NONE and table.keys[first + slot] != key:
        slot = (slot + 1) & last
    return np.int64(table.guides[first + slot])


@inlined
def near(table, which, key, wild):
    """Return the guide with one mismatch to a key; NONE, or MANY.

    ``wild``: the low bit of an unknown base, or 0; if set, the mismatch must be there.
    """
    match, n = np.int64(NONE), table.lengths[which]
    n_low = n // 2
    unknown = wild | (wild << np.uint64(1))
    low = (np.uint64(1) << np.uint64(2 * n_low)) - np.uint64(1)
    for half in range(2):
        is_low = half == 1
        if wild != 0 and (unknown & low != 0) == is_low:  # the equal half has no unknown base
            continue
        part = key & low if is_low else key >> np.uint64(2 * n_low)
        bucket = table.halves.first[2 * which + half]
        bucket += np.int64(_mix(part) >> table.halves.shifts[2 * which + half])
        for i in range(table.halves.starts[bucket], table.halves.starts[bucket + 1]):
            different = (key ^ table.halves.keys[i]) & ~unknown
            different = (different | (different >> np.uint64(1))) & np.uint64(0x5555555555555555)
            if popcount(different) == (wild == 0):
                guide = np.int64(table.halves.guides[i])
                match = guide if match in (NONE, guide) else np.int64(MANY)
    return match


def spellings(sequence: str) -> list | None:
    """Return all sequences of A, C, G, T that IUPAC codes stand for; None if there are too many."""
    sets = [SETS[letter] for letter in sequence]
    n = np.prod([float(len(each)) for each in sets])
    return ["".join(letters) for letters in product(*sets)] if n <= MOST_SPELLINGS else None


def keys_of(sequences: Sequence[str]) -> np.ndarray:
    """Return uint64[n]: the keys of n sequences of A, C, G, T, all of one length."""
    if not sequences:
        return np.empty(0, np.uint64)
    codes = CODE[np.frombuffer("".join(sequences).encode(), np.uint8)].reshape(len(sequences), -1)
    keys = np.zeros(len(sequences), np.uint64)
    for column in codes.T:
        keys = (keys << np.uint64(2)) | column
    return keys


def make_table(sequences: Sequence[str]) -> GuideTable:
    """Return the GuideTable of guides, sequences of 4 to 32 bases, numbered in order."""
    by_length: dict = {}
    for guide, sequence in enumerate(sequences):
        plain = (spellings(sequence) or []) if sequence.strip("ACGT") else [sequence]
        strings, guides = by_length.setdefault(len(sequence), ([], []))
        strings += plain
        guides += [guide] * len(plain)
    lengths = sorted(by_length, reverse=True)
    parts = [(keys_of(by_length[n][0]), np.array(by_length[n][1], np.int32)) for n in lengths]
    return hash_table(lengths, parts)._replace(halves=_halves(lengths, parts))


def hash_table(lengths: Sequence[int], parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> GuideTable:
    """Return the GuideTable of (keys uint64[n], guides int32[n]) for each length, without Halves."""
    bits = [_bits(2 * keys.size) for keys, _ in parts]
    n_slots, mark_bits = [1 << j for j in bits], _bits(32 * sum(keys.size for keys, _ in parts))
    table = GuideTable(
        np.array(lengths, np.int64), np.cumsum([0, *n_slots[:-1]]).astype(np.int64),
        np.array([64 - j for j in bits], np.uint64), np.zeros(sum(n_slots), np.uint64),
        np.full(sum(n_slots), NONE, np.int32), np.zeros(1 << (mark_bits - 6), np.uint64),
        np.uint64(64 - mark_bits), _halves([], []),
    )  # fmt: skip
    for which, (keys, guides) in enumerate(parts):
        _put(table, which, keys, guides)
    return table


def _bits(n: int) -> int:
    """Return log2 of the smallest power of two that is at least n and 64."""
    return max(6, int(n - 1).bit_length())


def _halves(lengths: Sequence[int], parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> Halves:
    first, shifts, starts = [], [], [np.empty(0, np.int64)]
    keys, guides = [np.empty(0, np.uint64)], [np.empty(0, np.int32)]
    n_starts = n_members = 0
    for length, (length_keys, length_guides) in zip(lengths, parts, strict=True):
        n_low, bits = np.uint64(2 * (length // 2)), _bits(length_keys.size)
        for part in (length_keys >> n_low, length_keys & ((np.uint64(1) << n_low) - np.uint64(1))):
            buckets = (part * np.uint64(_MIX)) >> np.uint64(64 - bits)
            order = np.argsort(buckets, kind="stable")
            ends = np.bincount(buckets.astype(np.int64), minlength=1 << bits).cumsum()
            first.append(n_starts)
            shifts.append(64 - bits)
            starts.append(n_members + np.concatenate([[0], ends]))
            keys.append(length_keys[order])
            guides.append(length_guides[order])
            n_starts, n_members = n_starts + (1 << bits) + 1, n_members + length_keys.size
    return Halves(
        np.array(first, np.int64), np.array(shifts, np.uint64), np.concatenate(starts).astype(np.int64),
        np.concatenate(keys), np.concatenate(guides),
    )  # fmt: skip


@compiled
def _put(table, which, keys, guides):
    """Insert keys uint64[n] of guides int32[n] into the table of length number ``which``."""
    first, last = table.first[which], np.int64(np.uint64(0xFFFFFFFFFFFFFFFF) >> table.shifts[which])
    for i in range(keys.size):
        mixed = _mix(keys[i])
        bit = mixed >> table.mark_shift
        table.marks[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        slot = np.int64(mixed >> table.shifts[which])
        while table.guides[first + slot] != NONE and table.keys[first + slot] != keys[i]:
            slot = (slot + 1) & last
        guide = table.guides[first + slot]
        table.keys[first + slot] = keys[i]
        table.guides[first + slot] = guides[i] if guide == NONE or guide == guides[i] else MANY


@compiled
def find_others(table, which, keys, neighbour, opposite):
    """For each of keys uint64[n], write the guides with one mismatch, and those of its reverse complement.

    ``neighbour``, ``opposite`` int64[n]: a guide, NONE or MANY.
    """
    for i in range(keys.size):
        neighbour[i] = near(table, which, keys[i], np.uint64(0))
        opposite[i] = find(table, which, reverse_complement(keys[i], table.lengths[which]))
