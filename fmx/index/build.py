"""Building an index from FASTA: reference, suffix arrays, tables and layouts; additions to an index."""

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from ..dna import pack_text, unpack_text
from ..errors import UnsupportedError
from ..machines.jobs import Array, Backend, Cores, start
from ..machines.places import CPU, Device, choose_place
from ..machines.progress import Progress
from .bwt import build_lcp, invert
from .disk import FORMAT, GROUPED, SPARSE, part_arrays, part_sizes, part_span, read_checked
from .fasta import read_fasta, read_groups
from .fm_index import group_arrays, load, load_reference, reference_arrays
from .layouts import DEFAULT, LayoutName
from .plan import IndexOptions, named
from .positions import sample
from .reference import Groups, Reference, cut, names_in, part_of
from .sparse import SparseName
from .sparse_build import build_sparse
from .suffix_array import make_suffix_array, plan_passes
from .tables import build_prefix_table, first_rows
from .writer import Add, IndexExtender, IndexWriter, MemoryIndex, adders

if TYPE_CHECKING:
    from ..input import ReadPath
    from ..machines.gpu import GpuSession


def build_index(
    fasta: "ReadPath | Sequence[ReadPath]",
    target: str | os.PathLike | MemoryIndex,
    options: IndexOptions | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
    device: Device = CPU,
) -> None:
    """Build an index of FASTA (a file or a list of files) in a folder or a MemoryIndex.

    The arrays are made on ``device`` but do not depend on it.  Peak memory: docs/building.md.  Raises
    InputError, OutputError, UnsupportedError, DeviceError.
    """
    progress, options = progress or Progress(quiet=True), options or IndexOptions()
    has_layouts = list(options.layouts) in ([], ["auto"]) or bool(named(options.layouts)[0])
    if device.engine == "cuda":
        choose_backend(device, n_threads, int(has_layouts))  # fail before the reference is read
    sink: Any = nullcontext(target)
    if not isinstance(target, MemoryIndex):
        sink = IndexWriter(target, n_threads, progress)
    with sink as writer:
        with progress.stage("reading the reference") as done:
            reference, text = read_fasta(fasta, n_threads, options.prefixed, done, progress.warn)
            if options.groups:
                groups = read_groups(options.groups, reference.names, progress.say)
                reference = replace(reference, groups=groups)
            spans = cut(reference, options.part_size)
            sizes = [stop - start for start, stop in spans]
            options = options.settled(sizes, progress)
            for key, array in reference_arrays(reference).items():
                writer.add(key, array)
        words = [pack_text(text[slice(*span)], Cores(n_threads)) for span in spans if options.sparse]
        if not options.layouts:
            del text
        n_sorted = max(sizes) if options.layouts else 0
        backend = choose_backend(
            device, n_threads, n_sorted, lambda where: progress.say(f"building on {where}")
        )
        for add, span in zip(adders(writer, len(spans), progress), spans, strict=True):
            part = part_of(reference, *span)
            if options.sparse:
                _add_sparse(add, options.sparse, words[0], part, n_threads, progress)
                if not options.layouts:
                    add("text_words", words[0])
                del words[0]
            if options.layouts:
                with backend.errors():
                    _add_arrays(backend, add, text[slice(*span)], part.blocks.text_start, options, progress)
        writer.commit({
            "fmx_version": __version__, "n_text": reference.n_text,
            **({"parts": sizes} if len(sizes) > 1 else {}),
            **_meta_of(reference.groups, options.sparse),
            "n_contigs": len(reference.names), "n_bases": int(reference.lengths.sum()),
            "n_blocks": reference.blocks.length.size, "layouts": [str(name) for name in options.layouts],
            "sa_rate": options.sa_rate, "prefix_length": options.prefix_length,
            "seed_length": options.seed_length,
        })  # fmt: skip


def _meta_of(groups: Groups | None, sparse: object) -> dict:
    """Return the entries of meta.json for Groups and a sparse suffix array, either of which may be None."""
    return {
        "format": SPARSE if sparse else GROUPED if groups else FORMAT,
        **({"n_groups": len(groups.names)} if groups else {}),
        **({"sparse": str(sparse)} if sparse else {}),
    }


def choose_backend(
    device: Device, n_threads: int, n_text: int, tell: Callable[[str], None] = lambda where: None
) -> Backend:
    """Return the backend that makes the arrays of an index, including a suffix array of n_text symbols.

    Without one (``n_text`` is 0) there is only a sparse suffix array, which is built on the CPU.  Raises
    DeviceError, UnsupportedError.
    """
    if not n_text:
        if device.engine == "cuda":
            raise UnsupportedError("a sparse suffix array is built on the CPU: leave out --engine cuda")
        return Cores(n_threads)

    def on_gpu(sessions: "Sequence[GpuSession]") -> Backend:
        from ..machines.gpu_jobs import Gpu

        plan_passes(n_text, sessions[0].memory)
        return Gpu(sessions[0], n_threads)

    return choose_place(device, on_gpu, lambda: Cores(n_threads), tell)


def _add_sparse(
    add: Add, name: SparseName, words: np.ndarray, reference: Reference, n_threads: int, progress: Progress
) -> None:  # fmt: skip
    """Make and write the sparse suffix array ``name`` of a part, whose packed text is ``words``."""
    with progress.stage(f"building layout {name}") as done:
        table = build_sparse(words, reference.blocks, reference.n_text, name, n_threads, done)
        for key, array in (("rows", table.rows), ("starts", table.starts)):
            add(f"{name}.{key}", array)


def _add_arrays(
    backend: Backend, add: Add, text: np.ndarray, block_starts: np.ndarray, options: IndexOptions,
    progress: Progress,
) -> None:  # fmt: skip
    """Write the suffix array of a part, whole or sampled, and the arrays made from it and the text."""
    codes = backend.from_host(text)
    with progress.stage("building the suffix array") as done:
        sa = make_suffix_array(backend, codes, progress, done)
    arrays = {"sa_positions": sa}
    if options.sa_rate != 1:
        steps = [(name.k, name.kind.walks_forward) for name in options.layouts]
        k, ahead = max(steps)[0], max(k * walks_forward for k, walks_forward in steps)
        sampled = sample(sa, block_starts, options.sa_rate, k, ahead, backend)
        arrays = {"sa_marks": sampled.marks, "sa_positions": sampled.positions}

    def write() -> None:
        for name, array in arrays.items():
            add(name, array, backend)

    finish = start(backend.n_threads, write)  # in a second thread, if there is one
    try:
        with progress.stage("building tables") as done:
            q = options.prefix_length or 0
            add("prefix_pairs", build_prefix_table(text, q, backend.n_threads).pairs)
            done(1 / 3)
            if options.seed_length:
                add("seed_starts", first_rows(backend, codes, sa, options.seed_length), backend)
            done(2 / 3)
            add("text_words", pack_text(codes, backend), backend)
        _add_layouts(backend, add, options.layouts, codes, sa, progress)
        if options.with_lcp:
            _add_lcp(add, text, backend.to_host(sa), backend.n_threads, progress)
    finally:
        with progress.stage("writing the suffix array"):
            finish()


def _add_lcp(add: Add, text: Array, sa: Array, n_threads: int, progress: Progress) -> None:
    """Make and write the LCP and rank arrays of a part from its text and suffix array."""
    with progress.stage("building the LCP and rank arrays"):
        add("lcp.rank", invert(Cores(n_threads), sa))
        for key, array in build_lcp(text, sa, n_threads)._asdict().items():
            add(f"lcp.{key}", array)


def _add_layouts(
    backend: Backend, add: Add, names: Sequence[LayoutName], text: Array, sa: Array, progress: Progress
) -> None:
    """Make and write the layouts of a part from its text and suffix array on the backend."""
    for name in names:
        which = "the default layout" if str(name) == DEFAULT else "layout"
        with progress.stage(f"building {which} {name}"):
            layout = name.kind.build(text, sa, name.k, name.d, backend)
            for key, value in layout._asdict().items():
                if not isinstance(value, int):
                    add(f"{name}.{key}", value, backend)
        del layout, value  # before the next layout is made


# Additions to an existing index: layouts, LCP arrays, a sparse suffix array, groups.


def add_groups(path: str | os.PathLike, table: str, progress: Progress | None = None) -> int:
    """Add groups from a table of contigs and groups to an index that has none; return their number.

    Raises InputError, IndexFileError, UnsupportedError.
    """
    progress = progress or Progress(quiet=True)
    with IndexExtender(path, progress=progress) as writer:
        if "n_groups" in writer.meta:
            raise UnsupportedError(f"{path} already has groups: build it again with --groups {table}")
        names = names_in(read_checked(path, writer.meta, ["contig_names"])["contig_names"])
        groups = read_groups(table, names, progress.say)
        for key, array in group_arrays(groups).items():
            writer.add(key, array)
        writer.commit(_meta_of(groups, writer.meta.get("sparse")))
        return len(groups.names)


def add_layouts(
    path: str | os.PathLike,
    layout_names: Sequence[str],
    n_threads: int = 1,
    progress: Progress | None = None,
    device: Device = CPU,
    with_lcp: bool = False,
) -> list:
    """Add layouts to an index, all or none; return the names of those that it did not have.

    ``with_lcp`` adds the LCP and rank arrays too (named "lcp").

    Raises IndexFileError, UnsupportedError (a sampled suffix array).
    """
    progress = progress or Progress(quiet=True)
    named(layout_names)
    with IndexExtender(path, n_threads, progress) as writer:
        meta, sizes = writer.meta, part_sizes(writer.meta)
        requested, sparse = named(layout_names, max(sizes))
        if sparse and meta.get("sparse", str(sparse)) != str(sparse):
            raise UnsupportedError(
                f"{path} already has {meta['sparse']}, and can have only one sparse suffix array"
            )
        rate, present = meta["sa_rate"], meta["layouts"]
        if rate != 1 and (requested or with_lcp):
            why = f"keeps one in {rate} positions of its suffix array, but additions need all"
            why = why if rate else "has no suffix array, but additions need one"
            sparse = meta.get("sparse", sparse)
            every = [*filter(None, [sparse]), *present, *(requested or present or [DEFAULT])]
            layouts = ",".join(dict.fromkeys(map(str, every)))
            raise UnsupportedError(
                f"{path} {why}: build the index again with --layout {layouts}"
                f"{' --with-lcp' if with_lcp else ''}"
            )
        # A sparse suffix array needs only the text; layouts and LCP arrays need the suffix array, too.
        names = [name for name in requested if str(name) not in present]
        adds_lcp = with_lcp and "lcp.rank" not in part_arrays(meta, 0)
        added, entries = [], {}
        if sparse and "sparse" not in meta:
            if not names and not adds_lcp:
                choose_backend(device, n_threads, 0)  # refuses a GPU
            reference = load_reference(path, meta, n_threads)
            for number, add in enumerate(adders(writer, len(sizes), progress)):
                array_name = part_arrays(meta, number)["text_words"]
                words = read_checked(path, meta, [array_name], n_threads)[array_name]
                part = part_of(reference, *part_span(meta, number))
                _add_sparse(add, sparse, words, part, n_threads, progress)
            added, entries = [str(sparse)], {"format": SPARSE, "sparse": str(sparse)}
        if names or adds_lcp:
            backend = choose_backend(device, n_threads, max(sizes))
            with progress.stage("reading the index"):
                parts = load(path, method="verify", n_threads=n_threads).parts
            for add, index in zip(adders(writer, len(sizes), progress), parts, strict=True):
                sa, blocks = index.sa.positions, index.reference.blocks
                assert index.text_words is not None
                ends = blocks.text_start + blocks.length
                text = unpack_text(index.text_words, ends, index.reference.n_text, n_threads)
                with backend.errors():
                    if adds_lcp:
                        _add_lcp(add, text, sa, n_threads, progress)
                    _add_layouts(
                        backend, add, names, backend.from_host(text), backend.from_host(sa), progress
                    )
            added += [*map(str, names), *(["lcp"] if adds_lcp else [])]
            entries["layouts"] = [*present, *map(str, names)]
        writer.commit(entries)
    return added
