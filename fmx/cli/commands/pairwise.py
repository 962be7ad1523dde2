"""``fmx pairwise``: global alignments of all pairs above an identity."""

import click

from ... import options

_SCORE = click.IntRange(-(2**31 // 3), 2**31 // 3)
_DEFINITIONS = click.Choice(["0", "1", "2", "3", "4"])


@click.command("pairwise", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("seqs", metavar="SEQS.FA")
@click.argument("other", metavar="[OTHER.FA]", required=False)
@click.option("--id", "identity", type=options.Number(0, 1), default=0.0, help="Least identity, 0 to 1.")
@click.option(
    "--iddef",
    type=_DEFINITIONS,
    default="1",
    show_default=True,
    help="Identity as vsearch numbers it: matches over 0 the shorter sequence, 1 the alignment, 2 the "
    "alignment without terminal gaps; 3 one minus mismatches and gap openings over the longer; 4 as 1.",
)
@click.option("--match", type=_SCORE, default=4, show_default=True, help="Score of equal letters.")
@click.option("--mismatch", type=_SCORE, default=-5, show_default=True, help="Score of unequal letters.")
@click.option("--gap", type=_SCORE, default=-10, show_default=True, help="Score of one gap symbol.")
@options.output
@click.option("--paf", is_flag=True, help="Write PAF instead of a table with a header line.")
@click.option("--cigar", is_flag=True, help="Add the path of each alignment.")
@click.option(
    "--matrix",
    type=click.Choice(["score", "identity"]),
    help="Write all values as a matrix: npz if FILE ends so, else PHYLIP (one input only).",
)
@click.option("--checkpoint", metavar="FILE", help="Keep finished work here; a killed run resumes from it.")
@options.threads
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "both"]),
    default="cpu",
    show_default=True,
    help="Who computes scores; paths are always traced on the CPU.",
)
@click.option("--no-prefilter", is_flag=True, help="Score every pair, also those ruled out beforehand.")
@options.quiet
def command(**given):
    """Align all pairs of SEQS.FA (or SEQS.FA x OTHER.FA) from end to end.

    \b
    fmx pairwise genes.fa --id 0.97 --cigar > close.tsv
    fmx pairwise genes.fa --matrix identity -o genes.npz
    """
    form = _form(given)
    from ... import workflow
    from ...align.journey import PairOptions, PairOutput
    from ...align.scoring import Scoring
    from ...align.sequences import check_begin
    from ...machines.progress import Progress
    from ..places import check_places

    inputs = [path for path in (given["seqs"], given["other"]) if path]
    outputs = {"-o": (given["output"], [form.upper()]), "--checkpoint": (given["checkpoint"], [])}
    check_places(inputs, outputs, check=check_begin)
    scoring = Scoring(given["match"], given["mismatch"], given["gap"])
    prefilter = not given["no_prefilter"]
    wanted = PairOptions(scoring, int(given["iddef"]), given["identity"], prefilter, given["threads"])
    where = PairOutput(given["output"], form, given["cigar"], given["matrix"], given["checkpoint"])
    workflow.align_pairs(
        inputs, wanted, where, Progress(given["quiet"]), workflow.Device(given["device"], None)
    )


def _form(given) -> str:
    """Which output is wanted; refuses what contradicts itself."""
    if given["matrix"] is None:
        return "paf" if given["paf"] else "tsv"
    for name in ("paf", "cigar"):
        if given[name]:
            raise click.UsageError(f"--matrix and --{name} exclude each other")
    if given["identity"] > 0:
        raise click.UsageError("--matrix holds every pair: leave --id out")
    if given["output"].lower().endswith(".npz"):
        return "npz"
    if given["other"]:
        raise click.UsageError("PHYLIP needs a square matrix: give one input, or -o FILE.npz")
    return "phylip"
