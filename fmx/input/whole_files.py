"""All bytes of an input in memory: uncompressed files and BGZF by all threads, others in order."""

from collections.abc import Callable

import numpy as np

from ..codecs import after
from ..machines.jobs import run_all
from . import Reader
from .chunks import CHUNK_SIZE
from .spans import blocks_of, ranges_of
from .streams import Source


def read_whole(
    source: Source, n_threads: int = 1, tell: Callable[[], object] = lambda: None, size: int = CHUNK_SIZE
) -> np.ndarray:
    """Return all bytes of a new Source, uint8, read in pieces of ``size`` bytes.

    ``tell`` is called repeatedly while the source is read in order.  Raises InputError.
    """
    file, stop, n, pieces = source.regular(), 0, 0, []
    if file is not None:
        for reader, more, end in (blocks_of if source.is_gzip else ranges_of)(file, size, 0):
            pieces.append((reader, n, n + more))
            n, stop = n + more, end
    data = np.empty(n or source.size_hint() + 1, np.uint8)
    run_all(lambda reader, first, last: reader.readinto(data[first:last]), pieces, n_threads)
    if file is not None and stop == file.size:
        return data
    data = _read_on(after(file, stop) if file is not None and stop else source, data, n, tell, size)
    if file is None:
        source.check_end(data[:1].tobytes())
    return data


def _read_on(rest: Reader, data: np.ndarray, n: int, tell: Callable[[], object], size: int) -> np.ndarray:
    """``data`` with n bytes, followed by all bytes of ``rest``."""
    while True:
        if n == data.size:
            larger = np.empty(n + n // 2 + size, np.uint8)
            larger[:n] = data
            data = larger
        more = rest.readinto(data[n : n + size])
        tell()
        if more == 0:
            return data[:n]
        n += more
