"""fmx locate --pairs: the products of pairs of primers."""

import click

from .. import options
from ..options.finding import find_indexes


def amplify(given) -> None:
    """Write the products that the options ask for.  Raises UsageError for those that mean nothing here."""
    others = {
        "patterns": given.patterns or given.literal, "--iupac": given.iupac,
        "--matrix": given.matrix, "--shard": given.shard,
        "--forward-only": given.forward_only, "--reverse-only": given.reverse_only,
        "--scheduler": given.scheduler or given.scheduler_file,
    }  # fmt: skip
    for name, value in others.items():
        if value:
            what = "--pairs looks for both primers of each line on both strands"
            raise click.UsageError(f"{what}: leave out {name}")
    from ..output.lines import KINDS

    if given.kind and given.kind not in KINDS:
        raise click.UsageError(f"--pairs writes TSV, BED or FASTA, not {given.kind}")
    from .. import workflow
    from ..index.fm_index import load
    from ..input.tables import read_pairs
    from ..machines.progress import Progress
    from ..search.hits import ALL, SelectionPolicy
    from ..search.mapping import MapOptions, Near
    from ..search.products import ProductOutput
    from .places import anything, check_places, format_of

    if given.index_paths[1:]:
        raise click.UsageError("--pairs looks into one index: give one -x")
    (path,) = find_indexes(given.index_paths)
    kind, formats = format_of(given.kind, given.output, KINDS, "tsv")
    if given.absent and kind != "tsv":
        raise click.UsageError(f"--absent adds lines to TSV, not to {kind.upper()}: leave it out")
    check_places([given.pairs], {"-o": (given.output, formats)}, path, anything)
    pairs = read_pairs(given.pairs)
    wants = given.layout, given.method, given.threads, given.max_memory, given.verify
    fm_index = load(path, *wants, with_text=True)
    near = Near(given.mismatches, iupac=True, best_first=False)
    wanted = MapOptions(SelectionPolicy(ALL), n_threads=given.threads, near=near)
    output = ProductOutput(given.output, kind, given.max_size, given.absent)
    device = options.device_of(given)
    workflow.find_products(fm_index, pairs, wanted, output, Progress(given.quiet), device)
