"""Kernels that make records of reads and pairs, compiled without a GPU: what the code must not hold."""

import numpy as np
import pytest
from cover import covered
from ptx import check_lean, code_of

from fmx.index.contracts import on_device
from fmx.index.positions import FullSA
from fmx.index.reference import make_blocks
from fmx.index.sparse import SparseTable
from fmx.input.reads import Patterns, ReadBatch, Trim
from fmx.output import put
from fmx.output.formats import bam, bed, paf, sam, tsv
from fmx.output.records import SingleReads
from fmx.search.hits import Hits, Located, SARows
from fmx.search.pairs import ProperPairs, Rule

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
from fmx.codecs import deflate_gpu, inflate_gpu
from fmx.input import reads_gpu
from fmx.machines import gpu_jobs
from fmx.output import hits_gpu as records_gpu
from fmx.search.gpu import gpu_mapper, gpu_pairs, gpu_sparse
from fmx.search.queries.sparse import Sparse

BYTES, FLAGS, ROWS, NUMBERS = (np.zeros(1, kind) for kind in (np.uint8, np.bool_, np.uint32, np.int64))
BATCH = ReadBatch(BYTES, *[NUMBERS] * 5, FLAGS)
PATTERNS = Patterns(np.zeros(1, np.uint64), NUMBERS, NUMBERS)
HITS = Hits(NUMBERS, NUMBERS, FLAGS, NUMBERS)
READS = SingleReads(BATCH, HITS, 0, 0, records_gpu.ALL)
CHOSEN, RULES = (
    gpu_mapper.SelectedHits(HITS, NUMBERS, NUMBERS),
    gpu_mapper.SelectionRules(1, 2, -1, False, True),
)
FOUND = SARows(FullSA(ROWS), FullSA(ROWS), ROWS, ROWS)
WORDS = np.zeros(1, np.uint64)
SPARSE = on_device(
    Sparse(SparseTable(WORDS, ROWS, 21, 16), WORDS, make_blocks(*[NUMBERS] * 3, np.array([9])), 9, 1)
)
OF_BOTH = gpu_sparse.SparseFound(SPARSE, PATTERNS, ROWS, ROWS, NUMBERS, ROWS, ROWS, NUMBERS, ROWS, NUMBERS)
RAW, LOOSE = reads_gpu.Raw(BYTES, True, 1, NUMBERS, NUMBERS), records_gpu.Loose(NUMBERS, NUMBERS, BYTES)
READING = reads_gpu.Reading(Trim(1, 2, 3, 4), 3, True)
NAMES, BLOCKS = put.make_names(["a"]), make_blocks(*[np.zeros(1, np.int64)] * 3, np.array([9]))
FORMS = {
    "SAM": sam.SamGaps(NAMES, BLOCKS, True, 15, BYTES, 3, NUMBERS),
    "BAM": bam.BamHits(NAMES, BLOCKS, True, 15, BYTES, 3),
    "TSV": tsv.TsvHits(NAMES, BLOCKS, False),
    "PAF": paf.PafHits(NAMES, BLOCKS, NUMBERS),
    "BED": bed.Bed(NAMES, BLOCKS),
    "columns": tsv.BinaryHits(NAMES, BLOCKS),
}
PACKED = inflate_gpu.Packed(BYTES, ROWS, *[NUMBERS] * 5)
TOKENS = deflate_gpu.Tokens(ROWS, np.zeros(1, np.int32), ROWS, ROWS)
CODED = deflate_gpu.BlockCodes(ROWS, NUMBERS)
KERNELS = {
    "inflate": (inflate_gpu.inflate_kernel, (PACKED, inflate_gpu.entries(), BYTES, NUMBERS, 1)),
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
for name, form in FORMS.items():
    KERNELS[name] = records_gpu.write_kernel, (form, READS, True, LOOSE)

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
