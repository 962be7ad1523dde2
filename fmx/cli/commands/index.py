"""fmx index: build an index of a reference."""

import click

from ... import options


@options.command
@click.argument("reference")
@click.option("-o", "--output", type=click.Path(), help="Folder to write.  [default: REFERENCE with .fmx]")
@click.option(
    "--layout", "layout_names", metavar="NAME[,NAME]", callback=options.no_empty_name,
    help="Layouts to build; auto picks one by --max-memory.  [default: bvsfm-k2-d96]",
)  # fmt: skip
@click.option(
    "--sa-rate", type=options.Number(1, 4096), default=1, show_default=True,
    help="Keep every N-th position of the suffix array: the index is smaller, and slower to report hits.",
)  # fmt: skip
@click.option(
    "--prefix-length", type=options.Number(4, 15), show_default="by size of the reference",
    help="Keep a lookup table of all strings of up to N letters, 4 to 15.",
)  # fmt: skip
@options.max_memory
@options.processor
@options.device
@options.gpu_memory
@click.option(
    "--with-lcp", is_flag=True, help="Add the LCP array, which fmx mem --algorithm mummergpu needs."
)
@click.option("--add", is_flag=True, help="REFERENCE is an index: add --layout or --with-lcp to it.")
@options.running
def command(given):
    """Build an index of a reference.

    REFERENCE is a FASTA file, plain or compressed; - is standard input. The index is the same whatever
    --engine and --threads are.
    """
    layout_names, other = given.layout_names, given.output or given.sa_rate != 1 or given.prefix_length
    if given.add and (other or not (layout_names or given.with_lcp)):
        raise click.UsageError(
            "--add needs --layout or --with-lcp and goes with no -o, --sa-rate or --prefix-length"
        )
    if given.max_memory and layout_names is None:
        layout_names = "auto"
    if layout_names == "auto" and given.sa_rate != 1:
        raise click.UsageError("--layout auto chooses --sa-rate itself")
    if given.reference == "-" and given.output is None:
        raise click.UsageError("with '-' as the reference, say where the index goes: -o NAME.fmx")
    from ... import workflow
    from ...index import layouts
    from ...machines.progress import Progress
    from ...system import heap

    heap.give_back_large()
    progress, where, reference = Progress(given.quiet), options.device_of(given), given.reference
    workflow.tell_compiling(progress)
    if given.add:
        names = layout_names.split(",") if layout_names else []
        added = workflow.add_layouts(reference, names, given.threads, progress, where, given.with_lcp)
        progress.say(f"{reference}: added {', '.join(added)}" if added else f"{reference} has them already")
        return
    path = given.output or workflow.default_index_path(reference)
    names = layout_names.split(",") if layout_names else [layouts.DEFAULT]
    wanted = workflow.IndexOptions(
        names, given.sa_rate, given.prefix_length, given.max_memory, given.with_lcp
    )
    workflow.build_index(reference, path, wanted, given.threads, progress, where)
    progress.say(f"wrote {path}; look at it with 'fmx inspect {path}'")
