"""fmx search: map reads to an index; SAM, BAM or a table out."""

import re

import click

from ... import options
from ...output import kinds_of
from ..reading import reading, reading_of


@options.command
@click.argument("reads", nargs=-1, required=True)
@options.index
@options.output
@click.option(
    "-k", "limit", type=options.COUNT, default=1, show_default=True, help="Report up to N hits of each read."
)
@click.option("-a", "--all", "report_all", is_flag=True, help="Report every hit.")
@click.option(
    "-m", "at_most", type=options.COUNT, metavar="N",
    help="Treat reads with more than N occurrences as unmapped.",
)  # fmt: skip
@click.option("--seed", type=options.Number(0, 2**62), help="Choose hits at random; same seed, same choice.")
@click.option(
    "--format", "kind", type=click.Choice(kinds_of("search")), show_default="by the name of the output",
    help="What to write.",
)  # fmt: skip
@options.strands
@reading
@click.option("--no-unmapped", is_flag=True, help="Leave out reads without a reported hit.")
@click.option("--rg", metavar="LINE", help=r"Read group of all reads, as in '@RG\tID:lane1\tSM:sample'.")
@click.option(
    "--counts", type=click.Path(), metavar="FILE", help="Also write a table of reads and hits per contig."
)
@click.option(
    "--al", "mapped_to", type=click.Path(), metavar="FILE",
    help="Also write the reads with a reported hit, as they came; .gz compresses.",
)  # fmt: skip
@click.option(
    "--un", "unmapped_to", type=click.Path(), metavar="FILE", help="Also write the reads without one."
)
@options.sharing
@options.searching
def command(given):
    """Map reads to an index.

    READS are FASTA or FASTQ files, plain or compressed; - is standard input. Writes SAM, or what the suffix
    of -o NAME says, a record for each hit, in the order of the reads. NH is the exact number of occurrences.
    """
    if given.report_all and given.limit != 1:
        raise click.UsageError("give only one of -a and -k")
    if (given.mapped_to or given.unmapped_to) and (given.shard or given.scheduler or given.scheduler_file):
        raise click.UsageError("--al and --un write reads of all inputs: not with shards of them")
    read_group = _read_group(given.rg)
    wanted = reading_of(given)
    from ...search.hits import ALL, SelectionPolicy
    from ...search.mapper import MapOptions
    from ...workflow import Output
    from ..mapping import map_to_index
    from ..places import READS, kind_of, named

    path, seed = given.output, -1 if given.seed is None else given.seed
    policy = SelectionPolicy(ALL if given.report_all else given.limit, given.at_most or ALL, seed)
    kinds = [given.kind] if given.kind else kinds_of("search")
    kind = given.kind or kind_of(path, kinds, "sam")
    asides = given.mapped_to, given.unmapped_to
    output = Output(path, kind, not given.no_unmapped, *read_group, given.counts, *asides)
    outputs = {"-o": (path, named(kinds)), "--counts": (given.counts, ["TSV"])}
    outputs |= {option: (aside, READS) for option, aside in zip(("--al", "--un"), asides, strict=True)}
    map_to_index("search", given, given.reads, outputs, MapOptions(policy, **wanted), output)


def _read_group(text):
    """(@RG line, its ID) of --rg, where \\t stands for a tab; only what SAM's specification allows."""
    if text is None:
        return "", ""
    line = text.replace("\\t", "\t")
    start, *fields = line.split("\t")
    tags = [field[:2] for field in fields]
    values = {field[:2]: field[3:] for field in fields}
    if start != "@RG" or not values.get("ID"):
        _refuse(r"must look like '@RG\tID:name\tSM:sample'")
    for field in fields:
        described = field.startswith("DS:") and field.isprintable()  # which may hold UTF-8
        if not re.fullmatch("[A-Za-z][A-Za-z0-9]:[ -~]+", field) and not described:
            _refuse(f"'{field}' is not two letters, a colon and printable ASCII")
        if tags.count(field[:2]) > 1:
            _refuse(f"{field[:2]} is there twice")
    if " " in values["ID"]:
        _refuse("the ID holds a space")
    return line, values["ID"]


def _refuse(what):
    raise click.BadParameter(what, param_hint="--rg")
