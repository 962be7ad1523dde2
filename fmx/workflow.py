"""The journeys, on one page: build an index, map reads, list occurrences.

build   FASTA -> Reference, text -> prefix table, SA, BWT -> layouts -> ref.fmx/
search  reads -> Mapper (mapping.py) -> SAM or BAM
locate  patterns -> Mapper -> TSV, BED or SAM
"""

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import __version__, bwt, index, jit, layouts
from .dna import pack_text
from .index import reference_arrays
from .index_store import IndexWriter, read_array, read_meta
from .index_store import verify as check
from .mapping import MapOptions, Mapper, Summary, compile_all, map_reads
from .output import bam, sam, table
from .output.text import make_names
from .prefix_table import build_prefix_table, default_length
from .progress import Progress
from .reference import read_fasta
from .sampled_sa import sample
from .seed_table import build_seed_table
from .seed_table import default_length as default_seed_length
from .streams import whole_output
from .suffix_array import suffix_array


def build_index(fasta, path, layout_names=(layouts.DEFAULT,), sa_rate=1, prefix_length=None, n_threads=1,
                progress=None):  # fmt: skip
    """Index a FASTA file into the directory ``path``.

    ``sa_rate`` keeps every s-th position of the suffix array.  Peak memory is about 9 bytes a base.
    """
    progress = progress or Progress(quiet=True)
    names = [layouts.parse_name(name) for name in layout_names]
    tell_compiling(progress)
    with IndexWriter(path, n_threads) as writer:
        with progress.stage("read reference"):
            reference, text = read_fasta(fasta)
            for name, array in reference_arrays(reference).items():
                writer.add(name, array)
        with progress.stage("prefix table"):
            prefix_length = prefix_length or default_length(reference.n_text)
            table = build_prefix_table(text, prefix_length)
            writer.add("prefix_pairs", table.pairs)
            column_starts = {k: first_rows(table, k) for k in {name.k for name in names}}
            del table
        seed_length = default_seed_length(reference.n_text) if sa_rate == 1 else 0
        if seed_length:
            with progress.stage("seed table"):
                writer.add("seed_starts", build_seed_table(text, seed_length).starts)
        with progress.stage("suffix array"):
            sa = suffix_array(text)
        for name in names:
            with progress.stage(f"layout {name}"):
                codes = bwt.kmer_bwt(text, sa, name.k, n_threads)
                build = layouts.REGISTRY[name.family].build
                layout = build(codes, column_starts[name.k], name.k, name.d, n_threads)
                for key, array in layout._asdict().items():
                    if isinstance(array, np.ndarray):
                        writer.add(f"{name}.{key}", array)
                del codes, layout
        with progress.stage("write text and suffix array"):
            writer.add("text_words", pack_text(text, n_threads))
            if sa_rate > 1:
                sampled = sample(sa, reference.blocks.text_start, sa_rate, max(name.k for name in names))
                writer.add("sa_marks", sampled.marks)
                writer.add("sa_positions", sampled.positions)
            else:
                writer.add("sa_positions", sa)
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


def first_rows(table, k) -> np.ndarray:
    """The first row of each k-symbol, int64[4^k]: the C array of a k-step index."""
    start = (4**k - 1) // 3
    return table.pairs[2 * start : 2 * (start + 4**k) : 2].astype(np.int64)


def tell_compiling(progress) -> None:
    """Say it when code is compiled, which happens in the first run with new options."""
    jit.on_first_compile(lambda: progress.say("compiling for this machine (once) ..."))


def default_index_path(reference) -> str:
    """Where the index of a reference goes: beside it, its name with .fmx in place of .fa.gz and the like."""
    path = Path(reference)
    if path.suffix in (".gz", ".bgz", ".bgzf"):
        path = path.with_suffix("")
    return str(path.with_suffix(".fmx"))


@dataclass(frozen=True)
class Output:
    """What is written: ``kind`` sam, bam, bed or tsv; the rest is for sam and bam."""

    path: str = "-"
    kind: str = "sam"
    unmapped: bool = True
    read_group: str = ""
    read_group_id: str = ""
    counts: str | None = None


def kind_of(path) -> str:
    """bam or sam, by the name of the output."""
    return "bam" if str(path).endswith(".bam") else "sam"


def search(index_path, paths, options: MapOptions, output: Output, layout=None, progress=None) -> Summary:
    """Map reads (FASTA or FASTQ files, '-' for stdin) to an index, in order."""
    progress = progress or Progress(quiet=True)
    tell_compiling(progress)
    fm_index = index.load(index_path, layout, options.n_threads)
    reference = fm_index.reference
    mapper = Mapper(fm_index, options, len(reference.names) if output.counts else 0)
    writer, head = _make_writer(reference, output)
    compile_all(fm_index, options, writer)
    start = time.monotonic()
    with whole_output(output.path) as sink:
        sink.write(head)
        summary = map_reads(mapper, paths, writer, sink, progress)
    if output.counts:
        with whole_output(output.counts) as sink:
            sink.write(table.counts_table(reference, mapper.tally()))
    progress.say(summary.sentence(time.monotonic() - start))
    return summary


def _make_writer(reference, output):
    """(writer, bytes before the first record)."""
    names = make_names(reference.names)
    if output.kind in ("bed", "tsv"):
        bed = output.kind == "bed"
        return table.TableWriter(names, reference.blocks, bed), b"" if bed else table.TSV_HEADER
    head = sam.header(reference, __version__, shlex.join(["fmx", *sys.argv[1:]]), output.read_group)
    if output.kind == "bam":
        writer = bam.BamWriter(reference.blocks, output.unmapped, output.read_group_id)
        return writer, bam.header(reference, head)
    return sam.SamWriter(names, reference.blocks, output.unmapped, output.read_group_id), head


def inspect(path, verify=False, n_threads=1) -> dict:
    """meta.json of an index with the size of each part; ``verify`` checks every checksum."""
    meta = read_meta(path)
    names = list(meta["arrays"])
    for name in names:
        read_array(path, meta, name)
    if verify:
        check(path, meta, names, n_threads)
    return {**meta, "path": str(path), "bytes": sum(a["bytes"] for a in meta["arrays"].values())}
