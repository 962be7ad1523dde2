"""All bytes of an input in memory: a plain file, and blocks of BGZF, by all threads; the rest in order."""

import numpy as np

from ..codecs.gzip_streams import after
from ..machines.threads import run_all
from .chunks import CHUNK_SIZE
from .spans import blocks_of, is_whole_bgzf, ranges_of


def read_whole(source, n_threads=1, tell=lambda: None):
    """uint8: all that a Source just opened gives; ``tell`` is called as it is read in order.

    Raises InputError.
    """
    file, stop, n, pieces = source.regular(), 0, 0, []
    if file is not None:
        for reader, more, end in (blocks_of if source.is_gzip else ranges_of)(file, CHUNK_SIZE, 0):
            pieces.append((reader, n, n + more))
            n, stop = n + more, end
    data = np.empty(n or source.size_hint() + 1, np.uint8)
    run_all(lambda reader, first, last: reader.readinto(data[first:last]), pieces, n_threads)
    if file is not None and (is_whole_bgzf(file, stop) if source.is_gzip else n > 0):
        return data
    return _read_on(after(file, stop) if stop else source, data, n, tell)


def _read_on(rest, data, n, tell):
    """``data`` with n bytes, and all that ``rest`` gives."""
    while True:
        if n == data.size:
            larger = np.empty(n + n // 2 + CHUNK_SIZE, np.uint8)
            larger[:n] = data
            data = larger
        more = rest.readinto(data[n : n + CHUNK_SIZE])
        tell()
        if more == 0:
            return data[:n]
        n += more
