"""Suffix array on the CPU by divsufsort (pydivsufsort): 5 bytes a symbol below 2^31 symbols, 9 above."""

import os

import numpy as np
import pydivsufsort
from pydivsufsort.dll import libdivsufsort

from ....machines.threads import start

INT32_LIMIT = 2**31 - 1


def suffix_array(text, force64: bool = False, n_threads: int | None = None):
    """Rows of the suffix array of ``text`` (uint8[n] codes) as uint32[n].

    The end of the text sorts before every symbol.  From 2^31 symbols on (or with ``force64``) divsufsort's
    64-bit form is used and narrowed.  ``n_threads`` None: OpenMP chooses.  No more than there are cores are
    taken: where OpenMP cannot start one it ends the process.
    """
    # OpenMP keeps its threads for the thread that asked for them, and a forked process waits for ever for
    # those of its parent: so a thread of its own asks, which ends with the sort.
    rows = start(2, _sort, text, force64, n_threads)()
    return rows.view(np.uint32) if rows.dtype == np.int32 else rows.astype(np.uint32)


def _sort(text, force64, n_threads):
    set_threads = getattr(libdivsufsort, "omp_set_num_threads", None)  # of the thread that calls it
    if n_threads and set_threads:
        set_threads(min(n_threads, os.cpu_count() or 1))
    try:
        return pydivsufsort.divsufsort(text, force64=force64)
    except Exception as error:
        if error.args == ("libdivsufsort error", -2):
            raise MemoryError("no room to sort the suffixes") from error
        raise
