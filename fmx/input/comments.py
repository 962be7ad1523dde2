"""The comments of reads: SAM tags, separated by tabs, which ``fmx search -C`` copies to their records."""

import re
from typing import TYPE_CHECKING

import numpy as np

from ..compiler.functions import compiled, inlined
from ..errors import InputError, escaped
from .record import SPACE, TAB, comment_of, tag_end

if TYPE_CHECKING:
    from .chunks import Chunk
    from .reads import ReadBatch

_NUMBER = rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_TAG = (
    rb"[A-Za-z][A-Za-z0-9]:(A:[!-~]|i:[-+]?\d{1,10}|f:%s|Z:[ -~]*|H:([0-9A-Fa-f]{2})*|B:[cCsSiIf](,%s)*)"
    % (_NUMBER, _NUMBER)
)
_COLON, _TEXT = b":Z"


def check_comments(chunk: "Chunk", batch: "ReadBatch") -> None:
    """Raise InputError for the first record of a chunk whose comment does not consist of SAM tags."""
    r = _next_unusual(batch, 0)
    while r < batch.length.size:
        for tag in batch.data[slice(*comment_of(batch, r))].tobytes().split(b"\t"):
            if not re.fullmatch(_TAG, tag) or (tag[3:4] == b"i" and not -(2**31) <= int(tag[5:]) < 2**32):
                what = f"its comment does not consist of SAM tags: {escaped(tag)}; map without -C"
                raise InputError(chunk.path, f"record {chunk.number + r}", what)
        r = _next_unusual(batch, r + 1)


@inlined
def _is_letter(x):
    return 65 <= x <= 90 or 97 <= x <= 122


@compiled
def _next_unusual(batch, r):
    """Return the next read from r on whose comment is not tags with text (Z) only; n_reads without one."""
    while r < batch.length.size:
        i, end = comment_of(batch, r)
        while i < end:
            stop, tag = tag_end(batch.data, TAB, i, end), batch.data[i:end]
            if stop - i < 5 or stop + 1 == end or not (tag[2] == tag[4] == _COLON and tag[3] == _TEXT):
                return r  # a tab at the end is none between tags
            if not (_is_letter(tag[0]) and (_is_letter(tag[1]) or 48 <= tag[1] <= 57)):
                return r
            for j in range(5, stop - i):
                if not SPACE <= tag[j] <= 126:
                    return r
            i = stop + 1
        r += 1
    return r


def with_comments(batch: "ReadBatch") -> "ReadBatch":
    """Return a batch whose lengths of names include the comments, for the size of buffers."""
    lengths = np.empty_like(batch.name_length)
    _add_comments(batch, lengths)
    return batch._replace(name_length=lengths)


@compiled
def _add_comments(batch, lengths):
    for r in range(lengths.size):
        lengths[r] = comment_of(batch, r)[1] - batch.name_start[r]
