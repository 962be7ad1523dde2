"""fmx search: map reads to an index, SAM or BAM out."""

import re

import click

from ... import options


@click.command()
@click.argument("reads", nargs=-1, required=True)
@options.index
@options.output
@click.option(
    "-k", "limit", type=options.COUNT, default=1, show_default=True, help="Report up to N hits a read."
)
@click.option("-a", "--all", "report_all", is_flag=True, help="Report all hits.")
@click.option(
    "-m", "at_most", type=options.COUNT, metavar="N", help="Report no hit of a read with more than N."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**62), help="Draw the reported hits by this seed and the read's name."
)
@click.option("--forward-only", is_flag=True, help="Only the strand as given.")
@click.option("--reverse-only", is_flag=True, help="Only the reverse complement.")
@click.option("--no-unmapped", is_flag=True, help="No records of reads without a reported hit.")
@click.option("--rg", metavar="LINE", help=r"Read group, for example '@RG\tID:lane1\tSM:sample'.")
@click.option(
    "--counts", type=click.Path(), metavar="FILE", help="Also write reads and hits per contig (TSV)."
)
@options.layout
@options.method
@options.max_memory
@options.engine
@options.device
@options.gpu_memory
@options.threads
@options.quiet
def command(reads, index_path, output, limit, report_all, at_most, seed, forward_only, reverse_only,
            no_unmapped, rg, counts, layout, method, max_memory, engine, device, gpu_memory, threads,
            quiet):  # fmt: skip
    """Map READS, FASTA or FASTQ files (plain, gzip, bgzf; - for standard input), in order.

    Writes one SAM record per read; NH is the exact number of occurrences. -o NAME.bam writes BAM.
    """
    if forward_only and reverse_only:
        raise click.UsageError("--forward-only and --reverse-only exclude each other")
    if report_all and limit != 1:
        raise click.UsageError("-a and -k exclude each other")
    read_group, read_group_id = _read_group(rg)
    from ... import workflow
    from ...machines.progress import Progress
    from ...search.hits import ALL, SelectionPolicy
    from ...search.mapping import BOTH, FORWARD, REVERSE, MapOptions
    from ..places import check_places

    strands = FORWARD if forward_only else REVERSE if reverse_only else BOTH
    policy = SelectionPolicy(ALL if report_all else limit, at_most or ALL, -1 if seed is None else seed)
    where = workflow.Output(
        output, workflow.kind_of(output), not no_unmapped, read_group, read_group_id, counts
    )
    index_path = options.find_index(index_path)
    check_places(reads, {"-o": (output, ["SAM", "BAM"]), "--counts": (counts, ["TSV"])}, index_path)
    fm_index = options.open_index(index_path, layout, method, threads, max_memory)
    gpu = workflow.Device(engine, device, int(gpu_memory * 10**9) if gpu_memory else None)
    workflow.search(fm_index, reads, MapOptions(policy, strands, threads), where, Progress(quiet), gpu)


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
