"""fmx index: build an index of a reference."""

from pathlib import Path

import click

from ... import limits, options
from ...errors import n_of


@options.command
@click.argument("references", metavar="REFERENCE...", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(), help="Folder to write.  [default: REFERENCE with .fmx]")
@click.option(
    "--groups", type=click.Path(), metavar="TABLE",
    help="Groups of contigs, by lines of contig and group.  [default: several files are groups]",
)  # fmt: skip
@click.option(
    "--prefix-names", is_flag=True, help="Let names of contigs begin with those of their files: FILE#CONTIG."
)
@click.option(
    "--layout", "layout_names", metavar="NAME[,NAME]", callback=options.no_empty_name,
    help="Layouts to build; auto picks one by --max-memory; sparse is small, for reads of 36 bases or more.  "
    "[default: bvsfm-k2-d96]",
)  # fmt: skip
@click.option(
    "--sa-rate", type=options.Number(*limits.SA_RATE), default=1, show_default=True,
    help="Keep every N-th position of the suffix array: the index is smaller, and slower to report hits.",
)  # fmt: skip
@click.option(
    "--prefix-length", type=options.Number(*limits.PREFIX_LENGTH), show_default="by size of the reference",
    help="Keep a lookup table of all strings of up to N letters, 4 to 15.",
)  # fmt: skip
@options.max_memory
@options.processor
@options.device
@options.gpu_memory
@click.option(
    "--with-lcp", is_flag=True, help="Add the LCP array, which fmx mem --algorithm mummergpu needs."
)
@click.option(
    "--add", is_flag=True, help="REFERENCE is an index: add --layout, --with-lcp or --groups to it."
)
@options.running
def command(given):
    """Build an index of a reference.

    REFERENCE is a FASTA file, or several, plain or compressed; - is standard input. The contigs of a file are
    a group, which reads can be counted by. The index is the same whatever --engine and --threads are.
    """
    layout_names, first = given.layout_names, given.references[0]
    other = given.output or given.sa_rate != 1 or given.prefix_length or given.prefix_names
    if given.add and (other or given.references[1:] or not (layout_names or given.with_lcp or given.groups)):
        raise click.UsageError(
            "--add needs --layout, --with-lcp or --groups and one index, and goes with no -o, --sa-rate, "
            "--prefix-length or --prefix-names"
        )
    if given.max_memory and layout_names is None:
        layout_names = "auto"
    if layout_names == "auto" and given.sa_rate != 1:
        raise click.UsageError("--layout auto chooses --sa-rate itself")
    if given.output is None and first == "-":
        raise click.UsageError("with '-' as the reference, say where the index goes: -o NAME.fmx")
    if given.output is None and given.references[1:]:
        raise click.UsageError("of several references, say where the index goes: -o NAME.fmx")
    from ... import workflow
    from ...index import layouts
    from ...index.disk.place import index_at
    from ...machines.progress import Progress
    from ...system import resources

    resources.give_back_large()
    progress, where = Progress(given.quiet), options.device_of(given)
    workflow.tell_compiling(progress)
    if given.add:
        first, added = index_at(first), []
        if layout_names or given.with_lcp:
            names = layout_names.split(",") if layout_names else []
            added = workflow.add_layouts(first, names, given.threads, progress, where, given.with_lcp)
        if given.groups:
            added.append(n_of(workflow.add_groups(first, given.groups, progress), "group"))
        progress.say(f"{first}: added {', '.join(added)}" if added else f"{first} has them already")
        return
    path = given.output or workflow.default_index_path(first)
    names = layout_names.split(",") if layout_names else [layouts.DEFAULT]
    wanted = workflow.IndexOptions(
        names, given.sa_rate, given.prefix_length, given.max_memory, given.with_lcp,
        prefixed=given.prefix_names, groups=given.groups,
    )  # fmt: skip
    before = _reference_in(path)
    workflow.build_index(given.references, path, wanted, given.threads, progress, where)
    if before and before[:1] != _reference_in(path)[:1]:
        progress.say(f"{path}: replaced {before[1]}")
    progress.say(f"wrote {path}; look at it with 'fmx inspect {path}'")


def _reference_in(path: str) -> tuple:
    """(what names the reference of an index, that index in words); nothing where there is none."""
    from ...errors import IndexFileError
    from ...index.disk.store import digest_of, read_any_meta

    try:
        meta = read_any_meta(Path(path))
        sizes = f"{n_of(meta['n_contigs'], 'contig')}, {n_of(meta['n_bases'], 'base')}"
        return digest_of(meta, ("contig_",)), f"the index of another reference ({sizes})"
    except (IndexFileError, KeyError):  # building tells what must not be replaced
        return ()
