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
from .plan import plan_index
from .prefix_table import build_prefix_table, default_length
from .progress import Progress
from .reference import read_fasta
from .sampled_sa import sample
from .seed_table import build_seed_table
from .seed_table import default_length as default_seed_length
from .suffix_array import build_lcp, build_rank, suffix_array

MAX_TABLE = 4  # bytes a symbol of a seed table that is made during the sort, which itself takes 5


def build_index(fasta, path, layout_names=(layouts.DEFAULT,), sa_rate=1, prefix_length=None, n_threads=1,
                progress=None, max_memory=None, with_lcp=False):  # fmt: skip
    """Index a FASTA file into the directory ``path``.

    ``sa_rate`` keeps every s-th position of the suffix array.  The layout "auto" stands for what
    plan.plan_index chooses for ``max_memory``, together with its sa_rate.  ``with_lcp`` also builds the LCP
    and rank arrays.  Peak memory: docs/architecture.md.  Raises InputError, OutputError, UnsupportedError.
    """
    progress = progress or Progress(quiet=True)
    chosen_by_size = list(layout_names) == ["auto"]
    for name in layout_names if not chosen_by_size else ():
        layouts.parse_name(name)
    with IndexWriter(path, n_threads) as writer:
        with progress.stage("read reference"):
            reference, text = read_fasta(fasta)
            if chosen_by_size:
                chosen = plan_index(reference.n_text, max_memory)
                layout_names, sa_rate = [chosen.layout], chosen.sa_rate
                progress.say(f"{chosen.layout}, every {sa_rate}. row of the suffix array: {chosen.reason}")
            if with_lcp and sa_rate != 1:
                raise UnsupportedError(
                    "--with-lcp needs every position of the suffix array: leave out --sa-rate, or allow more "
                    "with --max-memory"
                )
            names = list(dict.fromkeys(layouts.parse_name(name, reference.n_text) for name in layout_names))
            for key, array in reference_arrays(reference).items():
                writer.add(key, array)
        prefix_length = prefix_length or default_length(reference.n_text)
        seed_length = default_seed_length(reference.n_text) if sa_rate == 1 else 0
        at_once = 4 * 4**seed_length <= MAX_TABLE * reference.n_text
        sorted_rows = start(n_threads if at_once else 1, suffix_array, text)
        with progress.stage("tables"):
            _add_tables(writer, text, prefix_length, seed_length, n_threads)
        with progress.stage("suffix array"):
            sa = sorted_rows()
        for name in names:
            with progress.stage(f"layout {name}"):
                _add_layout(writer, name, text, sa, n_threads)
        if with_lcp:
            with progress.stage("LCP and rank arrays"):
                _add_lcp(writer, text, sa, n_threads)
        del text
        with progress.stage("write suffix array"):
            _add_sa(writer, sa, reference.blocks.text_start, sa_rate, names)
        writer.commit(
            {
                "fmx_version": __version__,
                "n_text": reference.n_text,
                "n_contigs": len(reference.names),
                "n_bases": int(reference.lengths.sum()),
                "n_blocks": reference.blocks.length.size,
                "layouts": [str(name) for name in names],
                "sa_rate": sa_rate,
                "prefix_length": prefix_length,
                "seed_length": seed_length,
            }
        )


def add_layouts(path, layout_names, n_threads=1, progress=None, with_lcp=False) -> list:
    """Add layouts to an index, whole or not at all; returns the names of those that it did not hold.

    ``with_lcp`` adds the LCP and rank arrays too (named "lcp").

    Raises IndexFileError, UnsupportedError (a sampled suffix array).
    """
    progress = progress or Progress(quiet=True)
    for name in layout_names:
        layouts.parse_name(name)
    with IndexExtender(path, n_threads) as writer:
        held, n_text = writer.meta["layouts"], writer.meta["n_text"]
        if writer.meta["sa_rate"] != 1:
            raise UnsupportedError(
                f"{path} keeps every {writer.meta['sa_rate']}th position of its suffix array; additions are "
                f"built from all: build the index again with --layout {','.join([*held, *layout_names])}"
            )
        asked = dict.fromkeys(layouts.parse_name(name, n_text) for name in layout_names)
        names = [name for name in asked if str(name) not in held]
        adds_lcp = with_lcp and "lcp.small" not in writer.meta["arrays"]
        with progress.stage("read index"):
            source = ["text_words", "sa_positions", "block_text_start", "block_length"]
            check(path, writer.meta, source, n_threads)
            words, sa, start, length = (read_array(path, writer.meta, name) for name in source)
            text = unpack_text(words, start + length, n_text, n_threads)
        for name in names:
            with progress.stage(f"layout {name}"):
                _add_layout(writer, name, text, sa, n_threads)
        if adds_lcp:
            with progress.stage("LCP and rank arrays"):
                _add_lcp(writer, text, sa, n_threads)
        writer.commit({"layouts": [*held, *map(str, names)]})
    return [*map(str, names), *(["lcp"] if adds_lcp else [])]


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


def _add_lcp(writer, text, sa, n_threads):
    writer.add("lcp.rank", build_rank(sa, n_threads))
    for key, array in build_lcp(text, sa, n_threads)._asdict().items():
        writer.add(f"lcp.{key}", array)


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
