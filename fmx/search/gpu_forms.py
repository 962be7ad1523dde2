"""Which form of seed and verify a GPU gets: the fastest one that its memory has room for."""

from ..index.sampled_sa import FullSA
from ..index.wide_rows import BYTES, WideRows
from ..machines.gpu_jobs import Gpu
from . import gpu_search
from .forms import Form, reshape, seed_lengths
from .queries import Verify


def choose(queries, memory, a_flight=0) -> Form | None:
    """The fastest form in which queries, one of each part of the text, fit into ``memory`` bytes of a GPU.

    A quarter of them, or as many as a flight needs, are left to flights.  None where that is not seed and
    verify; the smallest form where none fits.
    """
    if not all(isinstance(query, Verify) for query in queries):
        return None
    n, own = max(query.sa.size for query in queries), max(query.seeds.s for query in queries)
    most = memory - max(memory // 4, a_flight)
    forms = [Form(wide, s) for wide in (True, False) for s in seed_lengths(n, own)]
    return next((form for form in forms if peak_bytes(queries, form) <= most), forms[-1])


def n_bytes(query, sa, form) -> int:
    """Bytes of a query on the GPU in a form, and of the suffix array to locate with."""
    if form is None:
        return gpu_search.n_bytes((query, sa))
    tables = gpu_search.n_bytes((query.prefix, query.blocks)) + 4 * (4**form.s + 1)
    return tables + (BYTES * query.sa.size if form.wide else query.sa.nbytes + query.words.nbytes)


def peak_bytes(queries, form) -> int:
    """Bytes that it takes to make all queries in a form, one after the other."""
    own = max(gpu_search.n_bytes((query.sa, query.words, query.seeds)) for query in queries)
    return sum(n_bytes(query, query.sa, form) for query in queries) + own


def bring(query, form):
    """A query on the GPU, in a form (None: as it is)."""
    there = gpu_search.upload(query)
    return there if form is None else reshape(there, form, Gpu)


def suffix_array(query):
    """The suffix array that a query on the GPU holds, or None."""
    held = getattr(query, "sa", None)
    return held if held is None or isinstance(held, WideRows) else FullSA(held)
