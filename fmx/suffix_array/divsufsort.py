"""Suffix array on the CPU by divsufsort (pydivsufsort): 5 bytes a symbol below 2^31 symbols, 9 above."""

import numpy as np
import pydivsufsort

INT32_LIMIT = 2**31 - 1


def suffix_array(text, force64: bool = False):
    """Rows of the suffix array of ``text`` (uint8[n] codes) as uint32[n].

    The end of the text sorts before every symbol.  From 2^31 symbols on (or with ``force64``) divsufsort's
    64-bit form is used and narrowed.
    """
    rows = pydivsufsort.divsufsort(text, force64=force64)
    return rows.view(np.uint32) if rows.dtype == np.int32 else rows.astype(np.uint32)
