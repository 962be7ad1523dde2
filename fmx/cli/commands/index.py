"""fmx index: build an index of a reference."""

from types import SimpleNamespace

import click

from ... import limits, options


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
def command(given: SimpleNamespace) -> None:
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
    from ...index import layouts
    from ...index.disk import default_index_path, index_at
    from ...index.plan import IndexOptions
    from ...jobs import index as jobs
    from ...jobs.run import run
    from ...machines.progress import Progress
    from ...system.process import give_back_large
    from ..dispatch import resources_of

    job: jobs.IndexJob | jobs.AddingJob
    names = tuple(layout_names.split(",")) if layout_names else ()
    if given.add:
        job = jobs.AddingJob(index_at(first), names, given.with_lcp, given.groups)
    else:
        wanted = IndexOptions(
            names or (layouts.DEFAULT,), given.sa_rate, given.prefix_length, given.max_memory, given.with_lcp,
            prefixed=given.prefix_names, groups=given.groups,
        )  # fmt: skip
        job = jobs.IndexJob(given.references, given.output or default_index_path(first), wanted)
    give_back_large()
    run(job, resources_of(given), Progress(given.quiet))
