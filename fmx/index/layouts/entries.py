"""Layouts of entries, runs of rows with counters and bits: their arrays, how they are made, their kind."""

import numpy as np

from ...machines.jobs import ONE_CORE
from ..building.bwt import fill_layout, kmer_bwt
from ..family import Family
from ..form import Form
from .missing import build_missing, form_of_missing


def family_of_entries(types, n_words, bytes_per_symbol, runs_together=1, **speed) -> Family:
    """The Family of layouts whose ``entries`` take ``n_words(k, d, n)`` uint64, and which register ``fill``.

    ``types`` by (k, d); one with a field ``missing`` shows rows without k-symbol as the k-symbol 0
    (missing.py).  ``runs_together``: runs of d rows that share words.  ``speed`` is for fmx tune.
    """

    def forms(k, d, n):
        found = {"entries": Form("uint64", (n_words(k, d, n),)), "missing": form_of_missing(n)}
        return {field: found[field] for field in types[k, d]._fields if field in found}

    def build(text, sa, k, d, backend=ONE_CORE):
        codes = kmer_bwt(text, sa, k, backend)
        arrays = {"entries": backend.zeros(n_words(k, d, codes.size), np.uint64)}
        if "missing" in types[k, d]._fields:
            arrays["missing"] = build_missing(codes, backend)
        layout = types[k, d](**arrays, k=k)
        fill_layout(backend, layout, text, sa, codes, d, runs_together)
        return layout

    return Family(build, forms, bytes_per_symbol, types, **speed)
