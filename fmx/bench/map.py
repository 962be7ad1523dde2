"""fmx bench map: the whole command against bowtie and yara, same reads, same threads, caches warm."""

import shutil
import tempfile
from pathlib import Path

import click

from .. import options
from ..errors import FmxError

PEERS = ("bowtie", "bowtie-a", "yara")


@click.command()
@click.argument("reference", type=click.Path(exists=True))
@click.argument("reads", nargs=-1, type=click.Path(exists=True))
@click.option(
    "--simulate", type=click.IntRange(1), metavar="N", help="Instead of READS: N error-free reads of it."
)
@click.option(
    "--length", type=click.IntRange(1), default=100, show_default=True, help="Bases of a simulated read."
)
@click.option(
    "--peer", "peers", type=click.Choice(PEERS), multiple=True, default=["bowtie"], show_default=True,
    help="Whom to compare with: bowtie -v 0 -k 1, bowtie -v 0 -a, yara -e 0.",
)  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(1), default=3, show_default=True, help="Counted runs of each command."
)
@click.option("--gzip", "zipped", is_flag=True, help="Give the reads as gzip.")
@click.option("--bam", is_flag=True, help="Also time BAM output.")
@click.option("--work", type=click.Path(), help="Folder to work in and keep [default: a temporary one].")
@options.threads
def command(reference, reads, simulate, length, peers, runs, zipped, bam, work, threads):
    """Time fmx and other mappers, side by side.

    Indexes REFERENCE and maps READS with each in turn. Prints medians of the wall time of whole commands. Put
    --work on a RAM disk: reads, indexes and outputs lie there.
    """
    if bool(reads) == bool(simulate):
        raise click.UsageError("give READS or --simulate N")
    from ..measure import timing
    from .kit.simulate import write_reads

    missing = [tool for tool in _tools(peers) if shutil.which(tool) is None]
    if missing:
        raise FmxError(f"not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(work or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        fasta = plain(reference, folder)
        if simulate:
            reads = [folder / f"reads_{simulate}_{length}.fq"]
            n_reads = write_reads(fasta, simulate, length, reads[0])
        else:
            reads, n_reads = [_joined(reads, folder)], None
        if zipped:
            timing.run(["gzip", "-kf1", reads[0]])
            reads = [Path(f"{reads[0]}.gz")]
        click.echo(
            f"machine: {timing.machine()}; {threads} threads; medians of {runs} runs of whole commands"
        )
        builds, maps = _commands(fasta, reads[0], peers, threads, folder, bam)
        _report("index", timing.in_turn(builds, runs), None)
        _report("map", timing.in_turn(maps, runs), n_reads or _count_records(reads[0]))


def _tools(peers) -> list:
    needed = {"bowtie": ["bowtie", "bowtie-build"], "yara": ["yara_mapper", "yara_indexer"]}
    return [tool for peer in peers for tool in needed[peer.split("-")[0]]]


def _commands(fasta, reads, peers, threads, folder, bam):
    """({name: build command}, {name: map command})."""
    from ..measure.timing import fmx_command

    index, sam = folder / "fmx.fmx", folder / "fmx.sam"
    search = ["search", "-q", "-t", threads, "-x", index, reads, "-o"]
    builds = {"fmx": fmx_command("index", "-q", "-t", threads, fasta, "-o", index)}
    maps = {"fmx": fmx_command(*search, sam)}
    if bam:
        maps["fmx to BAM"] = fmx_command(*search, folder / "fmx.bam")
    if "bowtie-a" in peers:
        maps["fmx -a"] = fmx_command(*search, sam, "-a")
    if "bowtie" in peers or "bowtie-a" in peers:
        prefix = str(folder / "bowtie")
        builds["bowtie-build"] = ["bowtie-build", "-q", "--threads", str(threads), str(fasta), prefix]
        common = [
            "bowtie",
            "-p",
            str(threads),
            "-v",
            "0",
            "-S",
            "-x",
            prefix,
            str(reads),
            str(folder / "peer.sam"),
        ]
        if "bowtie" in peers:
            maps["bowtie -v 0 -k 1"] = [*common, "-k", "1"]
        if "bowtie-a" in peers:
            maps["bowtie -v 0 -a"] = [*common, "-a"]
    if "yara" in peers:
        prefix = str(folder / "yara")
        builds["yara_indexer"] = ["yara_indexer", "-o", prefix, str(fasta)]
        maps["yara -e 0"] = [
            "yara_mapper", "-t", str(threads), "-e", "0", "-o", str(folder / "yara.sam"), prefix, str(reads)
        ]  # fmt: skip
    return builds, maps


def _report(what, runs, n_reads) -> None:
    from ..measure.timing import median_wall

    base = {False: median_wall(runs["fmx"]), True: median_wall(runs.get("fmx -a", runs["fmx"]))}
    click.echo(f"\n| {what} | wall s | CPU s | reads/s | times fmx |\n|---|---|---|---|---|")
    for name, items in runs.items():
        wall = median_wall(items)
        cpu = sorted(item.cpu for item in items)[len(items) // 2]
        rate = f"{n_reads / wall:,.0f}" if n_reads else ""
        ratio = wall / base[name.endswith(" -a")]
        click.echo(f"| {name} | {wall:.2f} | {cpu:.2f} | {rate} | {ratio:.2f} |")


def plain(reference, folder) -> Path:
    """The reference as plain FASTA in the work folder, for tools that read nothing else."""
    from ..input.streams import Source

    target = folder / "reference.fa"
    with Source(reference) as source, open(target, "wb") as file:
        _copy(source, file)
    return target


def _joined(reads, folder) -> Path:
    """All reads files, one after the other, as one plain file."""
    from ..input.streams import Source

    target = folder / "reads.fq"
    with open(target, "wb") as file:
        for path in reads:
            with Source(path) as source:
                _copy(source, file)
    return target


def _copy(source, file) -> None:
    import numpy as np

    buffer = np.empty(1 << 22, np.uint8)
    while n := source.readinto(buffer):
        file.write(buffer[:n])


def _count_records(path) -> int:
    from ..input.reads import parse
    from ..input.spans import read_chunks

    return sum(parse(chunk).length.size for chunk in read_chunks([path]))
