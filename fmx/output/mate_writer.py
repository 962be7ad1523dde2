"""The writer of pairs, whose records mates.py formats on the CPU and mates_gpu.py on a GPU."""

from typing import TYPE_CHECKING

import numpy as np

from .hits import HitWriter, named_by_letters
from .mates import ALL, Pairs, Side, room, widest, write
from .records import FIRST, SECOND

if TYPE_CHECKING:
    from ..input.mates import Mates
    from ..input.pair_spans import PairSpan
    from ..search.pairs import PairHits
    from .mates_gpu import GpuMateWriter


class MateWriter:
    """Formats pairs with a HitWriter; one instance serves all threads.

    ``changes``: the most of a mate.
    """

    def __init__(self, writer: HitWriter, changes: int = 0) -> None:
        self._writer, self._widest = writer, widest(writer.form, changes)
        self.on_gpu, self.comments = writer.on_gpu, writer.comments
        self.is_sam, self.written, self.end = writer.is_sam, writer.written, writer.end
        self.split, self.reads_files, self.owns = writer.split, writer.reads_files, writer.owns
        self.refusals = writer.refusals

    def of(self, span: "PairSpan") -> "MateWriter":
        """Return the writer for the reads of a span: this one."""
        return self

    def format(
        self, mates: "Mates", hits: "PairHits", start: int, first: int, last: int
    ) -> bytes | np.ndarray:
        """Return the format pairs from ``start`` on by their PairHits (search/pairs.py).

        Of a single pair without proper pairs, only its records ``first`` to ``last``.
        """
        if not self.is_sam:
            mates = mates._replace(one=named_by_letters(mates.one), two=named_by_letters(mates.two))
        sides = Side(mates.one, hits.one, FIRST, start), Side(mates.two, hits.two, SECOND, start)
        window = (first, last) if hits.proper.total.size == 1 else (0, ALL)
        pairs = sized = Pairs(*sides, hits.proper, *window)
        if self.comments:
            from ..input.comments import with_comments  # only for -C

            one, two = (side._replace(reads=with_comments(side.reads)) for side in sides)
            sized = pairs._replace(one=one, two=two)
        out = self._writer.take(room(sized, self._widest))
        return self._writer.encoded(out[: write(self._writer.form, pairs, out)])

    def made_on_gpu(self) -> "GpuMateWriter":
        """Return a GpuMateWriter, which makes the records on the GPU of this thread."""
        from .mates_gpu import GpuMateWriter

        return GpuMateWriter(self._writer, self._widest)
