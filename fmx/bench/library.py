"""fmx bench library: reads that a Python program gives in a list or a dict, against the same in a file."""

import click

from .. import options
from .kit.options import count, length, runs, work


@click.command(cls=options.Command)
@click.argument("reference", type=click.Path(exists=True))
@count("--simulate", default="1M", help="Error-free reads of it.")
@length
@runs
@work
@options.threads
def command(**given):
    """Time the Python library.

    Searches and counts the same reads as a FASTQ file, and as str and bytes in lists and a dict, in turn, in
    one process. Prints medians.
    """
    from ..library.opening import from_sequences
    from ..measure import timing
    from ..measure.tables import markdown
    from .kit.files import medians, work_folder, write_reads

    index = from_sequences(given["reference"], threads=given["threads"])
    with work_folder(given["work"]) as folder:
        path = folder / "reads.fq"
        n = write_reads(given["reference"], given["simulate"], given["length"], path)
        with open(path) as file:
            lines = file.read().split("\n")
        names, letters = [line[1:] for line in lines[0:-1:4]], lines[1::4]
        ways = {
            "FASTQ": path, "list of str": letters, "list of bytes": [each.encode() for each in letters],
            "dict of str": dict(zip(names, letters, strict=True)),
        }  # fmt: skip
        click.echo(
            f"machine: {timing.machine()}; {given['threads']} threads; medians of {given['n_runs']} runs"
        )
        for ask in (index.search, index.count):
            found = medians({name: (ask, reads) for name, reads in ways.items()}, given["n_runs"])
            rows = [
                {f"{ask.__name__}: reads as": name, "wall s": run.wall, "CPU s": run.cpu,
                 "reads/s": n / run.wall, "times FASTQ": run.wall / found["FASTQ"].wall}
                for name, run in found.items()
            ]  # fmt: skip
            click.echo("\n" + markdown(rows), nl=False)
