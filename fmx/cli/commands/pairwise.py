"""``fmx pairwise``: global alignments of all pairs above an identity."""

from types import SimpleNamespace

import click

from ... import limits, options
from ...output import kinds_of

_MATRIX = "npz", "phylip"
_SCORE = options.Number(*limits.SCORE)
_DEFINITIONS = click.Choice([str(i) for i in range(limits.IDENTITIES[0], limits.IDENTITIES[1] + 1)])


@options.command
@click.argument("seqs", metavar="SEQS.FA")
@click.argument("other", metavar="[OTHER.FA]", required=False)
@click.option(
    "--id", "identity", type=options.Number(*limits.SHARE, float), default=0.0,
    help="Leave out pairs of less identity than this, 0 to 1.",
)  # fmt: skip
@click.option(
    "--iddef", type=_DEFINITIONS, default="1", show_default=True,
    help="How identity is counted, numbered as by vsearch: matches over the shorter sequence (0), over the "
    "alignment (1 and 4), over the alignment without the gaps at its ends (2); one minus mismatches and gap "
    "openings over the longer sequence (3).",
)  # fmt: skip
@click.option("--match", type=_SCORE, default=4, show_default=True, help="Score of equal letters.")
@click.option("--mismatch", type=_SCORE, default=-5, show_default=True, help="Score of unequal letters.")
@click.option("--gap", type=_SCORE, default=-10, show_default=True, help="Score of a letter against a gap.")
@options.output
@click.option(
    "--format", "kind", type=click.Choice([*kinds_of("pairwise"), "npz", "phylip"]),
    show_default=options.by_name("tsv"),
    help="What to write: TSV with a header line, or PAF; with --matrix npz or PHYLIP.",
)  # fmt: skip
@options.former("--paf", "--format paf")
@click.option("--cigar", is_flag=True, help="Add each alignment as a CIGAR.")
@click.option(
    "--matrix", type=click.Choice(["score", "identity"]),
    help="Write all pairs as a matrix instead: npz, or PHYLIP (one input only), by default.",
)  # fmt: skip
@click.option("--checkpoint", metavar="FILE", help="Keep finished work here; a killed run resumes from it.")
@options.sharing
@options.processors
@options.all_gpus
@options.threads
@click.option(
    "--no-prefilter",
    is_flag=True,
    help="Score every pair, also those that the filter by short words would drop.",
)
@options.quiet
def command(given: SimpleNamespace) -> None:
    """Align all pairs of sequences from end to end.

    Pairs are those of one FASTA file, or each sequence of SEQS.FA with each of OTHER.FA.

    \b
    fmx pairwise genes.fa --id 0.97 --cigar > close.tsv
    fmx pairwise genes.fa --matrix identity -o genes.npz
    """
    kind, formats = _format(given)
    from ...align.journey import PairOptions, PairOutput
    from ...align.sequences import Scoring, check_begin
    from ...jobs.pairwise import PairJob
    from ..dispatch import do, places_of
    from ..places import check_places

    job = PairJob(
        tuple(path for path in (given.seqs, given.other) if path),
        PairOptions(
            Scoring(given.match, given.mismatch, given.gap), int(given.iddef), given.identity,
            not given.no_prefilter,
        ),
        PairOutput(given.output, kind, given.cigar, given.matrix, given.checkpoint),
    )  # fmt: skip
    outputs = {"-o": (given.output, formats), "--checkpoint": (given.checkpoint, [])}
    check_places(job.inputs, places_of(given, outputs), check=check_begin)
    do(given, job, n_gpus=None)


def _format(given: SimpleNamespace) -> tuple:
    """What places.format_of says of -o.  Raises UsageError for what contradicts itself."""
    from ..places import format_of

    if given.matrix is None:
        if given.kind in _MATRIX:
            raise click.UsageError(f"--format {given.kind} holds a matrix: give --matrix with it")
        return format_of(given.kind, given.output, kinds_of("pairwise"), "tsv")
    if given.cigar:
        raise click.UsageError("give only one of --matrix and --cigar")
    if given.kind and given.kind not in _MATRIX:
        raise click.UsageError(f"a matrix is npz or PHYLIP: leave out --format {given.kind}")
    if given.identity > 0:
        raise click.UsageError("--matrix holds every pair: leave --id out")
    kind, formats = format_of(given.kind, given.output, _MATRIX, "phylip")
    if kind == "phylip" and given.other:
        raise click.UsageError("PHYLIP needs a square matrix: give one input, or -o FILE.npz")
    return kind, formats
