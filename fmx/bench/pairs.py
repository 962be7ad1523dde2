"""fmx bench pairs: what pairing costs beside the same reads by themselves, and beside bowtie's pairs."""

import shutil

import click

from .. import options
from .kit.options import count, length, runs, work

INSERT = 300  # bases of a simulated fragment
MOST = 500


@click.command(cls=options.Command)
@click.argument("reference", type=click.Path(exists=True))
@click.argument("mates", nargs=-1, type=click.Path(exists=True), metavar="[R1 R2]")
@count("--simulate", default=None, help="Instead of R1 and R2: N error-free pairs of it.")
@length
@runs
@click.option("--bowtie", is_flag=True, help="Also time bowtie -v 0.")
@work
@options.threads
def command(reference, mates, **given):
    """Time fmx search of pairs.

    Maps mates as single reads and as pairs, in turn, to a file. Prints medians of the wall time of whole
    commands. Put --work on a RAM disk.
    """
    simulate, threads, bowtie = given["simulate"], given["threads"], given["bowtie"]
    if bool(simulate) == bool(mates) or len(mates) not in (0, 2):
        raise click.UsageError("give R1 and R2, or --simulate N")
    if bowtie and shutil.which("bowtie") is None:
        raise click.UsageError("bowtie is not installed")
    from ..measure import timing
    from ..measure.tables import markdown
    from .kit.files import work_folder, write_pairs, write_plain

    with work_folder(given["work"]) as folder:
        fasta, reads = write_plain([reference], folder / "reference.fa"), (folder / "1.fq", folder / "2.fq")
        if simulate:
            write_pairs(fasta, simulate, (given["length"], INSERT), reads)
        else:
            for path, target in zip(mates, reads, strict=True):
                write_plain([path], target)
        index, out = folder / "fmx.fmx", ["-o", folder / "out.sam"]
        timing.run(timing.fmx_command("index", "-q", "-t", threads, fasta, "-o", index))
        search = timing.fmx_command("search", "-q", "-t", threads, "-x", index, *out)
        as_mates = ["-1", reads[0], "-2", reads[1]]
        commands = {"fmx, single reads": [*search, *reads], "fmx, pairs": [*search, *as_mates]}
        if bowtie:
            timing.run(["bowtie-build", "-q", "--threads", threads, fasta, folder / "bowtie"])
            search = ["bowtie", "-v", "0", "-S", "-k", "1", "-p", threads, "-x", folder / "bowtie"]
            commands["bowtie -v 0, pairs"] = [*search, "-X", MOST, *as_mates, folder / "bowtie.sam"]
        click.echo(f"machine: {timing.machine()}; {threads} threads; medians of {given['n_runs']} runs")
        found = timing.medians(commands, given["n_runs"])
        base = found["fmx, single reads"].wall
        rows = [
            {"map": name, "wall s": run.wall, "CPU s": run.cpu, "times single reads": run.wall / base}
            for name, run in found.items()
        ]
        click.echo("\n" + markdown(rows), nl=False)
