"""Every kernel, compiled for two GPUs without one: what the code must and must not hold."""

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
from fmx.index.positions import FullSA
from fmx.index.reference import make_blocks
from fmx.index.sparse import SparseTable
from fmx.index.tables import PrefixTable, SeedTable
from fmx.input.reads import Patterns, ReadBatch, Trim
from fmx.limits import GPU_ENGINES
from fmx.output import put
from fmx.output.formats import bam, bed, paf, sam, tsv
from fmx.output.records import SingleReads
from fmx.search.hits import Hits, Intervals, Located, SARows
from fmx.search.pairs import ProperPairs, Rule
from fmx.search.queries.backward import Backward
from fmx.search.queries.sparse import Sparse
from fmx.search.queries.verify import Verify

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
from fmx.codecs import deflate_gpu, inflate, inflate_gpu
from fmx.input import reads_gpu
from fmx.machines import gpu_jobs
from fmx.output import hits_gpu as records_gpu
from fmx.search.gpu import engines, gpu_mapper, gpu_pairs, gpu_sparse

WORDS, NUMBERS, ROWS = np.zeros(2, np.uint64), np.zeros(2, np.int64), np.zeros(2, np.uint32)
PATTERNS, INTERVALS, PREFIX = Patterns(WORDS, NUMBERS, NUMBERS), Intervals(ROWS, ROWS), PrefixTable(ROWS, 8)
BLOCKS = make_blocks(*[np.zeros(1, np.int64)] * 3, np.array([9], np.int64))
SPARSE = Sparse(SparseTable(WORDS, ROWS, 21, 16), WORDS, BLOCKS, 9, 1)
OF_BOTH = gpu_sparse.SparseFound(
    on_device(SPARSE), PATTERNS, ROWS, ROWS, NUMBERS, ROWS, ROWS, NUMBERS, ROWS, NUMBERS
)
TYPES = {layouts.REGISTRY[name.family].types[name.k, name.d]: name for name in reversed(cases.all_layouts())}
CAPABILITIES = ((8, 0), (9, 0))


def query_of(cls, name):
    """Backward search over empty arrays of a layout's type."""
    arrays = {"entries": WORDS, "k": name.k}
    return Backward(PREFIX, cls(*(arrays.get(field, ROWS) for field in cls._fields)))


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


@pytest.fixture(scope="session")
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
CASES = [  # each layout and engine for one of the GPUs
    (name, engine, CAPABILITIES[(i + j) % 2])
    for i, (name, query) in enumerate(QUERIES.items())
    for j, engine in enumerate(GPU_ENGINES)
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
    query = on_device(Verify(PREFIX, SeedTable(ROWS, 5), ROWS, WORDS, BLOCKS))
    ptx = compile_pair(query, "cuda_task-naive16", capability)
    check(ptx, "cuda_task-naive16", counts=False, wide=False)
    check_registers(assemble(ptx, capability))


@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
def test_code_of_a_sparse_suffix_array(capability, assemble):
    arguments = OF_BOTH.query, PATTERNS, OF_BOTH
    for kernel, *more in (
        (engines.launch_of("cuda_task-naive16", SPARSE).kernel,),
        (gpu_sparse.windows_kernel, 1, 2, 8, 0),
        (gpu_sparse.many_rows_kernel,),
        (gpu_sparse.share_kernel,),
        (gpu_sparse.repeat_kernel,),
    ):
        ptx = code_of(kernel, (*arguments, *more), capability)
        check_registers(assemble(ptx, capability))
        check_lean(ptx)


def test_only_one_thread_for_all_of_a_read_searches_without_a_layout():
    for query in (on_device(Verify(PREFIX, SeedTable(ROWS, 5), ROWS, WORDS, BLOCKS)), SPARSE):
        for engine in ("cuda_task-naive", "cuda_memory", "cuda_full"):
            with pytest.raises(UnsupportedError, match="use cuda_task"):
                engines.launch_of(engine, query)


# Kernels that make records of reads and pairs.

BYTES, FLAGS = np.zeros(1, np.uint8), np.zeros(1, np.bool_)
BATCH = ReadBatch(BYTES, *[NUMBERS] * 5, FLAGS)
HITS = Hits(NUMBERS, NUMBERS, FLAGS, NUMBERS)
READS = SingleReads(BATCH, HITS, 0, 0, records_gpu.ALL)
CHOSEN, RULES = (
    gpu_mapper.SelectedHits(HITS, NUMBERS, NUMBERS),
    gpu_mapper.SelectionRules(1, 2, -1, False, True),
)
FOUND = SARows(FullSA(ROWS), FullSA(ROWS), ROWS, ROWS)
RAW, LOOSE = reads_gpu.Raw(BYTES, True, 1, NUMBERS, NUMBERS), records_gpu.Loose(NUMBERS, NUMBERS, BYTES)
READING = reads_gpu.Reading(Trim(1, 2, 3, 4), 3, True)
CONTIGS = put.make_names(["a"])
FORMS = {
    "SAM": sam.SamGaps(CONTIGS, BLOCKS, True, 15, BYTES, 3, NUMBERS),
    "BAM": bam.BamHits(CONTIGS, BLOCKS, True, 15, BYTES, 3),
    "TSV": tsv.TsvHits(CONTIGS, BLOCKS, False),
    "PAF": paf.PafHits(CONTIGS, BLOCKS, NUMBERS),
    "BED": bed.Bed(CONTIGS, BLOCKS),
}
PACKED = inflate_gpu.Packed(BYTES, ROWS, *[NUMBERS] * 5)
TOKENS = deflate_gpu.Tokens(ROWS, np.zeros(1, np.int32), ROWS, ROWS)
CODED = deflate_gpu.BlockCodes(ROWS, NUMBERS)
KERNELS = {
    "inflate": (inflate_gpu.inflate_kernel, (PACKED, inflate.make_codes(), BYTES, NUMBERS, 1)),
    "check": (inflate_gpu.check_kernel, (PACKED, ROWS, ROWS, NUMBERS, 1)),
    "tokens": (deflate_gpu.tokens_kernel, (BYTES, ROWS, 1, ROWS, TOKENS)),
    "codes": (deflate_gpu.codes_kernel, (TOKENS, 1, CODED)),
    "bits": (deflate_gpu.bits_kernel, (BYTES, 1, TOKENS, CODED, BYTES, ROWS, 1)),
    "newlines": (reads_gpu.count_ends_kernel, (BYTES, 1, True, NUMBERS)),
    "borders": (reads_gpu.count_kernel, (RAW,)),
    "starts": (reads_gpu.starts_kernel, (RAW,)),
    "reads": (reads_gpu.reads_kernel, (RAW, BATCH, READING, PATTERNS, NUMBERS)),
    "totals": (gpu_jobs.add_up_kernel, (NUMBERS, 1, 1, NUMBERS, NUMBERS, 1)),
    "count": (gpu_mapper.count_kernel, (BATCH, FOUND, RULES, CHOSEN, NUMBERS, NUMBERS)),
    "choose": (gpu_mapper.choose_kernel, (BATCH, FOUND, RULES, CHOSEN)),
    "count of both": (gpu_mapper.count_kernel, (BATCH, OF_BOTH, RULES, CHOSEN, NUMBERS, NUMBERS)),
    "choose of both": (gpu_mapper.choose_kernel, (BATCH, OF_BOTH, RULES, CHOSEN)),
    "tally": (gpu_mapper.tally_kernel, (FOUND, BLOCKS, CHOSEN, NUMBERS)),
    "measure": (records_gpu.measure_kernel, (READS, 3, True, NUMBERS)),
    "gather": (records_gpu.gather_kernel, (FORMS["TSV"], READS, LOOSE, BYTES)),
    "gather SAM": (records_gpu.gather_kernel, (FORMS["SAM"], READS, LOOSE, BYTES)),
}
KERNELS |= {name: (records_gpu.write_kernel, (form, READS, True, LOOSE)) for name, form in FORMS.items()}

BOTH, LOCATED = (BATCH, BATCH), Located(NUMBERS, NUMBERS, NUMBERS)
SIDES, RULE = (LOCATED, LOCATED), Rule(False, True, 1, 2)
PROPER = ProperPairs(*[NUMBERS] * 3, FLAGS, *[NUMBERS] * 5, 0, NUMBERS, NUMBERS)
TABLES = gpu_pairs.PairTables(NUMBERS, PROPER, HITS, NUMBERS, NUMBERS)
PAIRS = records_gpu.pairs_of(BATCH, TABLES)
KERNELS |= {
    "names": (gpu_pairs.names_kernel, (BOTH, NUMBERS)),
    "occur": (gpu_pairs.occur_kernel, (FOUND, NUMBERS, NUMBERS)),
    "locate": (gpu_pairs.locate_kernel, (FOUND, NUMBERS, NUMBERS, LOCATED)),
    "pair": (gpu_pairs.pair_kernel, (BOTH, SIDES, RULE, BLOCKS, RULES, TABLES)),
    "sum": (gpu_pairs.sum_kernel, (BATCH, 1, TABLES, NUMBERS)),
    "choose pairs": (gpu_pairs.choose_kernel, (BATCH, BOTH, SIDES, RULE, -1, FOUND, TABLES)),
    "measure pairs": (records_gpu.measure_kernel, (PAIRS, 3, True, NUMBERS)),
    "SAM of pairs": (records_gpu.write_kernel, (FORMS["SAM"], PAIRS, True, LOOSE)),
    "gather pairs": (records_gpu.gather_kernel, (FORMS["SAM"], PAIRS, LOOSE, BYTES)),
}
CODES = [(name, capability) for name in KERNELS for capability in [(9, 0), (8, 0)]]


@pytest.mark.parametrize(("name", "capability"), covered(CODES, set), ids=str)
def test_code_keeps_to_registers_and_calls_nothing(name, capability):
    code = code_of(*KERNELS[name], capability)
    if name == "choose pairs":  # the heads of its lists are in memory of its own
        code = code.replace(".local", "")
    check_lean(code)
