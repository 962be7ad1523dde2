"""Every kernel for every layout, compiled for two GPUs without one: what the code must and must not hold."""

import hashlib
import re
import subprocess
import sys

import cases
import numpy as np
import pytest
from cached import cached
from cover import covered
from ptx import check_lean, code_of, instructions, versions

from fmx.errors import UnsupportedError
from fmx.index import layouts
from fmx.index.contracts import on_device, units
from fmx.index.reference import make_blocks
from fmx.index.sparse import SparseTable
from fmx.index.tables import PrefixTable, SeedTable
from fmx.input.reads import Patterns
from fmx.limits import GPU_ENGINES
from fmx.search.gpu import engines
from fmx.search.hits import Intervals
from fmx.search.queries.exact import Exact
from fmx.search.queries.sparse import Sparse
from fmx.search.queries.verify import Verify

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
WORDS, NUMBERS, ROWS = np.zeros(2, np.uint64), np.zeros(2, np.int64), np.zeros(2, np.uint32)
PATTERNS, INTERVALS, PREFIX = Patterns(WORDS, NUMBERS, NUMBERS), Intervals(ROWS, ROWS), PrefixTable(ROWS, 8)
TYPES = {layouts.REGISTRY[name.family].types[name.k, name.d]: name for name in reversed(cases.all_layouts())}
CAPABILITIES = ((8, 0), (9, 0))


def query_of(cls, name):
    """Backward search over empty arrays of a layout's type."""
    arrays = {"entries": WORDS, "k": name.k}
    return Exact(PREFIX, cls(*(arrays.get(field, ROWS) for field in cls._fields)))


def compile_pair(query, engine, capability) -> str:
    """The PTX of an engine for a query."""
    launch = engines.launch_of(engine, query)
    return code_of(launch.kernel, (*launch.arguments, query, PATTERNS, INTERVALS), capability)


ASSEMBLER = """
import sys
from cuda.core import Linker, LinkerOptions, ObjectCode
while head := sys.stdin.buffer.readline():
    architecture, size = head.decode().split()
    code = ObjectCode.from_ptx(sys.stdin.buffer.read(int(size)))
    linker = Linker(code, options=LinkerOptions(arch=architecture, verbose=True))
    linker.link("cubin")
    log = linker.get_info_log().encode()
    sys.stdout.buffer.write(b"%d\\n" % len(log) + log)
    sys.stdout.buffer.flush()
"""


@pytest.fixture(scope="module")
def assemble():
    """A function (PTX, capability) -> what the assembler of the driver's linker says; it needs no GPU.

    It is a process of its own, for it does not go together with the compiler in one.
    """
    processes = []

    def ask(code, capability):
        if not processes:
            command = [sys.executable, "-c", ASSEMBLER]
            processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        (process,) = processes
        process.stdin.write(b"sm_%d%d %d\n" % (*capability, len(code)) + code)
        process.stdin.flush()
        head = process.stdout.readline()
        assert head, "the assembler has failed"
        return process.stdout.read(int(head)).decode()

    def assemble(ptx, capability):
        code = ptx.encode()
        name = f"assembled {hashlib.sha256(code).hexdigest()} {capability} {versions()}"
        return cached(name, lambda: ask(code, capability))

    yield assemble
    for process in processes:
        process.stdin.close()
        process.stdout.close()
        assert process.wait() == 0


def check_registers(log):
    """No register of a kernel is kept in memory."""
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", log)
    assert spills
    assert not any(map(int, spills)), log


def check(ptx, engine, counts, wide):
    check_lean(ptx)
    ptx = instructions(ptx)
    assert ("shfl" in ptx) == engine.startswith("cuda_full")
    assert ("ld.global.v2.u64" in ptx) == wide
    assert ("popc.b" in ptx) == counts


def goes_together(engine, query) -> bool:
    try:
        engines.launch_of(engine, query)
    except UnsupportedError:
        return False
    return True


QUERIES = {str(name): query_of(cls, name) for cls, name in TYPES.items()}
NAMES = {str(name): name for name in TYPES.values()}
CASES = [
    (name, engine, capability)
    for name, query in QUERIES.items()
    for engine in GPU_ENGINES
    for capability in CAPABILITIES
    if goes_together(engine, query)
]


def wanted(case):
    """What the code of a case hangs on: every engine meets every family, k and GPU, and all layouts occur."""
    name, engine, capability = case
    parts = NAMES[name]
    return {name, (parts.family, engine), (parts.k, engine), (parts.family, capability), (engine, capability)}


@pytest.mark.parametrize(("name", "engine", "capability"), covered(CASES, wanted), ids=str)
def test_code_of_every_layout_and_engine(name, engine, capability, assemble):
    query = QUERIES[name]
    counts = units(query.layout) > 0
    ptx = compile_pair(query, engine, capability)
    check(ptx, engine, counts, counts and not engine.endswith("naive"))
    check_registers(assemble(ptx, capability))


def test_only_pairs_that_make_no_sense_are_refused():
    together = {case[:2] for case in CASES}
    for name, query in QUERIES.items():
        refused = [engine for engine in GPU_ENGINES if (name, engine) not in together]
        sizes = [int(x[len("cuda_full-") :]) if x.startswith("cuda_full-") else 2 for x in refused]
        assert all(units(query.layout) <= size // 2 for size in sizes), (name, refused)


@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
def test_code_of_seed_and_verify(capability, assemble):
    block = np.zeros(1, np.int64)
    blocks = make_blocks(block, block, block, np.array([9], np.int64))
    query = on_device(Verify(PREFIX, SeedTable(ROWS, 5), ROWS, WORDS, blocks))
    ptx = compile_pair(query, "cuda_task-naive16", capability)
    check(ptx, "cuda_task-naive16", counts=False, wide=False)
    check_registers(assemble(ptx, capability))
    check_refusals(query)


def check_refusals(query):
    """That only one thread for all of a read can search so."""
    for engine in ("cuda_task-naive", "cuda_memory", "cuda_full"):
        with pytest.raises(UnsupportedError, match="use cuda_task"):
            engines.launch_of(engine, query)


@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
def test_code_of_a_sparse_suffix_array(capability, assemble):
    from fmx.search.gpu.gpu_sparse import (
        SparseFound,
        many_rows_kernel,
        repeat_kernel,
        share_kernel,
        windows_kernel,
    )

    block = np.zeros(1, np.int64)
    blocks = make_blocks(block, block, block, np.array([9], np.int64))
    sparse = Sparse(SparseTable(WORDS, ROWS, 21, 16), WORDS, blocks, 9, 1)
    query = on_device(sparse)
    launch = engines.launch_of("cuda_task-naive16", sparse)
    found = ROWS, ROWS, NUMBERS, ROWS, ROWS, NUMBERS, ROWS, NUMBERS
    arguments = query, PATTERNS, SparseFound(query, PATTERNS, *found)
    for kernel in (launch.kernel, windows_kernel, many_rows_kernel, share_kernel, repeat_kernel):
        more = (1, 2, 8, 0) if kernel is windows_kernel else ()
        ptx = code_of(kernel, (*arguments, *more), capability)
        check_registers(assemble(ptx, capability))
        check_lean(ptx)
    check_refusals(sparse)
