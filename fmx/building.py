"""Building an index: FASTA -> Reference, text -> tables, SA -> layouts -> ref.fmx/.

The tables need only the text, so a second thread makes them while the suffix array is sorted.
"""

from pathlib import Path

import numpy as np

from . import __version__, layouts
from .dna import pack_text, unpack_text
from .errors import UnsupportedError
from .index import reference_arrays
from .index_store import IndexExtender, IndexWriter, read_array
from .index_store import verify as check
from .parallel import start
from .parts import MAX_SYMBOLS, cut, part_arrays, part_of, part_sizes, part_span, part_writers
from .plan import plan_index
from .prefix_table import build_prefix_table, default_length
from .progress import Progress
from .reference import read_fasta
from .sampled_sa import sample
from .seed_table import build_seed_table
from .seed_table import default_length as default_seed_length
from .suffix_array import suffix_array

MAX_TABLE = 4  # bytes a symbol of a seed table that is made during the sort, which itself takes 5


def build_index(fasta, path, layout_names=(layouts.DEFAULT,), sa_rate=1, prefix_length=None, n_threads=1,
                progress=None, max_memory=None, part_size=MAX_SYMBOLS):  # fmt: skip
    """Index a FASTA file into the directory ``path``.

    ``sa_rate`` keeps every s-th position of the suffix array.  The layout "auto" stands for what
    plan.plan_index chooses for ``max_memory``, together with its sa_rate.  A text of more than ``part_size``
    symbols is indexed in parts (parts.py).  Peak memory: docs/architecture.md.
    """
    progress = progress or Progress(quiet=True)
    chosen_by_size = list(layout_names) == ["auto"]
    for name in layout_names if not chosen_by_size else ():
        layouts.parse_name(name)
    with IndexWriter(path, n_threads) as writer:
        with progress.stage("read reference"):
            reference, text = read_fasta(fasta)
            spans = cut(reference, part_size)
            sizes = [stop - start for start, stop in spans]
            if chosen_by_size:
                chosen = plan_index(sizes, max_memory)
                layout_names, sa_rate = [chosen.layout], chosen.sa_rate
                progress.say(f"{chosen.layout}, every {sa_rate}. row of the suffix array: {chosen.reason}")
            names = list(dict.fromkeys(layouts.parse_name(name, max(sizes)) for name in layout_names))
            for key, array in reference_arrays(reference).items():
                writer.add(key, array)
        prefix_length = prefix_length or default_length(max(sizes))
        seed_length = default_seed_length(max(sizes)) if sa_rate == 1 else 0
        for part, span in zip(part_writers(writer, len(spans), progress), spans, strict=True):
            own, own_text = part_of(reference, *span), text[slice(*span)]
            at_once = 4 * 4**seed_length <= MAX_TABLE * own.n_text
            sorted_rows = start(n_threads if at_once else 1, suffix_array, own_text)
            with progress.stage("tables"):
                _add_tables(part, own_text, prefix_length, seed_length, n_threads)
            with progress.stage("suffix array"):
                sa = sorted_rows()
            for name in names:
                with progress.stage(f"layout {name}"):
                    _add_layout(part, name, own_text, sa, n_threads)
            with progress.stage("write suffix array"):
                _add_sa(part, sa, own.blocks.text_start, sa_rate, names)
            del sa, sorted_rows  # before the next part's
        writer.commit(
            {
                "fmx_version": __version__,
                "n_text": reference.n_text,
                **({"parts": sizes} if len(sizes) > 1 else {}),
                "n_contigs": len(reference.names),
                "n_bases": int(reference.lengths.sum()),
                "n_blocks": reference.blocks.length.size,
                "layouts": [str(name) for name in names],
                "sa_rate": sa_rate,
                "prefix_length": prefix_length,
                "seed_length": seed_length,
            }
        )


def add_layouts(path, layout_names, n_threads=1, progress=None) -> list:
    """Add layouts to an index, whole or not at all; returns the names of those that it did not hold.

    Raises IndexFileError, UnsupportedError (a sampled suffix array).
    """
    progress = progress or Progress(quiet=True)
    for name in layout_names:
        layouts.parse_name(name)
    with IndexExtender(path, n_threads) as writer:
        held, sizes = writer.meta["layouts"], part_sizes(writer.meta)
        if writer.meta["sa_rate"] != 1:
            raise UnsupportedError(
                f"{path} keeps every {writer.meta['sa_rate']}th position of its suffix array; a layout is "
                f"built from all: build the index again with --layout {','.join([*held, *layout_names])}"
            )
        asked = dict.fromkeys(layouts.parse_name(name, max(sizes)) for name in layout_names)
        names = [name for name in asked if str(name) not in held]
        for number, part in enumerate(part_writers(writer, len(sizes), progress)):
            with progress.stage("read index"):
                text, sa = _read_text_and_sa(path, writer.meta, number, n_threads)
            for name in names:
                with progress.stage(f"layout {name}"):
                    _add_layout(part, name, text, sa, n_threads)
        writer.commit({"layouts": [*held, *map(str, names)]})
    return [str(name) for name in names]


def _read_text_and_sa(path, meta, number, n_threads):
    """(codes of the text, suffix array) of a part, checked."""
    columns = ["block_text_start", "block_length"]
    source = part_arrays(meta, number)
    check(path, meta, [*columns, source["text_words"], source["sa_positions"]], n_threads)
    start, length = (read_array(path, meta, name) for name in columns)
    words, sa = (read_array(path, meta, source[name]) for name in ("text_words", "sa_positions"))
    first, last = part_span(meta, number)
    ends = start + length
    ends = ends[(first <= ends) & (ends < last)] - first
    return unpack_text(words, ends, last - first, n_threads), sa


def _add_tables(writer, text, prefix_length, seed_length, n_threads):
    writer.add("prefix_pairs", build_prefix_table(text, prefix_length).pairs)
    if seed_length:
        writer.add("seed_starts", build_seed_table(text, seed_length).starts)
    writer.add("text_words", pack_text(text, n_threads))


def _add_sa(writer, sa, block_starts, sa_rate, names):
    if sa_rate == 1:
        writer.add("sa_positions", sa)
        return
    k, ahead = max(name.k for name in names), max(name.k_ahead for name in names)
    sampled = sample(sa, block_starts, sa_rate, k, ahead)
    writer.add("sa_marks", sampled.marks)
    writer.add("sa_positions", sampled.positions)


def _add_layout(writer, name, text, sa, n_threads):
    layout = layouts.REGISTRY[name.family].build(text, sa, name.k, name.d, n_threads)
    for key, array in layout._asdict().items():
        if isinstance(array, np.ndarray):
            writer.add(f"{name}.{key}", array)


def default_index_path(reference) -> str:
    """Where the index of a reference goes: beside it, its name with .fmx in place of .fa.gz and the like."""
    path = Path(reference)
    if path.suffix in (".gz", ".bgz", ".bgzf"):
        path = path.with_suffix("")
    return str(path.with_suffix(".fmx"))
