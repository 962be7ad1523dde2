"""References beyond 32 bits: the text is cut into parts along contigs, and each part is indexed by itself.

Rows and positions of a part are uint32.  Blocks of the whole reference, hits and writers speak of positions
in the whole text (int64): a part's position and where the part starts.

    text     | contigs 0 to 6         | contigs 7 and 8      |     one table of contigs, one of blocks
    parts    | 0 1 2 ...     part 0   | 0 1 2 ...   part 1   |     each a suffix array, tables, layouts
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..errors import UnsupportedError
from ..machines.jobs import ONE_CORE
from .contracts import MAX_ROWS
from .reference import make_blocks

MAX_SYMBOLS = MAX_ROWS  # of a part


def cut(reference, part_size: int = MAX_SYMBOLS) -> list:
    """(start, stop) of each part of the text: whole contigs, as many as make at most ``part_size`` symbols.

    Raises UnsupportedError for a contig that is larger by itself.
    """
    blocks = reference.blocks
    ends = blocks.text_start + blocks.length + 1
    is_last = np.append(blocks.contig[1:] != blocks.contig[:-1], True)
    contig_ends = ends[is_last]
    borders = [0]
    while borders[-1] < reference.n_text:
        i = int(np.searchsorted(contig_ends, borders[-1] + part_size, "right")) - 1
        if i < 0 or contig_ends[i] <= borders[-1]:
            name, size = reference.names[blocks.contig[is_last][i + 1]], contig_ends[i + 1] - borders[-1]
            raise UnsupportedError(
                f"contig {name} takes {size} symbols, but a contig may take at most {part_size}: "
                "cut it in two in the FASTA, best at a run of N"
            )
        borders.append(int(contig_ends[i]))
    return list(pairwise(borders))


def part_of(reference, start: int, stop: int):
    """The Reference with the blocks of one part alone, by their positions in it, and all contigs."""
    blocks = reference.blocks
    first, last = np.searchsorted(blocks.text_start, (start, stop))
    own = make_blocks(
        blocks.text_start[first:last] - start,
        blocks.contig[first:last],
        blocks.contig_start[first:last],
        blocks.length[first:last],
    )
    return replace(reference, blocks=own, n_text=stop - start)


def part_sizes(meta: dict) -> list:
    """Symbols of each part of an index."""
    return meta.get("parts", [meta["n_text"]])


def part_span(meta: dict, number: int) -> tuple:
    """(start, stop) of a part in the text of an index."""
    sizes = part_sizes(meta)
    return sum(sizes[:number]), sum(sizes[: number + 1])


def own_name(array_name: str) -> str:
    """Name of an array within its part: those of several parts lie in folders part0, part1 ..."""
    return array_name.rpartition("/")[2]


def part_arrays(meta: dict, number: int) -> dict:
    """{own name: name} of the arrays of a part of an index, and of those of the whole reference."""
    folders = ("", f"part{number}")
    return {own_name(name): name for name in meta["arrays"] if name.rpartition("/")[0] in folders}


class PartWriter:
    """Adds the arrays of one part to an index_writer.IndexWriter."""

    def __init__(self, writer, number: int):
        self.writer, self.number = writer, number

    def add(self, name: str, array, backend=ONE_CORE) -> None:
        """Write one array of the part, by its own name."""
        self.writer.add(f"part{self.number}/{name}", array, backend)


def part_writers(writer, n_parts: int, progress):
    """Yield what writes each part in turn: the writer itself if there is only one."""
    if n_parts == 1:
        yield writer
        return
    for number in range(n_parts):
        progress.say(f"part {number + 1} of {n_parts}")
        yield PartWriter(writer, number)
