"""What a thread of a GPU does to find a pattern, on the CPU: steps, or seed and verify."""

import cases
import numpy as np
import pytest
from texts import TEXTS, numbered, random_letters, reads_of

from fmx.compiler.functions import compiled
from fmx.index.contracts import extend, find, on_device, start
from fmx.input import reads
from fmx.input.dna import symbols
from fmx.search.find import make_query

NAMES = ["contigs of 1 to 6", "period 3", "repeats across separators", "text of 225 in blocks"]


@compiled
def _find_all(query, patterns, sizes):
    for i in range(sizes.size):
        if patterns.length[i] > 0:
            lo, hi = find(query, patterns, i)
            sizes[i] = hi - lo


@pytest.mark.parametrize("name", NAMES)
def test_seed_and_verify_finds_what_a_scan_finds(name, index_of):
    contigs = TEXTS[name]
    sequences = reads_of(contigs)
    query = make_query(cases.load(index_of(contigs), "verify"))
    patterns = reads.pack(cases.batch_of(sequences))
    sizes = np.zeros(patterns.length.size, np.int64)
    _find_all(on_device(query), patterns, sizes)
    found = [tuple(pair) for pair in sizes.reshape(-1, 2).tolist()]
    assert found == cases.expect(contigs, sequences).sizes


def test_a_difference_at_any_base_is_seen(index_of):
    """Reads are compared by 32 bases: their last one differs, or none does."""
    unit = random_letters(300, "wide")
    contigs = numbered([unit])
    whole = [unit[40 : 40 + n] for n in range(12, 140)]
    sequences = [*whole, *(read[:-1] + "ACGT"[("ACGT".index(read[-1]) + 1) % 4] for read in whole)]
    query = make_query(cases.load(index_of(contigs), "verify"))
    patterns = reads.pack(cases.batch_of(sequences))
    sizes = np.zeros(patterns.length.size, np.int64)
    _find_all(on_device(query), patterns, sizes)
    assert sizes[::2].tolist() == [1] * len(whole) + [0] * len(whole)


@compiled
def _step_back(query, patterns, sizes):
    for i in range(sizes.size):
        if patterns.length[i] > 0:
            (lo, hi, left), k = start(query, patterns, i), np.int64(query.layout.k)
            while left > 0 and lo < hi:
                left -= k
                c = np.int64(symbols(patterns.words, patterns.first[i], left, k))
                lo, hi = extend(query.layout, c, lo, hi)
            sizes[i] = hi - lo


@pytest.mark.parametrize("layout", ["bvsfm-k2-d96", "cofi-k5", "cofi-k7"])
@pytest.mark.parametrize("name", NAMES)
def test_steps_find_what_a_scan_finds(name, layout, index_of):
    contigs = TEXTS[name]
    sequences = reads_of(contigs)
    query = make_query(cases.load(index_of(contigs, [layout], prefix_length=4), layout))
    patterns = reads.pack(cases.batch_of(sequences))
    sizes = np.zeros(patterns.length.size, np.int64)
    _step_back(query, patterns, sizes)
    found = [tuple(pair) for pair in sizes.reshape(-1, 2).tolist()]
    assert found == cases.expect(contigs, sequences).sizes
    assert (
        cases.ask(cases.load(index_of(contigs, [layout], prefix_length=4), layout), sequences).sizes == found
    )
