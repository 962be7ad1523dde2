"""fmx search: map reads to an index; SAM, BAM or a table out."""

import click

from ... import limits, options
from ..reads import files_of, pairing, pairing_of, reading, reading_of, reads, tell_of_mates
from ..writing import output_of, writing


@options.command
@reads
@options.indexes
@click.option(
    "-k", "limit", type=options.COUNT, default=1, show_default=True, help="Report up to N hits of each read."
)
@click.option("-a", "--all", "report_all", is_flag=True, help="Report every hit.")
@click.option(
    "-m", "at_most", type=options.COUNT, metavar="N",
    help="Treat reads with more than N occurrences as unmapped.",
)  # fmt: skip
@options.mismatches
@click.option("--strata", is_flag=True, help="Of a read's hits, keep those with the fewest mismatches.")
@click.option(
    "--seed", type=options.Number(*limits.SEED), help="Choose hits at random; same seed, same choice."
)
@options.strands
@pairing
@reading
@writing
@options.sharing
@options.searching
def command(given):
    """Map reads to an index.

    READS are FASTA or FASTQ files, plain or compressed; - is standard input. Writes SAM, or what the suffix
    of -o NAME says, a record for each hit, in the order of the reads. NH is the exact number of occurrences.
    With several -x it is a screen: without -o it writes a table of reads by the indexes that they occur in.
    """
    if given.report_all and given.limit != 1:
        raise click.UsageError("give only one of -a and -k")
    from ..sampling import runs_of, samples_of

    samples = samples_of(given)
    has_mates = bool(samples and samples[0].second)
    lie = pairing_of(given, has_mates)
    output, outputs_of = output_of(given, has_mates or bool(given.mates1))
    if given.strata and not given.mismatches:
        raise click.UsageError("--strata chooses by mismatches: give --mismatches 1 or 2 with it")
    from ...search.hits import ALL, SelectionPolicy
    from ...search.mapping import MapOptions, Near
    from ..mapping import Run, map_to_index

    limit, seed = ALL if given.report_all else given.limit, -1 if given.seed is None else given.seed
    policy = SelectionPolicy(0 if output.kind == "nothing" else limit, given.at_most or ALL, seed)
    near = Near(given.mismatches, strata=given.strata) if given.mismatches else None
    wanted = MapOptions(policy, near=near, pairing=lie, **reading_of(given))
    if samples:
        from ..places import anything, check_places

        runs, outputs = runs_of(given, samples, lie, output, outputs_of)
        check_places([given.samples], outputs, check=anything)
    else:
        first, outputs = given.mates1 or given.reads, outputs_of(output)
        runs = [Run((*first, *given.mates2), output, files_of(first, given.mates2, lie, given.reference))]
    map_to_index("search", given, runs, outputs, wanted)
    tell_of_mates(given)
