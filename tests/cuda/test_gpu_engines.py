"""The GPU's engines: their intervals are those that plain comparison of all suffixes gives.

On a GPU texts and patterns are taken as they are, in the simulator few of them, for a simulated thread is a
Python thread.
"""

import contextlib
import functools

import cases
import numpy as np
import pytest
from conftest import SIMULATED
from cover import cover
from packed import codes_of, pack
from texts import random_letters

from fmx.compiler import cuda_driver
from fmx.dna import pack_text
from fmx.errors import UnsupportedError
from fmx.index import layouts
from fmx.index.reference import make_blocks
from fmx.index.tables import SeedTable, build_prefix_table, first_rows
from fmx.input.reads import Patterns
from fmx.limits import GPU_ENGINES
from fmx.machines import gpu
from fmx.machines.jobs import ONE_CORE
from fmx.search.gpu import engines
from fmx.search.hits import Intervals
from fmx.search.queries.backward import Backward
from fmx.search.queries.verify import Verify

COFI_KS = (2, 3, 5)
NAMES = [name for name in cases.all_layouts() if name.family != "cofi" or name.k in COFI_KS]
WAYS = ["verify", *sorted({f"{name.family}-k{name.k}" for name in NAMES})]


def letters_of(name) -> str:
    """A text: blocks, a $ after each."""
    seeds = iter(range(1, 1000))

    def letters(n):
        return random_letters(n, next(seeds))

    blocks = {
        "one block": lambda: [letters(1500)],
        "many blocks": lambda: [letters(1 + i % 9) for i in range(150)] + ["ACGTACGT" * 4, letters(300)],
        "repeats": lambda: ["ACG" * 40, "CGACGACGA", "A" * 77, letters(40) * 3],
    }[name]()
    text = "".join(f"{block}$" for block in blocks)
    return text[-400:] if SIMULATED else text


def sequences_of(text) -> list:
    """Patterns of all lengths, from the ends and the middle of blocks, and others."""
    blocks = [block for block in text.split("$") if block]
    lengths = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 20, 31, 32, 33, 40, 65, 100, 140)
    sequences = [""]
    for m in (40, 9) if SIMULATED else lengths:
        for block in blocks[-2:] if SIMULATED else blocks[-40:]:
            middle = [] if SIMULATED else [block[len(block) // 2 :][:m]]
            sequences += [block[:m], block[-m:], *middle]
        sequences.append(random_letters(m, m))
    return sequences


@functools.cache
def asked(name):
    """(sorted suffixes, sequences, their intervals by plain comparison, (0, 0) where one does not occur)."""
    text = letters_of(name)
    rows = sorted(text[i:] for i in range(len(text)))
    sequences, expected = sequences_of(text), []
    for sequence in sequences:
        found = [row for row, suffix in enumerate(rows) if suffix.startswith(sequence)]
        expected.append((found[0], found[-1] + 1) if sequence and found else (0, 0))
    return rows, sequences, expected


def queries(text, rows, way):
    """The queries of a way to search: seed and verify, or each d of a family and k."""
    codes = codes_of(text)
    sa = np.array([len(text) - len(suffix) for suffix in rows], np.uint32)
    prefix = build_prefix_table(codes, 4)
    if way == "verify":
        ends = np.flatnonzero(codes == 0)
        starts = np.concatenate([[0], ends[:-1] + 1])
        blocks = make_blocks(starts, np.arange(starts.size), np.zeros_like(starts), ends - starts)
        seeds = SeedTable(first_rows(ONE_CORE, codes, sa, 5), 5)
        query = Verify(prefix, seeds, sa, pack_text(codes), blocks)
        yield query
    for name in NAMES:
        if f"{name.family}-k{name.k}" == way:
            yield Backward(prefix, layouts.REGISTRY[name.family].build(codes, sa, name.k, name.d))


def run(launch, query, patterns) -> Intervals:
    """Search patterns that are in the host's memory, with a query that is there too."""
    with gpu.errors():
        n = patterns.length.size
        intervals = Intervals(*(gpu.zeros(n, np.uint32) for _ in Intervals._fields))
        launch(engines.upload(query), engines.upload(patterns), intervals)
        return Intervals(*(gpu.to_host(array) for array in intervals))


def cases(text, rows, way) -> list:
    """(query, engine) of all that go together."""
    found = []
    for query in queries(text, rows, way):
        for engine in GPU_ENGINES:
            with contextlib.suppress(UnsupportedError):
                engines.launch_of(engine, query)
                found.append((query, engine))
    return found


def wanted(case):
    """In the simulator: every layout, or seed and verify, and every engine."""
    query, engine = case
    return {(str(type(query)), str(type(getattr(query, "layout", None)))), engine}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ["many blocks"] if SIMULATED else ["one block", "many blocks", "repeats"])
def test_every_engine_gives_the_intervals_of_plain_comparison(text, way, device, pytestconfig):
    rows, sequences, expected = asked(text)
    patterns, every = Patterns(*pack(sequences)), cases(letters_of(text), rows, way)
    if SIMULATED and not pytestconfig.getoption("nightly"):
        every = [every[i] for i in cover(every, wanted)]
    assert every
    for query, engine in every:
        launch = engines.launch_of(engine, query)
        found = run(launch, query, patterns)
        listed = list(zip(found.lo.tolist(), found.hi.tolist(), strict=True))
        assert listed == expected, (engine, query)
        for code in () if SIMULATED else launch.kernel._loaded.values():
            kind = cuda_driver.bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
            n_bytes = cuda_driver.ask("cuFuncGetAttribute", kind, code._function)
            assert n_bytes == 0, f"{engine} keeps registers in memory"
