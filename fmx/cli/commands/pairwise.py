"""``fmx pairwise``: global alignments of all pairs above an identity threshold."""

from types import SimpleNamespace

import click

from ... import limits
from ...output import kinds_of
from .. import options

_MATRIX = "npz", "phylip"
_SCORE = options.number(*limits.SCORE)
_DEFINITIONS = click.Choice([str(i) for i in range(limits.IDENTITIES[0], limits.IDENTITIES[1] + 1)])


@options.command
@click.argument("seqs", metavar="SEQS.FA")
@click.argument("other", metavar="[OTHER.FA]", required=False)
@options.group(
    "Alignment",
    click.option("--id", "identity", type=options.number(*limits.SHARE, float), default=0.0,
                 help="Report only pairs of at least this identity, 0 to 1."),
    click.option("--iddef", type=_DEFINITIONS, default="1",
                 help="Definition of identity, numbered as in vsearch: matches / shorter sequence (0), / "
                 "alignment (1 and 4), / alignment without terminal gaps (2); 1 - (mismatches + gap "
                 "openings) / longer sequence (3)."),
    click.option("--match", type=_SCORE, default=4, help="Score of a match."),
    click.option("--mismatch", type=_SCORE, default=-5, help="Score of a mismatch."),
    click.option("--gap", type=_SCORE, default=-10, help="Score of each base in a gap."),
    click.option("--no-prefilter", is_flag=True,
                 help="Align all pairs; by default, those that share too few k-mers to reach --id are "
                 "skipped."),
)  # fmt: skip
@options.group(
    "Output",
    options.output,
    options.output_format(
        [*kinds_of("pairwise"), *_MATRIX], "tsv, with --matrix phylip",
        "tsv or paf; with --matrix npz or phylip",
    ),
    click.option("--cigar", is_flag=True, help="Add the CIGAR string of each alignment."),
    click.option("--matrix", type=click.Choice(["score", "identity"]),
                 help="Write a matrix of all pairs instead; PHYLIP needs a single input."),
)  # fmt: skip
@options.sharing
@options.on_processors
@options.running
def command(args: SimpleNamespace) -> None:
    """Align all pairs of DNA or RNA sequences globally.

    The pairs are those of one FASTA file, or each sequence of SEQS.FA with each of OTHER.FA.

    Examples:
    fmx pairwise genes.fa --id 0.97 --cigar > close.tsv
    fmx pairwise genes.fa --matrix identity -o genes.npz
    """
    kind = _format(args)
    from ...machines.progress import Progress

    for name, score in (("gap", args.gap), ("mismatch", args.mismatch)):
        if score > 0:
            reward = f"--{name} {score} raises the score of an alignment"
            Progress(args.quiet, warns=True).warn(f"{reward}; a penalty is --{name} -{score}")
    from ...align.pipeline import PairOptions, PairOutput
    from ...align.sequences import Scoring, check_begin
    from ...jobs.pairwise import PairJob
    from ..dispatch import run_job

    scoring = Scoring(args.match, args.mismatch, args.gap)
    job = PairJob(
        tuple(path for path in (args.seqs, args.other) if path),
        PairOptions(scoring, int(args.iddef), args.identity, not args.no_prefilter),
        PairOutput(args.output, kind, cigar=args.cigar, values=args.matrix),
    )
    run_job(args, job, check=check_begin)


def _format(args: SimpleNamespace) -> str:
    """Return the format of -o.  Raises UsageError."""
    kinds, usual = (_MATRIX, "phylip") if args.matrix else (kinds_of("pairwise"), "tsv")
    options.refuse(
        (args.matrix and args.cigar, "give only one of --matrix and --cigar"),
        (args.matrix and args.identity > 0, "--matrix writes every pair: leave out --id"),
    )
    kind = options.format_of(args.kind, args.output, kinds, usual)
    is_rectangle = kind == "phylip" and args.other
    options.refuse((is_rectangle, "PHYLIP needs a square matrix: give one input, or -o FILE.npz"))
    return kind
