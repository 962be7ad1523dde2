"""fmx index: build an index of a reference."""

import click

from ... import options


@click.command()
@click.argument("reference")
@click.option("-o", "--output", type=click.Path(), help="Index directory [default: REFERENCE with .fmx].")
@click.option(
    "--layout",
    "layout_names",
    metavar="NAME[,NAME]",
    callback=options.no_empty_name,
    help="Layouts to build, or auto: by --max-memory [default: bvsfm-k2-d96].",
)
@click.option(
    "--sa-rate", type=click.IntRange(1, 4096), default=1, show_default=True,
    help="Keep every s-th position of the suffix array: a smaller index, slower to locate.",
)  # fmt: skip
@click.option(
    "--prefix-length", type=click.IntRange(4, 15), show_default="by size of the reference",
    help="Longest string looked up in the prefix table.",
)  # fmt: skip
@options.max_memory
@options.build_engine
@options.device
@options.gpu_memory
@click.option(
    "--with-lcp", is_flag=True, help="Also the LCP and rank arrays, for fmx mem --algorithm mummergpu."
)
@click.option("--add", is_flag=True, help="REFERENCE is an index: add the layouts, or the LCP array, to it.")
@options.threads
@options.quiet
def command(reference, output, layout_names, sa_rate, prefix_length, max_memory, engine, device, gpu_memory,
            with_lcp, add, threads, quiet):  # fmt: skip
    """Build an index of REFERENCE, a FASTA file (plain, gzip, bgzf; - for standard input)."""
    if add and (not (layout_names or with_lcp) or output or sa_rate != 1 or prefix_length):
        raise click.UsageError(
            "--add goes with --layout and --with-lcp alone: fmx index --add --layout NAME INDEX"
        )
    if max_memory and layout_names is None:
        layout_names = "auto"
    if layout_names == "auto" and sa_rate != 1:
        raise click.UsageError("--layout auto chooses --sa-rate itself")
    if reference == "-" and output is None:
        raise click.UsageError("with '-' as the reference, say where the index goes: -o NAME.fmx")
    from ... import workflow
    from ...index import layouts
    from ...machines.progress import Progress

    progress = Progress(quiet)
    where = workflow.Device(engine, device, int(gpu_memory * 10**9) if gpu_memory else None)
    workflow.tell_compiling(progress)
    if add:
        names = layout_names.split(",") if layout_names else []
        added = workflow.add_layouts(reference, names, threads, progress, where, with_lcp)
        progress.say(f"{reference}: added {', '.join(added)}" if added else f"{reference} has them already")
        return
    path = output or workflow.default_index_path(reference)
    names = layout_names.split(",") if layout_names else [layouts.DEFAULT]
    workflow.build_index(
        reference, path, names, sa_rate, prefix_length, threads, progress, max_memory, where,
        with_lcp=with_lcp,
    )  # fmt: skip
    progress.say(f"wrote {path}; look at it with 'fmx inspect {path}'")
