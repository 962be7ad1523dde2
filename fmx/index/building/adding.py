"""Additions to an index that exists: layouts, LCP arrays, a sparse suffix array, groups."""

from ...errors import UnsupportedError
from ...input.dna import unpack_text
from ...machines.places import CPU
from ...machines.progress import Progress
from ..contigs import names_in, read_groups
from ..disk.check import SPARSE
from ..disk.store import read_checked
from ..disk.writer import IndexExtender
from ..fm_index import group_arrays, load, load_reference
from ..parts import part_arrays, part_of, part_sizes, part_span, part_writers
from .journey import (
    add_layout_arrays,
    add_lcp,
    add_sparse_arrays,
    choose_backend,
    meta_of,
    named,
    waiting,
)


def add_groups(path, table, progress=None) -> int:
    """Add groups, by a table of contigs and groups, to an index that has none; how many there are.

    Raises InputError, IndexFileError, UnsupportedError.
    """
    progress = progress or Progress(quiet=True)
    with IndexExtender(path, waiting=waiting(path, progress)) as writer:
        if "n_groups" in writer.meta:
            raise UnsupportedError(f"{path} has groups already: build it again with --groups {table}")
        names = names_in(read_checked(path, writer.meta, ["contig_names"])["contig_names"])
        groups = read_groups(table, names, progress.say)
        for key, array in group_arrays(groups).items():
            writer.add(key, array)
        writer.commit(meta_of(groups, writer.meta.get("sparse")))
        return len(groups.names)


def add_layouts(path, layout_names, n_threads=1, progress=None, device=CPU, with_lcp=False) -> list:
    """Add layouts to an index, whole or not at all; returns the names of those that it did not hold.

    ``with_lcp`` adds the LCP and rank arrays too (named "lcp").

    Raises IndexFileError, UnsupportedError (a sampled suffix array).
    """
    progress = progress or Progress(quiet=True)
    named(layout_names)
    with IndexExtender(path, n_threads, waiting(path, progress)) as writer:
        held, sizes = writer.meta["layouts"], part_sizes(writer.meta)
        asked, sparse = named(layout_names, max(sizes))
        if sparse and writer.meta.get("sparse", str(sparse)) != str(sparse):
            raise UnsupportedError(
                f"{path} has {writer.meta['sparse']} already, and may have one sparse suffix array only"
            )
        if writer.meta["sa_rate"] == 0 and (asked or with_lcp):
            raise UnsupportedError(
                f"{path} has no suffix array, and additions need it: build the index again with --layout "
                f"{','.join([writer.meta['sparse'], *layout_names])}"
            )
        if writer.meta["sa_rate"] != 1 and (asked or with_lcp):
            raise UnsupportedError(
                f"{path} keeps one in {writer.meta['sa_rate']} positions of its suffix array, and additions "
                f"need all: build the index again with --layout {','.join([*held, *layout_names])}"
            )
        names = [name for name in asked if str(name) not in held]
        adds_lcp = with_lcp and "lcp.rank" not in part_arrays(writer.meta, 0)
        added = {}
        if sparse and "sparse" not in writer.meta:
            _add_sparse(writer, path, sparse, n_threads, progress)
            added = {"format": SPARSE, "sparse": str(sparse)}
        if not names and not adds_lcp:
            writer.commit(added)
            return list(filter(None, [added.get("sparse")]))
        backend = choose_backend(device, n_threads, max(sizes))
        with progress.stage("read index"):
            opened = load(path, method="verify", n_threads=n_threads)
        for part, own in zip(part_writers(writer, len(sizes), progress), opened.parts, strict=True):
            sa, blocks = own.sa.positions, own.reference.blocks
            text = unpack_text(
                own.text_words, blocks.text_start + blocks.length, own.reference.n_text, n_threads
            )
            with backend.errors():
                if adds_lcp:
                    add_lcp(part, text, sa, n_threads, progress)
                add_layout_arrays(backend, part, names, backend.take(text), backend.take(sa), progress)
        writer.commit({"layouts": [*held, *map(str, names)], **added})
    return [*filter(None, [added.get("sparse")]), *map(str, names), *(["lcp"] if adds_lcp else [])]


def _add_sparse(writer, path, name, n_threads, progress):
    """Make and write a sparse suffix array, by its SparseName, of every part of an index at ``path``."""
    meta = writer.meta
    reference = load_reference(path, meta, n_threads)
    for number, part in enumerate(part_writers(writer, len(part_sizes(meta)), progress)):
        words = read_checked(path, meta, [part_arrays(meta, number)["text_words"]], n_threads)
        own = part_of(reference, *part_span(meta, number))
        add_sparse_arrays(part, name, *words.values(), own, n_threads, progress)
