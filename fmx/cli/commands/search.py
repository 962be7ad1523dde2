"""fmx search: map reads to an index."""

from types import SimpleNamespace

import click

from ... import limits, options
from ..outputs import output_of, with_report, writing
from ..reads import files, pairing, pairing_of, reading, reading_of, reads, warn_of_mates


@options.command
@reads
@options.indexes
@files
@reading
@options.group(
    "Hits",
    click.option(
        "-k", "limit", type=options.COUNT, default=1, show_default=True, help="Report up to N hits per read."
    ),
    click.option("-a", "--all", "report_all", is_flag=True, help="Report all hits."),
    click.option(
        "-m",
        "at_most",
        type=options.COUNT,
        metavar="N",
        help="Treat reads with more than N occurrences as unmapped.",
    ),
    options.mismatches,
    click.option("--strata", is_flag=True, help="Report only the hits with the fewest mismatches."),
    options.rare(
        click.option(
            "--seed",
            type=options.Number(*limits.SEED),
            help="Choose the reported hits at random; the same seed, the same hits.",
        )
    ),
    options.strands,
)
@pairing
@writing
@options.sharing
@options.searching
def command(given: SimpleNamespace) -> None:
    """Map reads to an index.

    READS are FASTA, FASTQ, SAM, BAM or CRAM files, compressed or not; - is standard input. Records are
    written in the order of the reads, as SAM unless the suffix of -o or --format names another format. The
    tag NH is the number of occurrences of the read. With several -x, and without -o, the output is a
    table of the indexes that reads occur in.

    Examples:
    fmx search -x ref.fmx reads.fq.gz -o hits.bam
    fmx search -x ref.fmx -1 mates_1.fq.gz -2 mates_2.fq.gz --sort -o pairs.bam
    fmx search -x ref.fmx -a --mismatches 1 --strata reads.fq.gz > hits.sam
    """
    if given.report_all and given.limit != 1:
        raise click.UsageError("give only one of -a and -k")
    samples = []
    if given.samples:
        from ...guides.samples import read_sheet
        from ..samples import jobs_of

        samples = read_sheet(given.samples)
    has_mates = bool(samples and samples[0].second)
    lie = pairing_of(given, has_mates)
    output, outputs_of = output_of(given, has_mates or bool(given.mates1))
    if given.strata and not given.mismatches:
        raise click.UsageError("--strata needs --mismatches 1 or 2")
    from ...jobs.search import ReadInput, SearchJob
    from ...search.hits import ALL, Near, SelectionPolicy
    from ...search.mapping import MapOptions
    from ..dispatch import do_with_index, index_of

    limit, seed = ALL if given.report_all else given.limit, -1 if given.seed is None else given.seed
    policy = SelectionPolicy(0 if output.kind == "nothing" else limit, given.at_most or ALL, seed)
    near = Near(given.mismatches, strata=given.strata) if given.mismatches else None
    reads = ReadInput(given.mates1 or given.reads, given.mates2, given.reference)
    wanted = MapOptions(policy, options.strands_of(given), near=near, pairing=lie, **reading_of(given))
    job = SearchJob(index_of(given), reads, wanted, output)
    jobs, outputs = jobs_of(given, samples, job, outputs_of) if samples else ([job], outputs_of(output))
    do_with_index(given, outputs, *(with_report(given, job) for job in jobs))
    if not given.interleaved:
        warn_of_mates((each.reads for each in jobs), given.quiet)
