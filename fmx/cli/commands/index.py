"""fmx index: build an index of a reference."""

import shlex
from types import SimpleNamespace

import click

from ... import limits
from ...errors import n_of
from .. import options


@options.command
@click.argument("references", metavar="REFERENCE...", nargs=-1, required=True)
@options.group(
    "Output",
    click.option("-o", "--output", type=click.Path(),
                 help="Folder to write.  [default: REFERENCE with the suffix .fmx; required with several "
                 "files]"),
    click.option("--add", is_flag=True,
                 help="Add --layout, --groups or --with-lcp to an existing index, given as REFERENCE."),
    click.option("--groups", type=click.Path(), metavar="TABLE",
                 help="Table of contigs and their groups, for counts per group.  [default: one group per "
                 "file if there are several]"),
    click.option("--prefix-names", is_flag=True,
                 help="Prefix the names of contigs with the name of their file: FILE#CONTIG."),
)  # fmt: skip
@options.group(
    "Index",
    click.option("--layout", "layout_names", metavar="NAME[,NAME]",
                 help="Layouts to build: bvsfm-k2-d96; sparse, which is built fastest and is small, for "
                 "reads of 36 bases or more; auto, one whose searches fit in --max-memory, or else in half "
                 "of the free memory.  [default: bvsfm-k2-d96; sparse for references of more than "
                 "10^9 bases]"),
    options.max_memory_of(
                          help="Choose a layout whose searches fit in SIZE of memory, e.g. 8G. "
                          "Building may take more."),
    click.option("--sa-rate", type=options.number(*limits.SA_RATE), default=1,
                 help="Keep every N-th position of the suffix array; above 1 the index is smaller and "
                 "reports hits more slowly."),
    click.option("--prefix-length", type=options.number(*limits.PREFIX_LENGTH),
                 show_default="by size of the reference",
                 help="Length of the longest strings in the prefix table, 4 to 15 bases."),
    click.option("--with-lcp", is_flag=True,
                 help="Add the LCP array, which 'fmx mem --algorithm mummergpu' needs."),
)  # fmt: skip
@options.on_processor
@options.running
def command(args: SimpleNamespace) -> None:
    """Build an index of a reference.

    REFERENCE is one or more FASTA files, compressed or not; - is standard input. With several
    files, each file's contigs are a group, and reads can be counted per group. The index does not depend on
    --engine or --threads.

    Examples:
    fmx index ref.fa.gz
    fmx index --layout sparse human.fa.gz -o human.fmx
    fmx index strains/*.fa -o strains.fmx
    """
    layout_names, first = args.layout_names, args.references[0]
    other = args.output or args.sa_rate != 1 or args.prefix_length or args.prefix_names
    is_alone = not (other or args.references[1:]) and (layout_names or args.with_lcp or args.groups)
    is_auto = args.max_memory or layout_names == "auto"
    options.refuse(
        (args.add and not is_alone, "--add needs one index and --layout, --with-lcp or --groups; it cannot "
         "be combined with -o, --sa-rate, --prefix-length or --prefix-names"),
        (args.max_memory and layout_names not in (None, "auto"),
         "--max-memory chooses the layout: leave out --layout, or --max-memory"),
        (is_auto and args.sa_rate != 1, "--layout auto chooses the SA rate: leave out --sa-rate"),
        (args.output is None and args.references[1:], "several references need -o NAME.fmx"),
        (args.output is None and first == "-", "a reference from standard input needs -o NAME.fmx"),
    )  # fmt: skip
    layout_names = "auto" if is_auto else layout_names
    from ...compiler import object_cache
    from ...index.build import add_groups, add_layouts, build_index
    from ...index.disk import default_index_path, index_at
    from ...index.plan import IndexOptions
    from ...input.chunks import look_at
    from ...machines.progress import Progress
    from ...system import give_back_large
    from ..dispatch import check_clashes

    names, progress = tuple(layout_names.split(",")) if layout_names else (), Progress(args.quiet, warns=True)
    resources = options.resources_of(args)
    n_threads, place = resources.threads, resources.place
    give_back_large()
    if args.add:
        index, added = index_at(first), []
        object_cache.on_first_compile(progress)
        if names or args.with_lcp:
            added = add_layouts(index, list(names), n_threads, progress, place, args.with_lcp)
        if args.groups:
            added.append(n_of(add_groups(index, args.groups, progress), "group"))
        has = ", ".join([*names, *(["the LCP array"] if args.with_lcp else [])])
        progress.say(f"{index}: added {', '.join(added)}" if added else f"{index} already has {has}")
        return
    check_clashes(args.references, [("-o", args.output)])
    for name in args.references:
        look_at(name, None)
    object_cache.on_first_compile(progress)
    path = args.output or default_index_path(first)
    index_options = IndexOptions(
        names, args.sa_rate, args.prefix_length, args.max_memory, args.with_lcp,
        prefixed=args.prefix_names, groups=args.groups,
    )  # fmt: skip
    build_index(args.references, path, index_options, n_threads, progress, place)
    progress.say(f"wrote {path}; inspect it with: fmx inspect {shlex.quote(str(path))}")
