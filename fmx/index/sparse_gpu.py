"""Building a sparse suffix array on a GPU; the rows are identical to those of sparse_build.py.

sample    a bit for each position, by blocks of threads that share the hashes of a stretch
buckets   the sampled positions, sorted by the buckets of their k-mers; their rows
order     rows of large buckets: sorted by AT_ONCE symbols of the text; rows that are equal, by the next ones
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at
from ..compiler.warp import UINT32, ballot, cuda, device, kernel, sync_block, thread_in_block, thread_index
from ..input.dna import symbols
from ..machines import gpu
from ..machines.gpu import memory_beside
from ..machines.jobs import Array, choose, do
from .reference import find_block
from .sparse import (
    AT_ONCE,
    BASES,
    DEPTH,
    MAX_W,
    SMALL_BUCKET,
    SparseTable,
    bucket_bits,
    bucket_of,
    canonical,
    row_key,
    row_of,
)  # fmt: skip
from .sparse_build import Text

if TYPE_CHECKING:
    from ..machines.jobs import Backend
    from .reference import Blocks
    from .sparse import SparseName

_N_THREADS, _ROLLED = 256, 16  # threads of a block, and k-mers that each hashes
_BYTES = 32  # for each row while sorting by buckets; later, rows of large buckets take 40


@kernel
def sample_kernel(text, steps, n_threads, bits):
    """Set a bit in ``bits`` (uint32) for each position of a Text whose k-mer is the smallest of a window.

    A block of n_threads hashes n_threads * _ROLLED k-mers and decides for all but MAX_W of them at both ends.
    Shared memory: 4 bytes for each, times 17 / 16.
    """
    thread, hashes, k = thread_in_block(), cuda.shared.array(0, UINT32), text.k
    n_decided = n_threads * _ROLLED - 2 * MAX_W
    start = (thread_index() - thread) // n_threads * n_decided
    position = start - MAX_W + _ROLLED * thread
    # Each thread hashes _ROLLED adjacent k-mers into shared memory.
    if 0 <= position < text.n:
        forward, reverse = np.uint32(steps[N_STEPS] >> np.uint64(32)), np.uint32(steps[N_STEPS])
        coming = symbols(text.words, 0, position, 32)
        for _ in range(k - 1):
            forward, reverse = next_hashes(steps, forward, reverse, np.uint32(coming >> np.uint64(62)))
            coming <<= np.uint64(2)
        leaves = np.uint32(symbols(text.words, 0, position, _ROLLED - 1))
        odd, even = in_turn(np.uint32(symbols(text.words, 0, position + k - 1, _ROLLED)), leaves)
        for j in range(0, _ROLLED, 2):
            shift, place = np.uint32(28 - 2 * j), (_ROLLED + 1) * thread + j
            forward, reverse = next_hashes(steps, forward, reverse, (odd >> shift) & np.uint32(15))
            hashes[place] = np.uint32(np.uint32(forward + reverse) ^ np.uint32(1 << 31))
            forward, reverse = next_hashes(steps, forward, reverse, (even >> shift) & np.uint32(15))
            hashes[place + 1] = np.uint32(np.uint32(forward + reverse) ^ np.uint32(1 << 31))
    sync_block()
    # Each warp decides for 32 positions at a time and writes their bits as one word.
    for i in range(thread, n_decided, n_threads):
        is_sampled = False
        if start + i + k <= text.n:
            block = find_block(text.blocks, start + i)
            begin = at(text.blocks.text_start, block)
            end = begin + at(text.blocks.length, block)
            if start + i + k <= end and end - begin >= k + text.w - 1:
                is_sampled = _is_smallest(hashes, i + MAX_W, text.w, start + i - begin, end - k - start - i)
        sampled = ballot(is_sampled)
        if thread & 31 == 0 and start + i < text.n:
            bits[(start + i) >> 5] = np.uint32(sampled)


@inlined
def _hash_at(hashes, i):
    """Return the index of hash i: one place is unused after each _ROLLED hashes, to avoid bank conflicts."""
    return at(hashes, i + i // _ROLLED)


@inlined
def _is_smallest(hashes, i, w, before, after):
    """Return whether hash i is the smallest of a window of w, given the hashes ``before`` and ``after``
    it."""
    smallest, left, right = _hash_at(hashes, i), np.int64(0), np.int64(0)
    before, after = min(before, w - 1), min(after, w - 1)
    while left < before and _hash_at(hashes, i - left - 1) >= smallest:
        left += 1
    while right < after and left + right < w - 1 and _hash_at(hashes, i + right + 1) >= smallest:
        right += 1
    return left + right >= w - 1


@choose.of("bits")
def Sampled(choice, i):
    """Choose the positions whose ``bits``, uint32, are set."""
    return np.int64(i) if (np.int64(at(choice.bits, i >> 5)) >> (i & 31)) & 1 else np.int64(-1)


@do.of("text positions keys")
def FindBuckets(job, stretch, start, stop):
    """Set ``keys`` uint64 to the buckets of the k-mers at ``positions``."""
    for i in range(start, stop):
        kmer, _ = canonical(job.text.words, 0, np.int64(at(job.positions, i)), job.text.k)
        job.keys[i] = bucket_of(kmer, job.text.n_bits)


@do.of("text positions rows")
def MakeRows(job, stretch, start, stop):
    """Make the ``rows`` uint64 of ``positions``."""
    text = job.text
    for i in range(start, stop):
        position = np.int64(at(job.positions, i))
        _, strand = canonical(text.words, 0, position, text.k)
        block = find_block(text.blocks, position)
        begin = at(text.blocks.text_start, block)
        end = begin + at(text.blocks.length, block)
        job.rows[i] = row_of(text.words, position, strand, text.k, begin, end)


@do.of("keys starts")
def FindBucketStarts(job, stretch, start, stop):
    """Set ``starts`` uint32 to the first of ``keys``, ascending, that is not less than each bucket."""
    for i in range(start, stop):
        first = np.int64(at(job.keys, i - 1)) + 1 if i > 0 else np.int64(0)
        last = np.int64(at(job.keys, i)) if i < job.keys.size else np.int64(job.starts.size - 1)
        for bucket in range(first, last + 1):
            job.starts[bucket] = i


@choose.of("keys starts")
def InLarge(choice, i):
    """Choose the rows that share a bucket, by ``keys``, with at least SMALL_BUCKET others."""
    bucket = np.int64(at(choice.keys, i))
    n = np.int64(at(choice.starts, bucket + 1)) - np.int64(at(choice.starts, bucket))
    return np.int64(i) if n > SMALL_BUCKET else np.int64(-1)


@do.of("keys starts slots groups")
def FindGroups(job, stretch, start, stop):
    """Set ``groups`` uint64 of rows ``slots`` to the first row of their bucket."""
    for i in range(start, stop):
        job.groups[i] = at(job.starts, np.int64(at(job.keys, np.int64(at(job.slots, i)))))


@do.of("text rows slots depth read order")
def ReadText(job, stretch, start, stop):
    """Set ``read`` uint64 to text from ``depth`` on for rows ``slots``, and ``order`` uint32 to 0, 1, ..."""
    text = job.text
    for i in range(start, stop):
        row = at(job.rows, np.int64(at(job.slots, i)))
        job.read[i] = row_key(text.words, text.blocks, row, text.k, job.depth)
        job.order[i] = i


@do.of("source order taken")
def Take(job, stretch, start, stop):
    """Set ``taken[i] = source[order[i]]``, uint64."""
    for i in range(start, stop):
        job.taken[i] = at(job.source, np.int64(at(job.order, i)))


@do.of("rows slots order taken")
def TakeRows(job, stretch, start, stop):
    """Set ``taken[i] = rows[slots[order[i]]]``."""
    for i in range(start, stop):
        job.taken[i] = at(job.rows, np.int64(at(job.slots, np.int64(at(job.order, i)))))


@do.of("taken slots rows")
def PutRows(job, stretch, start, stop):
    """Set ``rows[slots[i]] = taken[i]``."""
    for i in range(start, stop):
        job.rows[np.int64(at(job.slots, i))] = at(job.taken, i)


@inlined
def _is_alike(alike, i, j):
    """Return whether i and j are in one group, read the same, and their blocks go on."""
    key = at(alike.read, i)
    goes_on = np.int64(key & np.uint64(63)) == AT_ONCE
    return goes_on and key == at(alike.read, j) and at(alike.groups, i) == at(alike.groups, j)


@choose.of("groups read")
def Alike(choice, i):
    """Choose the rows that ``read`` the same as a neighbour in their group, and whose blocks go on."""
    is_alike = i > 0 and _is_alike(choice, i, i - 1)
    if not is_alike:
        is_alike = i + 1 < choice.read.size and _is_alike(choice, i, i + 1)
    return np.int64(i) if is_alike else np.int64(-1)


@do.of("alike slots chosen to_slots to_groups")
def Narrow(job, stretch, start, stop):
    """Take the chosen ``slots``, each with the first row that reads the same as its new group."""
    for i in range(start, stop):
        chosen = np.int64(at(job.chosen, i))
        group, first, last = at(job.alike.groups, chosen), np.int64(0), chosen
        while first < last:  # the first of its group that reads the same
            middle = (first + last) >> 1
            theirs = at(job.alike.groups, middle)
            is_less = theirs == group and at(job.alike.read, middle) < at(job.alike.read, chosen)
            if theirs < group or is_less:
                first = middle + 1
            else:
                last = middle
        job.to_slots[i], job.to_groups[i] = at(job.slots, chosen), at(job.slots, first)


def check_memory(n_text: int, name: "SparseName", memory: int) -> None:
    """Raise DeviceError if ``memory`` bytes are too few to build the table of a text of n_text symbols."""
    n_rows = 2 * n_text // (name.w + 1)
    fixed = n_text // 4 + n_text // 8 + 4 * (1 << bucket_bits(n_text, name.w))
    memory_beside(memory, fixed, _BYTES * n_rows, f"{name} of {n_text} symbols")


def build_sparse(
    backend: "Backend", words: np.ndarray, blocks: "Blocks", n_text: int, name: "SparseName",
    done: Callable[[float], Any] = lambda share: None,
) -> SparseTable:  # fmt: skip
    """Build the SparseTable ``name`` of a part on a Gpu: n_text symbols, packed in ``words``."""
    n_bits = bucket_bits(n_text, name.w)
    text = Text(backend.from_host(words), backend.from_host(blocks), n_text, name.k, name.w, n_bits)
    bits, n_threads = backend.empty(-(-n_text // 32), np.uint32), gpu.block_size(_N_THREADS)
    n_decided = n_threads * _ROLLED - 2 * MAX_W
    how = -(-n_text // n_decided), n_threads, 0, n_threads * (_ROLLED + 1) * 4
    sample_kernel[how](text, backend.from_host(make_steps(name.k)), n_threads, bits)
    positions = backend.select(Sampled(bits), n_text)
    done(0.4)
    del bits
    rows, starts = rows_of(backend, text, positions)
    gpu.synchronize()
    return SparseTable(rows, starts, name.k, name.w)


def rows_of(backend: "Backend", text: Text, positions: Array) -> tuple[Any, Any]:
    """Return (rows, starts) of the sampled positions, uint32 ascending, on the backend."""
    n = positions.size
    keys, starts = backend.empty(n, np.uint64), backend.empty((1 << text.n_bits) + 1, np.uint32)
    backend.run(FindBuckets(text, positions, keys), n)
    spare = backend.empty(n, np.uint64), backend.empty(n, np.uint32)
    if n:
        keys, positions = backend.sort_pairs(keys, positions, *spare, text.n_bits)
    del spare
    backend.run(FindBucketStarts(keys, starts), n + 1)
    rows = backend.empty(n, np.uint64)
    backend.run(MakeRows(text, positions, rows), n)
    del positions
    slots = backend.select(InLarge(keys, starts), n)
    groups = backend.empty(slots.size, np.uint64)
    backend.run(FindGroups(keys, starts, slots, groups), slots.size)
    del keys
    _order(backend, text, rows, slots, groups)
    return rows, starts


def _order(backend: "Backend", text: Text, rows: Array, slots: Array, groups: Array) -> None:
    """Order the rows of large buckets: ``slots`` uint32, ascending; ``groups`` uint64, first rows."""
    for depth in range(0, DEPTH, AT_ONCE):
        n = slots.size
        if n == 0:
            return
        read, order = backend.empty(n, np.uint64), backend.empty(n, np.uint32)
        spare, spare_order = backend.empty(n, np.uint64), backend.empty(n, np.uint32)
        backend.run(ReadText(text, rows, slots, np.int64(depth), read, order), n)
        read, order = backend.sort_pairs(read, order, spare, spare_order, 2 * AT_ONCE + 6)
        of_order, spare, spare_order = (backend.empty(n, kind) for kind in (np.uint64, np.uint64, np.uint32))
        backend.run(Take(groups, order, of_order), n)
        groups, order = backend.sort_pairs(of_order, order, spare, spare_order, int(rows.size).bit_length())
        taken = backend.empty(n, np.uint64)
        backend.run(TakeRows(rows, slots, order, taken), n)
        backend.run(PutRows(taken, slots, rows), n)
        backend.run(ReadText(text, rows, slots, np.int64(depth), taken, order), n)
        alike = Alike(groups, taken)
        chosen = backend.select(alike, n)
        to_slots, to_groups = backend.empty(chosen.size, np.uint32), backend.empty(chosen.size, np.uint64)
        backend.run(Narrow(alike, slots, chosen, to_slots, to_groups), chosen.size)
        slots, groups = to_slots, to_groups


# Hashes of k-mers, equal to those of sparse.py, by a thread of a GPU, base by base.
#
# The hash of the next k-mer is the last one, rotated, and changed by the base that enters and the base that
# leaves.  A table of 16 numbers has the change for each pair of bases, for both strands at once.

N_STEPS = 16


def make_steps(k: int) -> np.ndarray:
    """Return the steps of k-mers, uint64[N_STEPS + 1]: how hashes change if base e enters and g leaves.

    The step is at e | g << 2, with the forward strand in the high half; the last element has the hashes of k
    times A.  In the functions below, ``room`` is this table, in shared or global memory.
    """
    steps, begin = np.empty(N_STEPS + 1, np.uint64), 0
    for bases in range(N_STEPS):
        enters, leaves = bases & 3, bases >> 2
        forward = BASES[enters] ^ _rotated(BASES[leaves], k)
        reverse = _rotated(BASES[3 - enters], k - 1) ^ _rotated(BASES[3 - leaves], 31)
        steps[bases] = forward << 32 | reverse
    for i in range(k):
        begin ^= _rotated(BASES[0], i) << 32 | _rotated(BASES[3], i)
    steps[N_STEPS] = begin
    return steps


def _rotated(x: int, n: int) -> int:
    n %= 32
    return (x << n | x >> (32 - n)) & 0xFFFFFFFF


@device
def next_hashes(room, forward, reverse, bases):
    """Advance both hashes by one base."""
    step = at(room, bases)
    forward = np.uint32(np.uint32(forward << np.uint32(1)) | np.uint32(forward >> np.uint32(31)))
    reverse = np.uint32(np.uint32(reverse << np.uint32(31)) | np.uint32(reverse >> np.uint32(1)))
    return np.uint32(forward ^ np.uint32(step >> np.uint64(32))), np.uint32(reverse ^ np.uint32(step))


@device
def _next_two(room, forward, reverse, bases, shift):
    """Advance both hashes by two bases, which are ``shift`` bits up in ``bases`` (in_turn)."""
    forward, reverse = next_hashes(room, forward, reverse, (bases[0] >> shift) & np.uint32(15))
    return next_hashes(room, forward, reverse, (bases[1] >> shift) & np.uint32(15))


@device
def _try_two(room, state, bases, shift, place):
    """Advance by two bases and compare each k-mer: (forward, reverse, smallest, its place)."""
    forward, reverse, best, best_place = state
    for_first, for_second = bases
    forward, reverse = next_hashes(room, forward, reverse, (for_first >> shift) & np.uint32(15))
    best, best_place = _better(forward, reverse, place, best, best_place)
    forward, reverse = next_hashes(room, forward, reverse, (for_second >> shift) & np.uint32(15))
    best, best_place = _better(forward, reverse, np.int32(place + 1), best, best_place)
    return forward, reverse, best, best_place


@device
def _better(forward, reverse, place, best, best_place):
    """Return (the smaller one of a k-mer's hash and the best one so far, its place)."""
    kmer = np.int32(np.uint32(forward + reverse))
    if kmer < best:
        return kmer, place
    return best, best_place


@device
def in_turn(enters, leaves):
    """Return the 16 bases that enter and leave, by steps: (of the first of each two, of the second)."""
    low, high = np.uint32(0x33333333), np.uint32(0xCCCCCCCC)
    first = np.uint32(np.uint32(np.uint32(enters >> np.uint32(2)) & low) | np.uint32(leaves & high))
    second = np.uint32(np.uint32(enters & low) | np.uint32(np.uint32(leaves << np.uint32(2)) & high))
    return first, second


@device
def _half(words, first, i):
    """Return the 16 symbols from 16i on of the packed string at word ``first``."""
    return np.uint32(at(words, first + (i >> 1)) >> np.uint64(0 if i & 1 else 32))


@device
def _begin(k, steps, room, words, first, half):
    """Return the hashes (forward, reverse) of an A and k - 1 symbols of a string, from 16 * ``half`` on."""
    word = np.uint64(_half(words, first, half)) << np.uint64(32) | np.uint64(_half(words, first, half + 1))
    n, i = k - 1, np.int64(0)
    forward, reverse = np.uint32(steps[N_STEPS] >> np.uint64(32)), np.uint32(steps[N_STEPS])
    if n >= 16:
        bases = in_turn(np.uint32(word >> np.uint64(32)), np.uint32(0))
        for shift in range(28, -4, -4):
            forward, reverse = _next_two(room, forward, reverse, bases, np.uint32(shift))
        word, i = word << np.uint64(32), np.int64(16)
    while i < n:
        forward, reverse = next_hashes(room, forward, reverse, np.uint32(word >> np.uint64(62)))
        word, i = word << np.uint64(2), i + 1
    return forward, reverse


@device
def smallest_kmer(k, steps, room, words, first, begin, n):
    """Return where the first smallest of n k-mers of a string begins, from symbol 16 * ``begin`` on."""
    last = np.uint32(0)
    ahead, shift = (k - 1) >> 4, np.uint64(2 * ((k - 1) & 15))
    forward, reverse = _begin(k, steps, room, words, first, begin)
    state = forward, reverse, np.int32(2**31 - 1), np.int32(0)
    next_half = _half(words, first, begin + ahead)
    # 16 k-mers per round: the bases that enter and leave, then two steps at a time.
    for i in range((n + 15) >> 4):
        half, enters = _half(words, first, begin + i), np.uint64(next_half) << np.uint64(32)
        next_half = _half(words, first, begin + i + 1 + ahead)
        enters = np.uint32(((enters | np.uint64(next_half)) << shift) >> np.uint64(32))
        leaves = np.uint32(np.uint32(last << np.uint32(30)) | np.uint32(half >> np.uint32(2)))
        last, place, bases = half, np.int32(16 * i), in_turn(enters, leaves)
        if 16 * i + 16 <= n:
            best_place, state = state[3], (state[0], state[1], state[2], np.int32(-1))
            for j in range(8):
                state = _try_two(room, state, bases, np.uint32(28 - 4 * j), np.int32(2 * j))
            best_place = np.int32(place + state[3]) if state[3] >= 0 else best_place
            state = state[0], state[1], state[2], best_place
        else:
            # The last round has fewer k-mers.
            forward, reverse, best, best_place = state
            for j in range(n - 16 * i):
                pair = bases[1] if j & 1 else bases[0]
                pair = (pair >> np.uint32(28 - 4 * (j >> 1))) & np.uint32(15)
                forward, reverse = next_hashes(room, forward, reverse, pair)
                best, best_place = _better(forward, reverse, np.int32(place + j), best, best_place)
            state = forward, reverse, best, best_place
    return np.int64(state[3])
