"""fmx merge: one result from the shards of a run."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click

from .. import options

_ALIGNMENTS = ["sam", "bam", "cram"]


@options.command
@click.argument("folder", type=click.Path())
@options.group("Output", options.output_option(help="Output file."))
@options.quiet
def command(args: SimpleNamespace) -> None:
    """Merge the shards of a run.

    FOLDER is what was given as -o to fmx search, locate, mem, pairwise, count or offtargets with --shard. It
    must contain all shards of the run. The records are those of a run without --shard, in the format of the
    shards, or in SAM, BAM or CRAM by the suffix of -o if the shards hold another of these, not sorted.
    Tables, reads and reports are written to the files that the shards were given.

    Examples:
    fmx merge hits.d -o hits.bam
    """
    from ...input.streams import STANDARD
    from ...jobs.merge import manifests, merge, output_of, say_shards
    from ...machines.progress import Progress
    from ..dispatch import check_clashes

    shards = manifests(args.folder)
    output, container = output_of(shards[0], args.output), None
    if output.kind == "nothing":
        tables = {option: args.output if path == STANDARD else path for option, path in output.tables.items()}
        what = f"-o {args.output}: the shards in {args.folder} contain no records: leave out -o"
        options.refuse((args.output != STANDARD and tables == output.tables, what))
        options.check_suffix("-o", args.output, ["tsv"])
        output = replace(output, path=None, tables=tables)
    else:
        may_convert = output.kind in _ALIGNMENTS and not shards[0].container.get("index")
        kinds = _ALIGNMENTS if may_convert else [output.kind]
        if (kind := options.format_of(None, args.output, kinds, output.kind)) != output.kind:
            from ...output.formats.bam import Samtools

            container = Samtools(kind, None, None)
    check_clashes([], output.places.items())
    progress = Progress(args.quiet, warns=True)
    merge(Path(args.folder), shards, output, progress, container=container)
    say_shards(progress, shards, f"{sum(shard.seconds for shard in shards):,.1f} s of computing time")
