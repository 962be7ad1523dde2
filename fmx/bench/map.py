"""fmx bench map: the whole command against bowtie and yara, same reads, same threads, caches warm."""

import shutil

import click

from .. import options
from ..errors import FmxError
from .kit.options import count, length, runs, work

# What a peer is called by, to index and to map, with {fasta} {reads} {threads} {prefix}, and to name a file.
_BOWTIE = "bowtie -p {threads} -v {mismatches} -S"
_READS = "-x {prefix} {reads}"
_BOWTIE_BUILD = "bowtie-build -q --threads {threads} {fasta} {prefix}"
PEERS = {
    "bowtie": (_BOWTIE_BUILD, f"{_BOWTIE} -k 1 {_READS}", "{out}", "bowtie -v {mismatches} -k 1"),
    "bowtie-a": (_BOWTIE_BUILD, f"{_BOWTIE} -a {_READS}", "{out}", "bowtie -v {mismatches} -a"),
    "yara": (
        "yara_indexer -o {prefix} {fasta}", "yara_mapper -t {threads} -e 0 {prefix} {reads}",
        "-o {out}", "yara -e 0",
    ),
}  # fmt: skip
PIPED = ["bash", "-o", "pipefail", "-c", '"$@" | cat > /dev/null', "bash"]  # another process reads


@click.command(cls=options.Command)
@click.argument("reference", type=click.Path(exists=True))
@click.argument("reads", nargs=-1, type=click.Path(exists=True))
@count("--simulate", default=None, help="Instead of READS: N error-free reads of it.")
@length
@click.option(
    "--changed",
    type=options.Number(0.0, 1.0, float),
    default=0.0,
    metavar="X",
    help="Of the letters of simulated reads, change a share of X.",
)
@options.mismatches
@click.option(
    "--peer", "peers", type=click.Choice(PEERS), multiple=True, default=["bowtie"], show_default=True,
    help="Whom to compare with: bowtie -v 0 -k 1, bowtie -v 0 -a, yara -e 0; -v as --mismatches says.",
)  # fmt: skip
@runs
@click.option("--gzip", "zipped", is_flag=True, help="Give the reads as gzip.")
@click.option("--bam", is_flag=True, help="Also time BAM output.")
@click.option(
    "--to", "targets", type=click.Choice(["file", "pipe", "null"]), multiple=True, default=["file"],
    show_default=True, help="Where the records go: a file, a pipe to cat, /dev/null. May be repeated.",
)  # fmt: skip
@work
@options.threads
def command(**given):
    """Time fmx and other mappers, side by side.

    Indexes REFERENCE and maps READS with each in turn. Prints medians of the wall time of whole commands. Put
    --work on a RAM disk: reads, indexes and outputs lie there. The pages of a file there cost time, too.
    """
    if bool(given["reads"]) == bool(given["simulate"]):
        raise click.UsageError("give READS or --simulate N")
    if given["mismatches"] and "yara" in given["peers"]:
        raise click.UsageError("yara counts gaps, too: compare --mismatches with bowtie")
    from ..measure import timing
    from .kit.files import work_folder, write_plain, write_reads

    tools = dict.fromkeys(line.split()[0] for peer in given["peers"] for line in PEERS[peer][:2])
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        raise FmxError(f"not installed: {', '.join(missing)}")
    n_runs = given["n_runs"]
    with work_folder(given["work"]) as folder:
        fasta, reads = write_plain([given["reference"]], folder / "reference.fa"), folder / "reads.fq"
        if given["simulate"]:
            how = given["length"], reads
            n_reads = write_reads(fasta, given["simulate"], *how, changed=given["changed"])
        else:
            n_reads = _count_records(write_plain(given["reads"], reads))
        if given["zipped"]:
            timing.run(["gzip", "-kf1", reads])
            reads = folder / "reads.fq.gz"
        machine = f"{timing.machine()}; {given['threads']} threads"
        click.echo(f"machine: {machine}; medians of {n_runs} runs of whole commands")
        builds, maps = _commands(fasta, reads, folder, given)
        _report("index", timing.medians(builds, n_runs))
        for target, commands in maps.items():
            _report(f"map to {target}", timing.medians(commands, n_runs), n_reads)


def _commands(fasta, reads, folder, given) -> tuple:
    """({name: build command}, {where to: {name: map command}})."""
    from ..measure.timing import fmx_command

    threads, index = given["threads"], folder / "fmx.fmx"
    builds = {"fmx": fmx_command("index", "-q", "-t", threads, fasta, "-o", index)}
    near = ["--mismatches", given["mismatches"]] if given["mismatches"] else []
    mappers = {"fmx": fmx_command("search", "-q", "-t", threads, *near, "-x", index, reads)}
    naming = {"fmx": ["-o", folder / "fmx.sam"]}
    if "bowtie-a" in given["peers"]:
        mappers["fmx -a"], naming["fmx -a"] = [*mappers["fmx"], "-a"], naming["fmx"]
    for build, search_by, to_file, name in (PEERS[peer] for peer in given["peers"]):
        tool = build.split()[0]
        at = {"fasta": fasta, "reads": reads, "threads": threads, "prefix": folder / tool}
        at["mismatches"] = given["mismatches"]
        name = name.format(**at)
        builds[tool] = [word.format(**at) for word in build.split()]
        mappers[name] = [word.format(**at) for word in search_by.split()]
        naming[name] = to_file.format(out=folder / f"{tool}.sam").split()
    maps: dict = {}
    for target in given["targets"]:
        before = PIPED if target == "pipe" else []
        maps[target] = {
            name: [*before, *words, *(naming[name] if target == "file" else [])]
            for name, words in mappers.items()
        }
    if given["bam"]:
        maps.setdefault("file", {"fmx": [*mappers["fmx"], *naming["fmx"]]})
        maps["file"]["fmx to BAM"] = [*mappers["fmx"], "-o", folder / "fmx.bam"]
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
