"""fmx bench sparse: building and searching a sparse suffix array on a GPU, compared with seed and verify.

The text is made on the GPU, and reads are drawn from it, every second one from the other strand. Both methods
search both strands of all reads and must agree on the number of occurrences on each.
"""

from collections import namedtuple
from functools import partial
from typing import Any

import click
import numpy as np

from .. import options
from ..compiler.primitives import at
from ..index.contracts import on_device
from ..index.layouts import SparseName, bucket_bits, parse_sparse
from ..index.sparse.building_gpu import build_sparse
from ..machines import gpu
from ..machines.gpu_jobs import Gpu
from ..machines.gpu_session import GpuSession
from ..machines.jobs import choose
from ..measure import gpu_timing, tables
from ..measure.texts import both_strands, make_codes
from ..search import engines
from ..search.gpu.gpu_search import upload
from ..search.gpu.gpu_sparse import SparseFound
from ..search.gpu.gpu_sparse_kernels import N_COUNTED
from ..search.hits import Intervals
from ..search.queries.sparse import Sparse
from .gpu_index import TEXTS, clocked
from .options import counts, length, only, output, queries, runs
from .patterns import DrawnPatterns

Differing = namedtuple("Differing", "ours theirs")


@choose.register(Differing)
def _choose_differing(choice, i):
    """Choose the patterns whose numbers of occurrences differ in ``ours`` and ``theirs`` (as Intervals)."""
    ours = np.int64(at(choice.ours.hi, i)) - np.int64(at(choice.ours.lo, i))
    theirs = np.int64(at(choice.theirs.hi, i)) - np.int64(at(choice.theirs.lo, i))
    return np.int64(-1) if ours == theirs else np.int64(i)


def measure(backend: Gpu, drawn: DrawnPatterns, name: SparseName, kind: str, n_runs: int) -> list:
    """Return a row per method: seconds to build, G reads/s of both strands, GB, and differing counts."""
    n_reads, rows = drawn.positions.size, []
    patterns = both_strands(backend, drawn.patterns)
    build = partial(build_sparse, backend, drawn.words, drawn.blocks(), drawn.n, name)
    build()  # compiles
    table, spent = clocked(build, n_runs)
    n_bits = bucket_bits(drawn.n, name.w)
    host = Sparse(table, drawn.words, drawn.blocks(), drawn.n, n_bits)
    query, launch = upload(on_device(host)), engines.prepare("cuda_task-naive16", host)
    lo, hi = (backend.zeros(2 * n_reads, np.uint32) for _ in range(2))
    first, report, counted = (backend.zeros(size, np.int64) for size in (n_reads, 1, N_COUNTED))
    stop, how, queue = (backend.zeros(size, np.uint32) for size in (n_reads, n_reads, 2 * n_reads))
    found = SparseFound(query, patterns, lo, hi, first, stop, how, report, queue, counted)
    seconds = gpu_timing.seconds(lambda: launch(query, patterns, found), n_runs)
    row = {"text": kind, "symbols": drawn.n, "method": str(name), "build s": spent}
    n_bytes = 8 * table.rows.size + 4 * table.starts.size + 8 * drawn.words.size
    rows.append(row | {"GB": n_bytes / 1e9, "G reads/s": n_reads / seconds / 1e9})
    verify = drawn.query("verify")
    plain = engines.prepare("cuda_task-naive16", verify)
    intervals = Intervals(*(backend.zeros(2 * n_reads, np.uint32) for _ in Intervals._fields))
    seconds = gpu_timing.seconds(lambda: plain(verify, patterns, intervals), n_runs)
    n_differing = int(backend.count(Differing(found, intervals), 2 * n_reads)[-1])
    n_bytes = sum(8 * array.size for array in (verify.sa.rows, verify.sectors)) + 4 * verify.seeds.starts.size
    rows.append(
        row | {"method": f"seed and verify, {verify.seeds.s} symbols", "build s": None}
        | {"GB": n_bytes / 1e9, "G reads/s": n_reads / seconds / 1e9}
    )  # fmt: skip
    return [tables.tell(row | {"differing": n_differing}) for row in rows]


@click.command(cls=options.Command)
@output("sparse")
@options.device
@counts("--symbols", default=("100M", "1G", "3G"), help="Length of the text, in bases. May be repeated.")
@only("--text", "kinds", TEXTS, "text")
@click.option(
    "--layout",
    "name",
    default="sparse",
    show_default=True,
    metavar="NAME",
    help="Name of the sparse suffix array.",
)
@queries
@length
@runs
def sparse_command(**given: Any) -> None:
    """Time a sparse suffix array on a GPU.

    Builds it from a packed text, searches for both strands of reads, and compares the search with seed and
    verify.
    """
    gpu_timing.open_gpu(given["device"])
    name, rows = parse_sparse(given["name"]), []
    if name is None:
        raise click.BadParameter(f"{given['name']} is not a sparse suffix array", param_hint="--layout")
    if given["length"] < name.shortest:
        raise click.BadParameter(f"{name} needs {name.shortest} or more", param_hint="--length")
    with gpu.errors():
        backend = Gpu(GpuSession(given["device"]))
        for n in given["symbols"]:
            for kind in given["kinds"] or TEXTS:
                codes = make_codes(backend, TEXTS[kind], n)
                drawn = DrawnPatterns(backend, codes, given["queries"], given["length"])
                rows += measure(backend, drawn, name, kind, given["n_runs"])
                del codes, drawn
    tables.keep(given["output"], "sparse", backend.name, rows)
    if any(row["differing"] for row in rows):
        raise click.ClickException("the two methods differ")
