"""Every kernel for every layout, compiled for two GPUs without one: what the code must and must not hold."""

import re
import subprocess
import sys

import numpy as np
import pytest

from fmx import engines, layouts
from fmx.contracts import lanes
from fmx.errors import UnsupportedError
from fmx.hits import Intervals
from fmx.prefix_table import PrefixTable
from fmx.queries import Exact, Verify
from fmx.reads import Patterns
from fmx.reference import make_blocks
from fmx.seed_table import SeedTable

pytest.importorskip("numba_cuda", reason="pip install 'fmx-mapper[cuda]'")
WORDS, NUMBERS, ROWS = np.zeros(2, np.uint64), np.zeros(2, np.int64), np.zeros(2, np.uint32)
PATTERNS, INTERVALS, PREFIX = Patterns(WORDS, NUMBERS, NUMBERS), Intervals(ROWS, ROWS), PrefixTable(ROWS, 8)
TYPES = {layouts.REGISTRY[name.family].types[name.k, name.d]: name for name in reversed(layouts.all_names())}
CAPABILITIES = ((8, 0), (9, 0))


def query_of(cls, name):
    """Backward search over empty arrays of a layout's type."""
    arrays = {"entries": WORDS, "k": name.k}
    return Exact(PREFIX, cls(*(arrays.get(field, ROWS) for field in cls._fields)))


def compile_pair(query, engine, capability) -> str:
    """The PTX of an engine for a query."""
    from fmx.jit_warp import ptx_of

    launch = engines.prepare(engine, query)
    return ptx_of(launch.kernel, (*launch.arguments, query, PATTERNS, INTERVALS), capability)


def check(ptx, engine, counts, wide):
    ptx = re.sub(r"_Z\w+", "NAME", ptx)  # names may hold anything
    assert ".f64" not in ptx
    assert "call" not in ptx
    assert not re.search(r"\.local|ld\.local|st\.local", ptx), "local memory"
    assert ("shfl" in ptx) == engine.startswith("cuda_full")
    assert ("ld.global.v2.u64" in ptx) == wide
    assert ("popc.b" in ptx) == counts


@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
@pytest.mark.parametrize("engine", engines.CUDA)
@pytest.mark.parametrize(
    ("cls", "name"), TYPES.items(), ids=lambda value: str(getattr(value, "family", value))
)
def test_code_of_every_layout_and_engine(cls, name, engine, capability):
    query = query_of(cls, name)
    counts = lanes(query.layout) > 0
    try:
        engines.prepare(engine, query)
    except UnsupportedError:
        size = int(engine[len("cuda_full-") :]) if engine.startswith("cuda_full-") else 2
        assert lanes(query.layout) <= size // 2  # never a pair that makes sense
        return
    check(compile_pair(query, engine, capability), engine, counts, counts and not engine.endswith("naive"))


@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
def test_code_of_seed_and_verify(capability):
    block = np.zeros(1, np.int64)
    blocks = make_blocks(block, block, block, np.array([9], np.int64))
    query = Verify(PREFIX, SeedTable(ROWS, 5), ROWS, WORDS, blocks)
    check(compile_pair(query, "cuda_task-naive16", capability), "cuda_task-naive16", counts=False, wide=False)
    for engine in ("cuda_task-naive", "cuda_memory", "cuda_full"):
        with pytest.raises(UnsupportedError, match="use cuda_task"):
            engines.prepare(engine, query)


LINK = """
import sys
from cuda.core import Linker, LinkerOptions, ObjectCode
options = LinkerOptions(arch="sm_90", verbose=True)
linker = Linker(ObjectCode.from_ptx(sys.stdin.buffer.read()), options=options)
linker.link("cubin")
print(linker.get_info_log())
"""


@pytest.mark.parametrize("name", ["sampled-k1-d448", "alternate-k2-d192", "bvsfm-k2-d224"])
@pytest.mark.parametrize("engine", ["cuda_task-improved", "cuda_memory", "cuda_full"])
def test_registers_do_not_spill(name, engine):
    """As the assembler of the driver's linker reports it; it needs no GPU, but a process of its own."""
    parsed = layouts.parse_name(name)
    query = query_of(layouts.REGISTRY[parsed.family].types[parsed.k, parsed.d], parsed)
    ptx = compile_pair(query, engine, (9, 0)).encode()
    done = subprocess.run([sys.executable, "-c", LINK], input=ptx, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    spills = re.findall(rb"(\d+) bytes spill (?:stores|loads)", done.stdout)
    assert spills
    assert not any(map(int, spills)), done.stdout.decode()
