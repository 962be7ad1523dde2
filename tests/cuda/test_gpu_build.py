"""Building on a GPU: every array of an index is the one that the CPU makes, bit for bit.

In the simulator texts are tiny, for a simulated thread is a Python thread.
"""

import cases
import numpy as np
import pytest
from conftest import SIMULATED
from synthetic import Repeat, make_codes

from fmx.dna import pack_text
from fmx.index import layouts
from fmx.index.positions import sample
from fmx.index.suffix_array import sort_by_radix, suffix_array
from fmx.index.tables import first_rows
from fmx.index.tables import seed_length as default_seed_length
from fmx.machines.gpu_jobs import Gpu
from fmx.machines.jobs import ONE_CORE, Cores
from fmx.system import available_cores

COFI_KS = (3,) if SIMULATED else (2, 3, 5, 11)
EVERY = [name for name in cases.all_layouts() if name.family != "cofi" or name.k in COFI_KS]
FEW = [layouts.parse_name(family) for family in ("bvsfm", "sampled")]
STANDING, SORTED = 18, 24  # bytes a symbol that the sort needs, and for each suffix of a pass
SIZES = (1, 97) if SIMULATED else (1, 2, 21, 22, 95, 96, 97, 1000, 50_001)
M = 70 if SIMULATED else 10**6


def drawn(n, separators, seed=5):
    rng = np.random.default_rng((seed, n))
    codes = rng.integers(1, 5, n).astype(np.uint8)
    codes[rng.random(n) < separators] = 0
    codes[-1] = 0
    return codes


def three_times():
    unit = drawn(M // 3, 0)
    return np.concatenate([unit, unit[:-1], unit])


RANDOM = {f"random, {n}, {x:.0%} separators": (n, x) for n in SIZES for x in (0, 0.1)}
TEXTS = {
    **{name: lambda given=given: drawn(*given) for name, given in RANDOM.items()},
    "one letter": lambda: np.append(np.ones(M, np.uint8), np.uint8(0)),
    "separators only": lambda: np.zeros(M, np.uint8),
    "period 2": lambda: np.append(np.tile(np.array([1, 2], np.uint8), M // 2), np.uint8(0)),
    "three times the same": three_times,
}
if not SIMULATED:
    for n_repeat in (10**5, 10**6, 2 * 10**7):
        TEXTS[f"repeats of a genome, {n_repeat}"] = lambda n=n_repeat: make_codes(ONE_CORE, Repeat, n)
CASES = [
    (name, passes)
    for name in TEXTS
    for passes in (1, 3)
    if passes == 1 or name.startswith("repeats") or (name in RANDOM and RANDOM[name][0] > 90)
]


def arrays_of(backend, codes, sa, names) -> dict:
    """{name: array of the host} of all parts of an index."""
    n, ends = codes.size, np.flatnonzero(backend.to_host(codes) == 0)
    found = {
        "text": pack_text(codes, backend),
        "seed table": first_rows(backend, codes, sa, default_seed_length(n)),
    }
    starts = np.concatenate([[0], ends[:-1] + 1])
    for s in (2, 16):
        sampled = sample(sa, starts, s, 2, 3, backend)
        found |= {f"marks, s = {s}": sampled.marks, f"positions, s = {s}": sampled.positions}
    for name in names:
        layout = layouts.REGISTRY[name.family].build(codes, sa, name.k, name.d, backend)
        fields = {field: value for field, value in layout._asdict().items() if field != "k"}
        found |= {f"{name} {field}": value for field, value in fields.items()}
    return {name: backend.to_host(array) for name, array in found.items()}


@pytest.mark.parametrize(("name", "passes"), CASES)
def test_every_array_is_the_one_of_the_cpu(name, passes, device):
    gpu, cores, codes = Gpu(device), Cores(available_cores()), TEXTS[name]()
    names = EVERY if name in RANDOM and passes == 1 else FEW
    memory = gpu.memory if passes == 1 else STANDING * codes.size + SORTED * codes.size // passes
    expected_sa, there = suffix_array(codes), gpu.from_host(codes)
    sa, _ = sort_by_radix(gpu, there, memory)
    np.testing.assert_array_equal(gpu.to_host(sa), expected_sa)
    found = arrays_of(gpu, there, sa, names)
    for array, values in arrays_of(cores, codes, expected_sa, names).items():
        assert found[array].dtype == values.dtype, array
        np.testing.assert_array_equal(found[array], values, array)
