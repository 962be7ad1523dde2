"""Building an index: FASTA -> Reference, text -> tables, SA -> layouts -> ref.fmx/.

The CPU counts the tables in the text while a second thread sorts the suffix array; a GPU looks them up there.
"""

from pathlib import Path

from ..._version import __version__
from ...errors import UnsupportedError
from ...input.dna import pack_text, unpack_text
from ...machines.jobs import Cores
from ...machines.places import CPU, choose_place
from ...machines.progress import Progress
from ...machines.threads import start
from .. import layouts
from ..fm_index import load, reference_arrays
from ..parts import MAX_SYMBOLS, cut, part_arrays, part_of, part_sizes, part_writers
from ..plan import plan_index
from ..prefix_table import default_length, make_prefix_table
from ..reference import read_fasta
from ..sampled_sa import sample
from ..seed_table import default_length as default_seed_length
from ..seed_table import first_rows, longest_strings
from ..writer import IndexExtender, IndexWriter
from .suffix_array import build_lcp, build_rank, make_suffix_array, plan_passes

MAX_TABLE = 4  # bytes a symbol of a seed table that is made during the sort, which itself takes 5


def build_index(fasta, path, layout_names=(layouts.DEFAULT,), sa_rate=1, prefix_length=None, n_threads=1,
                progress=None, max_memory=None, device=CPU, part_size=MAX_SYMBOLS,
                with_lcp=False):  # fmt: skip
    """Index a FASTA file into the directory ``path``.

    ``sa_rate`` keeps every s-th position of the suffix array.  The layout "auto" stands for what
    plan.plan_index chooses for ``max_memory``, together with its sa_rate.  ``device`` makes the arrays;
    they do not depend on it.  A text of more than ``part_size`` symbols is indexed in parts
    (index/parts.py).  ``with_lcp`` also makes the LCP and rank arrays, on the CPU.
    Peak memory: docs/building.md.
    """
    progress = progress or Progress(quiet=True)
    chosen_by_size = list(layout_names) == ["auto"]
    for name in layout_names if not chosen_by_size else ():
        layouts.parse_name(name)
    if device.engine == "cuda":
        choose_machine(device, n_threads)  # before the reference is read for nothing
    with IndexWriter(path, n_threads, _waiting(path, progress)) as writer:
        with progress.stage("read reference"):
            reference, text = read_fasta(fasta)
            spans = cut(reference, part_size)
            sizes = [stop - start for start, stop in spans]
            if chosen_by_size:
                chosen = plan_index(sizes, max_memory)
                layout_names, sa_rate = [chosen.layout], chosen.sa_rate
                progress.say(f"chose --layout {chosen.layout} --sa-rate {sa_rate}: {chosen.reason}")
            if with_lcp and sa_rate != 1:
                raise UnsupportedError(
                    "--with-lcp needs the whole suffix array: leave out --sa-rate, or raise --max-memory"
                )
            names = _named(layout_names, max(sizes))
            if prefix_length and prefix_length > longest_strings(max(sizes)):
                raise UnsupportedError(
                    f"--prefix-length {prefix_length} is too long for a reference of {max(sizes):,} symbols: "
                    f"give at most {longest_strings(max(sizes))}"
                )
            for key, array in reference_arrays(reference).items():
                writer.add(key, array)
        prefix_length = prefix_length or default_length(max(sizes))
        seed_length = default_seed_length(max(sizes)) if sa_rate == 1 else 0
        machine = choose_machine(
            device, n_threads, max(sizes), lambda where: progress.say(f"building on {where}")
        )
        for part, span in zip(part_writers(writer, len(spans), progress), spans, strict=True):
            with machine.errors():
                own, own_text = part_of(reference, *span), machine.take(text[slice(*span)])
                sa = _add_tables(machine, part, own_text, prefix_length, seed_length, progress)
                for name in names:
                    with progress.stage(f"layout {name}"):
                        _add_layout(machine, part, name, own_text, sa)
                if with_lcp:
                    with progress.stage("LCP and rank arrays"):
                        _add_lcp(part, machine.to_host(own_text), machine.to_host(sa), n_threads)
                del own_text
                with progress.stage("write suffix array"):
                    _add_sa(machine, part, sa, own.blocks.text_start, sa_rate, names)
                del sa  # before the next part's
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


def choose_machine(device, n_threads, n_text=0, tell=lambda where: None):
    """Who makes the arrays of an index of n_text symbols (jobs.Machine).  Raises DeviceError."""

    def on_gpu(session):
        from ...machines.gpu_jobs import Gpu

        plan_passes(n_text, session.memory)
        return Gpu(session)

    return choose_place(device, on_gpu, lambda: Cores(n_threads), tell)


def add_layouts(path, layout_names, n_threads=1, progress=None, device=CPU, with_lcp=False) -> list:
    """Add layouts to an index, whole or not at all; returns the names of those that it did not hold.

    ``with_lcp`` adds the LCP and rank arrays too (named "lcp").

    Raises IndexFileError, UnsupportedError (a sampled suffix array).
    """
    progress = progress or Progress(quiet=True)
    for name in layout_names:
        layouts.parse_name(name)
    with IndexExtender(path, n_threads, _waiting(path, progress)) as writer:
        held, sizes = writer.meta["layouts"], part_sizes(writer.meta)
        if writer.meta["sa_rate"] != 1:
            raise UnsupportedError(
                f"{path} keeps one in {writer.meta['sa_rate']} positions of its suffix array, and additions "
                f"need all: build the index again with --layout {','.join([*held, *layout_names])}"
            )
        asked = _named(layout_names, max(sizes))
        names = [name for name in asked if str(name) not in held]
        adds_lcp = with_lcp and "lcp.rank" not in part_arrays(writer.meta, 0)
        machine = choose_machine(device, n_threads, max(sizes))
        with progress.stage("read index"):
            opened = load(path, method="verify", n_threads=n_threads)
        for part, own in zip(part_writers(writer, len(sizes), progress), opened.parts, strict=True):
            sa, blocks = own.sa.positions, own.reference.blocks
            text = unpack_text(
                own.text_words, blocks.text_start + blocks.length, own.reference.n_text, n_threads
            )
            with machine.errors():
                if adds_lcp:
                    with progress.stage("LCP and rank arrays"):
                        _add_lcp(part, text, sa, n_threads)
                text, sa = machine.take(text), machine.take(sa)
                for name in names:
                    with progress.stage(f"layout {name}"):
                        _add_layout(machine, part, name, text, sa)
        writer.commit({"layouts": [*held, *map(str, names)]})
    return [*map(str, names), *(["lcp"] if adds_lcp else [])]


def _named(layout_names, n_text) -> list:
    """The layouts of these names, each once, for a text of n_text symbols.  Raises UnsupportedError."""
    names = list(dict.fromkeys(layouts.parse_name(name, n_text) for name in layout_names))
    most = longest_strings(n_text)
    for name in names:
        if name.k > most:
            raise UnsupportedError(
                f"layout {name} is too large for a reference of {n_text:,} symbols: k is at most {most}"
            )
    return names


def _waiting(path, progress):
    return lambda: progress.say(f"{path}: waiting for another fmx that changes this index ...")


def _add_tables(machine, writer, text, prefix_length, seed_length, progress):
    """Make the suffix array, and the tables beside or after it; the suffix array."""
    at_once = machine.serial and 4 * 4**seed_length <= MAX_TABLE * text.size
    sorted_rows = start(machine.n_threads if at_once else 1, make_suffix_array, machine, text, progress)
    sa = None if machine.serial else _stage_of(progress, sorted_rows)
    with progress.stage("tables"):
        pairs = make_prefix_table(machine, text, sa, prefix_length).pairs
        writer.add("prefix_pairs", machine.to_host(pairs))
        if seed_length:
            writer.add("seed_starts", machine.to_host(first_rows(machine, text, sa, seed_length)))
        writer.add("text_words", machine.to_host(pack_text(text, machine)))
    return _stage_of(progress, sorted_rows) if sa is None else sa


def _stage_of(progress, sorted_rows):
    with progress.stage("suffix array"):
        return sorted_rows()


def _add_sa(machine, writer, sa, block_starts, sa_rate, names):
    if sa_rate == 1:
        writer.add("sa_positions", machine.to_host(sa))
        return
    k, ahead = max(name.k for name in names), max(name.k_ahead for name in names)
    sampled = sample(sa, block_starts, sa_rate, k, ahead, machine)
    writer.add("sa_marks", machine.to_host(sampled.marks))
    writer.add("sa_positions", machine.to_host(sampled.positions))


def _add_lcp(writer, text, sa, n_threads):
    writer.add("lcp.rank", build_rank(sa, n_threads))
    for key, array in build_lcp(text, sa, n_threads)._asdict().items():
        writer.add(f"lcp.{key}", array)


def _add_layout(machine, writer, name, text, sa):
    layout = name.kind.build(text, sa, name.k, name.d, machine)
    for key, value in layout._asdict().items():
        if not isinstance(value, int):
            writer.add(f"{name}.{key}", machine.to_host(value))


def default_index_path(reference) -> str:
    """Where the index of a reference goes: beside it, its name with .fmx in place of .fa.gz and the like."""
    path = Path(reference)
    if not path.name:
        path = path.resolve() / "index"  # of a folder, which reading it will refuse
    if path.suffix in (".gz", ".bgz", ".bgzf"):
        path = path.with_suffix("")
    return str(path.with_suffix(".fmx"))
