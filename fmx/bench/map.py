"""fmx bench map: the whole command against bowtie and yara, same reads, same threads, caches warm."""

import shutil

import click

from .. import options
from ..errors import FmxError
from .kit.options import count, length, runs, work

# What a peer is called by, to index and to map, with {fasta} {reads} {threads} {prefix} {out}.
_BOWTIE = "bowtie -p {threads} -v 0 -S -x {prefix} {reads} {out}"
_BOWTIE_BUILD = "bowtie-build -q --threads {threads} {fasta} {prefix}"
PEERS = {
    "bowtie": (_BOWTIE_BUILD, f"{_BOWTIE} -k 1", "bowtie -v 0 -k 1"),
    "bowtie-a": (_BOWTIE_BUILD, f"{_BOWTIE} -a", "bowtie -v 0 -a"),
    "yara": (
        "yara_indexer -o {prefix} {fasta}", "yara_mapper -t {threads} -e 0 -o {out} {prefix} {reads}",
        "yara -e 0",
    ),
}  # fmt: skip


@click.command()
@click.argument("reference", type=click.Path(exists=True))
@click.argument("reads", nargs=-1, type=click.Path(exists=True))
@count("--simulate", default=None, help="Instead of READS: N error-free reads of it.")
@length
@click.option(
    "--peer", "peers", type=click.Choice(PEERS), multiple=True, default=["bowtie"], show_default=True,
    help="Whom to compare with: bowtie -v 0 -k 1, bowtie -v 0 -a, yara -e 0.",
)  # fmt: skip
@runs
@click.option("--gzip", "zipped", is_flag=True, help="Give the reads as gzip.")
@click.option("--bam", is_flag=True, help="Also time BAM output.")
@work
@options.threads
def command(**given):
    """Time fmx and other mappers, side by side.

    Indexes REFERENCE and maps READS with each in turn. Prints medians of the wall time of whole commands. Put
    --work on a RAM disk: reads, indexes and outputs lie there.
    """
    if bool(given["reads"]) == bool(given["simulate"]):
        raise click.UsageError("give READS or --simulate N")
    from ..measure import timing
    from .kit.files import work_folder, write_plain, write_reads

    tools = dict.fromkeys(line.split()[0] for peer in given["peers"] for line in PEERS[peer][:2])
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        raise FmxError(f"not installed: {', '.join(missing)}")
    n_runs = given["n_runs"]
    with work_folder(given["work"]) as folder:
        fasta, reads = write_plain([given["reference"]], folder / "reference.fa"), folder / "reads.fq"
        if given["simulate"]:
            n_reads = write_reads(fasta, given["simulate"], given["length"], reads)
        else:
            n_reads = _count_records(write_plain(given["reads"], reads))
        if given["zipped"]:
            timing.run(["gzip", "-kf1", reads])
            reads = folder / "reads.fq.gz"
        machine = f"{timing.machine()}; {given['threads']} threads"
        click.echo(f"machine: {machine}; medians of {n_runs} runs of whole commands")
        builds, maps = _commands(fasta, reads, folder, given)
        _report("index", timing.medians(builds, n_runs))
        _report("map", timing.medians(maps, n_runs), n_reads)


def _commands(fasta, reads, folder, given) -> tuple:
    """({name: build command}, {name: map command})."""
    from ..measure.timing import fmx_command

    threads, index, sam = given["threads"], folder / "fmx.fmx", folder / "fmx.sam"
    search = ["search", "-q", "-t", threads, "-x", index, reads, "-o"]
    builds = {"fmx": fmx_command("index", "-q", "-t", threads, fasta, "-o", index)}
    maps = {"fmx": fmx_command(*search, sam)}
    if given["bam"]:
        maps["fmx to BAM"] = fmx_command(*search, folder / "fmx.bam")
    if "bowtie-a" in given["peers"]:
        maps["fmx -a"] = fmx_command(*search, sam, "-a")
    for build, search_by, name in (PEERS[peer] for peer in given["peers"]):
        tool = build.split()[0]
        at = {"fasta": fasta, "reads": reads, "threads": threads, "prefix": folder / tool}
        builds[tool] = [word.format(**at) for word in build.split()]
        maps[name] = [word.format(**at, out=folder / f"{tool}.sam") for word in search_by.split()]
    return builds, maps


def _report(what, found, n_reads=None) -> None:
    """A row for each command; those that give all hits against fmx -a."""
    from ..measure.tables import markdown

    rows = []
    for name, run in found.items():
        base = found.get("fmx -a", found["fmx"]) if name.endswith(" -a") else found["fmx"]
        row = {what: name, "wall s": run.wall, "CPU s": run.cpu}
        row |= {"reads/s": n_reads / run.wall} if n_reads else {}
        rows.append(row | {"times fmx": run.wall / base.wall})
    click.echo("\n" + markdown(rows), nl=False)


def _count_records(path) -> int:
    from ..input.reads import parse
    from ..input.spans import read_chunks

    return sum(parse(chunk).length.size for chunk in read_chunks([path]))
