"""Whole commands of fmx, timed in turn with those of other programs: map, modes, count, mem and pairwise."""

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import click
import inputs
import numpy as np
import pysam
import runner
from runner import fmx_command

from fmx.cli.options import size
from fmx.errors import FmxError

COUNT: Any = click.types.FuncParamType(lambda text: int(text) if text.isdecimal() else size(text))  # 3M

# modes: the ways of mapping, on the CPU, a GPU or by the rule of --engine auto.

INSERT, MOST = 300, 500  # bases of a simulated fragment, and the most that bowtie allows


class Mode(NamedTuple):
    """Options of fmx search and of bowtie that request the same hits, and the reads for them.

    Reads have ``length`` bases, or those of --length if that is 0. A fraction ``changed`` of the bases is
    replaced, and then some reads hold an N; there is one read in ``fewer`` of --reads.
    """

    fmx: str
    bowtie: str
    length: int = 0
    changed: float = 0.0
    fewer: int = 1
    is_paired: bool = False


_BEST, _ONE, _TWO = "-a --best --strata", "--mismatches 1 -a --strata", "--mismatches 2 -a --strata"
MODES = {
    "exact": Mode("", "-v 0 -k 1"),
    "exact-a": Mode("-a", "-v 0 -a"),
    "counts": Mode(f"--counts {os.devnull}", "-v 0 -k 1"),
    "collapse": Mode("--collapse", "-v 0 -k 1"),
    "pairs": Mode("", f"-v 0 -k 1 -X {MOST}", is_paired=True),
    "pairs-a": Mode("-a", f"-v 0 -a -X {MOST}", is_paired=True),
    "near-pairs": Mode("--mismatches 1 --strata", f"-v 1 -k 1 -X {MOST}", changed=0.01, is_paired=True),
    "one": Mode(_ONE, f"-v 1 {_BEST}", changed=0.006),
    "two": Mode(_TWO, f"-v 2 {_BEST}", changed=0.006),
    "one-a": Mode("--mismatches 1 -a", "-v 1 -a", changed=0.006),
    "two-a": Mode("--mismatches 2 -a", "-v 2 -a", changed=0.006),
    "one-k1": Mode("--mismatches 1 --nh reported", "-v 1 -k 1", changed=0.006),
    "two-k1": Mode("--mismatches 2 --nh reported", "-v 2 -k 1", changed=0.006),
    "guides": Mode(_ONE, f"-v 1 {_BEST}", length=20, changed=0.02, fewer=20),
    "small-rna": Mode(_ONE, f"-v 1 {_BEST}", length=22, changed=0.02, fewer=20),
}


@click.command("modes")
@click.argument("reference", required=False, type=click.Path(exists=True))
@click.option("--size", type=COUNT, default="30M", show_default=True, help="Bases of a random reference.")
@click.option("--reads", type=COUNT, default="500k", show_default=True, help="Reads, or pairs, to simulate.")
@click.option("--repeat", type=click.IntRange(1), default=1, help="Map the file of reads N times.")
@click.option("--length", type=int, default=100, show_default=True, help="Bases of a read.")
@click.option("--mode", "modes", type=click.Choice(list(MODES)), multiple=True, help="Only these modes.")
@click.option("--engine", "engines", multiple=True, default=["cpu"], help="cpu, cuda or auto; repeatable.")
@click.option("--bgzf", is_flag=True, help="Compress the reads with BGZF.")
@click.option("--to", "out", default=os.devnull, help="Output of fmx, such as /dev/shm/out.bam.")
@click.option("--peer", "peers", type=click.Choice(["bowtie"]), multiple=True, help="Also time.")
@runner.common
def modes_command(reference: str | None, **given: Any) -> None:
    """Time the index, and fmx search mode by mode, with the stage that takes most time.

    Put --work on a RAM disk.
    """
    threads, rows = given["threads"], []
    runner.require(name for peer in given["peers"] for name in (peer, f"{peer}-build"))
    with inputs.work_folder(given["work"]) as folder:
        fasta, index = inputs.write_reference(reference, given["size"], folder), folder / "fmx.fmx"
        builds = {
            "fmx": fmx_command("index", "-q", "-t", threads, fasta, "-o", index),
            "bowtie": ["bowtie-build", "-q", "--threads", threads, fasta, folder / "bowtie"],
        }
        builds = {name: builds[name] for name in ("fmx", *given["peers"])}
        found = runner.medians(builds, given["n_runs"])
        rows += [{"mode": "index", **row} for row in runner.compared("command", found)]
        for name in given["modes"] or MODES:
            mode, report = MODES[name], folder / "run.json"
            reads, plain = _reads_of(mode, fasta, given)
            commands = {}
            for engine in given["engines"]:
                search = fmx_command("search", "-q", "-t", threads, "--engine", engine, "-x", index)
                commands[f"fmx {engine}"] = [*search, "-o", given["out"], *reads, *mode.fmx.split()]
            if "bowtie" in given["peers"]:
                bowtie = ["bowtie", "-S", "-p", threads, *mode.bowtie.split(), "-x", folder / "bowtie"]
                commands["bowtie"] = [*bowtie, *plain]
            try:
                found = runner.medians(commands, given["n_runs"])
                runner.run([*next(iter(commands.values())), "--report", report])
            except FmxError as error:  # such as a mode that a GPU refuses
                rows.append({"mode": name, "command": str(error)[-120:]})
                continue
            facts = json.loads(report.read_text())
            stages = {f"{place}: {x}": s for place, each in facts["stages"].items() for x, s in each.items()}
            most = max(stages, key=stages.__getitem__, default="")
            for row in runner.compared("command", found, facts["counts"]["reads"]):
                bases = mode.length or given["length"]
                rows.append({"mode": name, "options": mode.fmx, "bases": bases, **row, "most in": most})
                click.echo(runner.markdown(rows[-1:]).splitlines()[-1], err=True)
    runner.keep(given["output"], "modes", f"{runner.machine()}; {threads} threads", rows)


def _reads_of(mode: Mode, fasta: Path, given: dict[str, Any]) -> tuple[list, list]:
    """Write the reads of a mode unless they exist; return the arguments that name them for fmx and bowtie."""
    length, n = mode.length or given["length"], max(given["reads"] // mode.fewer, 1)
    start = f"{fasta.parent}/{n}-{length}-{mode.changed}"
    paths = [Path(f"{start}-{i}.fq") for i in (1, 2)] if mode.is_paired else [Path(f"{start}.fq")]
    if not paths[-1].exists() and mode.is_paired:
        sizes = length, max(INSERT, length)
        inputs.write_pairs(fasta, n, sizes, (paths[0], paths[1]), changed=mode.changed)
    elif not paths[-1].exists():
        inputs.write_reads(fasta, n, length, paths[0], changed=mode.changed)
    if given["bgzf"]:
        for path in paths:
            pysam.tabix_compress(str(path), f"{path}.gz", force=True)
        paths = [Path(f"{path}.gz") for path in paths]
    joined = [",".join([str(path)] * given["repeat"]) for path in paths]
    if mode.is_paired:
        words = ["-1", joined[0], "-2", joined[1]]
        return words, words
    return paths * given["repeat"], joined


# count: a simulated screen of guides, counted by fmx, mageck2 and dotmatch, and checked against the truth.


@click.command("count")
@click.option("--guides", type=COUNT, default="20k", show_default=True, help="Guides of the library.")
@click.option("--reads", type=COUNT, default="2M", show_default=True, help="Reads in all samples.")
@click.option("--samples", type=click.IntRange(1), default=2, show_default=True, help="Samples, a file each.")
@click.option("--stagger", type=click.IntRange(0, 12), default=0, help="Most random bases before the primer.")
@click.option("--mismatches", type=click.IntRange(0, 1), default=0, help="Mismatches allowed in a guide.")
@click.option("--peer", "peers", type=click.Choice(["mageck2", "dotmatch"]), multiple=True, help="Also time.")
@runner.common
def count_command(**given: Any) -> None:
    """Time counting guides, and count the reads that are counted wrongly."""
    threads, off = given["threads"], given["mismatches"]
    runner.require(given["peers"])
    with inputs.work_folder(given["work"]) as folder:
        sizes = given["guides"], given["reads"], given["samples"], given["stagger"]
        screen = inputs.write_screen(folder, *sizes)
        words, out = ["-l", screen.library, *screen.reads, "--mismatches", off], folder / "fmx.tsv"
        commands = {"fmx": fmx_command("count", "-q", "-t", threads, *words, "-o", out)}
        tables = {"fmx": out}
        if "mageck2" in given["peers"] and not off:
            command = ["mageck2", "count", "-l", screen.library, "--norm-method", "none"]
            commands["mageck2"] = [*command, "-n", folder / "mageck2", "--fastq", *screen.reads]
            tables["mageck2"] = folder / "mageck2.count.txt"
        if "dotmatch" in given["peers"]:
            command, tables["dotmatch"] = _dotmatch(screen, folder, given), folder / "dotmatch.tsv"
            commands["dotmatch"] = [*command, "--out", tables["dotmatch"]]
        rows = runner.compared("count", runner.medians(commands, given["n_runs"]), given["reads"])
        for row in rows:
            # A table whose first column is g0, g1, ... in any order.
            lines = [line.split("\t") for line in tables[row["count"]].read_text().splitlines()]
            counts = {line[0]: line[2 : 2 + len(screen.reads)] for line in lines}
            counted = [counts[f"g{i}"] for i in range(given["guides"])]
            row["reads off"] = int(np.abs(np.array(counted, np.int64).T - screen.counts[off]).sum())
    runner.keep(given["output"], "count", f"{runner.machine()}; {threads} threads", rows)


def _dotmatch(screen: inputs.Screen, folder: Path, given: dict[str, Any]) -> list:
    """Return the command of dotmatch, which looks for the offsets of guides with a stagger."""
    sheet = folder / "sheet.tsv"
    sheet.write_text("sample\tfastq\n" + "".join(f"{path.stem}\t{path}\n" for path in screen.reads))
    words = ["dotmatch", "crispr-count", "--library", screen.library, "--samples", sheet, "--no-progress"]
    words += ["--k", given["mismatches"], "--metric", "hamming", "--threads", given["threads"]]
    words += ["--guide-start", len(inputs.BEFORE), "--guide-length", inputs.GUIDE]
    return [*words, *(["--auto-offset", 40, "--offset-mode", "multi"] if given["stagger"] else [])]


# screens: reads of a host and of other genomes, separated by several options of fmx, by deacon and by mappy.

SCREENS = ("", "--length 30", "--mismatches 2 --strata", "--min-match 31")
DEACON = """import deacon, sys; x, out, *reads = sys.argv[1:]; index = deacon.Index(x)
for i, path in enumerate(reads): index.filter(path, output=out + str(i), deplete=True, threads=1)"""
MAPPY = """import mappy, sys; x, out, *reads = sys.argv[1:]; index = mappy.Aligner(x, preset="sr")
for i, path in enumerate(reads):
    with open(out + str(i), "w") as file:
        for record in mappy.fastx_read(path):
            if not any(True for _ in index.map(record[1])): file.write("@%s\\n%s\\n+\\n%s\\n" % record)"""


@click.command("screens")
@click.argument("host", type=click.Path(exists=True))
@click.argument("other", type=click.Path(exists=True))
@click.option("--reads", type=COUNT, default="500k", show_default=True, help="Reads, half of each genome.")
@click.option("--errors", type=float, default=0.005, show_default=True, help="Fraction of changed bases.")
@click.option("--real", type=click.Path(exists=True), help="FASTQ of real reads of HOST, instead of both.")
@click.option(
    "--peer", "peers", nargs=2, multiple=True, help="deacon=PYTHON, or mappy=PYTHON, and its index."
)
@runner.common
def screens_command(host: str, other: str, **given: Any) -> None:
    """Time one thread that separates reads of two genomes; count reads of HOST left, and of OTHER lost."""
    n, rows = given["reads"] // 2, []
    with inputs.work_folder(given["work"]) as folder:
        index, out, paths = folder / "host.fmx", folder / "left", []
        runner.run(fmx_command("index", "-q", host, "-o", index))
        for mark, fasta in (("h", host), ("o", other)):
            paths.append(folder / f"{mark}.fq")
            form = inputs.FASTQ.replace("@", f"@{mark}")
            inputs.write_reads(fasta, n, 100, paths[-1], form, given["errors"])
        if given["real"]:
            del paths[1]
            lines = inputs.write_plain(given["real"], paths[0]).read_text().splitlines()
            n, lines[::4] = len(lines) // 4, [f"@h{line[1:]}" for line in lines[::4]]
            paths[0].write_text("\n".join([*lines, ""]))
        words = ["search", "-q", "-t", 1, "-x", index, *paths]
        words += ["--un", f"{out}0", "--screen", folder / "table"]
        commands = {f"fmx {option}".strip(): fmx_command(*words, *option.split()) for option in SCREENS}
        for program, its_index in given["peers"]:
            name, _, python = program.partition("=")
            commands[name] = [python, "-c", {"deacon": DEACON, "mappy": MAPPY}[name], its_index, out, *paths]
        for row in runner.compared("screen", runner.medians(commands, given["n_runs"]), len(paths) * n):
            for old in folder.glob("left*"):
                old.unlink()
            runner.run(commands[row["screen"]])
            names = [line[:2] for path in folder.glob("left*") for line in path.read_text().splitlines()[::4]]
            left, kept = names.count("@h"), names.count("@o")
            row |= {"host left %": 100 * left / n}
            rows.append(row if given["real"] else row | {"other lost %": 100 - 100 * kept / n})
    runner.keep(given["output"], "screens", f"{runner.machine()}; 1 thread; errors {given['errors']}", rows)


# offtargets: the sites of guides of 20 bases, beside bowtie (without PAMs) and sassy (edits, without PAMs).

SASSY = """import sassy, sys; k, guides, fasta = sys.argv[1:]
words = open(guides, "rb").read().split()[1::2]
texts = [text.split(b"\\n", 1)[1].replace(b"\\n", b"") for text in open(fasta, "rb").read().split(b">")[1:]]
sassy.Searcher("dna").search_many(words, texts, int(k), 1, "single")"""


@click.command("offtargets")
@click.argument("reference", required=False, type=click.Path(exists=True))
@click.option("--size", type=COUNT, default="30M", show_default=True, help="Bases of a random reference.")
@click.option("--guides", type=COUNT, default="5k", show_default=True, help="Guides, from the reference.")
@click.option("--mismatches", type=click.IntRange(0, 4), default=4, help="Mismatches allowed in a guide.")
@click.option("--peer", "peers", multiple=True, help="bowtie, or sassy=PYTHON; repeatable.")
@runner.common
def offtargets_command(reference: str | None, **given: Any) -> None:
    """Time the sites of guides beside a PAM."""
    threads, k = given["threads"], given["mismatches"]
    with inputs.work_folder(given["work"]) as folder:
        fasta, guides = inputs.write_reference(reference, given["size"], folder), folder / "guides.fa"
        inputs.write_reads(fasta, given["guides"], 20, guides, inputs.FASTA)
        words = ["-q", "-t", threads, "-l", guides, fasta, "--mismatches", k, "-o", folder / "sites.tsv"]
        commands = {"fmx": fmx_command("offtargets", *words)}
        for name, _, python in (peer.partition("=") for peer in given["peers"]):
            commands[name] = [python, "-c", SASSY, k, guides, fasta]
            if name == "bowtie":
                runner.run(["bowtie-build", "-q", fasta, folder / "bowtie"])
                words = ["-p", threads, "-f", "-v", min(k, 3), "-a", "-x", folder / "bowtie"]
                commands[name] = ["bowtie", *words, guides, folder / "hits"]
        rows = runner.compared("sites", runner.medians(commands, given["n_runs"]))
    note = f"{runner.machine()}; {threads} threads; {given['guides']} guides, {k} mismatches"
    runner.keep(given["output"], "offtargets", note, rows)


# mem: the workloads of Gharaibeh and Ripeanu 2010, table 1, beside mummer less the time of its index.


WORKLOADS = {  # bases of a query, and three least lengths of a match (configurations 1 to 3)
    "HS1": (200, (25, 50, 100)),
    "HS2": (700, (50, 100, 200)),
    "MONO": (120, (20, 40, 80)),
    "SUIS": (36, (15, 20, 30)),
}


@click.command("mem")
@click.argument("reference", required=False, type=click.Path(exists=True))
@click.option("--size", type=COUNT, default="30M", help="Bases of a random reference.")
@click.option("--bases", type=COUNT, default="10M", help="Bases in all queries of a workload.")
@click.option("--workload", "names", type=click.Choice(list(WORKLOADS)), multiple=True, help="Only these.")
@click.option("--engine", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Engine of fmx.")
@runner.common
def mem_command(reference: str | None, **given: Any) -> None:
    """Time maximal exact matches of whole commands, beside mummer if it is installed."""
    threads, rows, engine = given["threads"], [], given["engine"]
    algorithms = ("seeds", "mummergpu") if engine == "cpu" else ("mummergpu",)
    with inputs.work_folder(given["work"]) as folder:
        fasta, index = inputs.write_reference(reference, given["size"], folder), folder / "reference.fmx"
        runner.run(fmx_command("index", "-q", "--with-lcp", "-t", threads, fasta, "-o", index))
        nothing, report = folder / "nothing.fa", folder / "run.json"
        nothing.write_text(">nothing\nACGT\n")
        for name in given["names"] or WORKLOADS:
            (length, leasts), queries = WORKLOADS[name], folder / f"{name}.fa"
            n = max(1, given["bases"] // length)
            inputs.write_reads(fasta, n, length, queries, inputs.FASTA, changed=0.01)
            for configuration, least in enumerate(leasts, 1):
                workload = {"workload": name, "bases": length, "least": least, "configuration": configuration}
                words = ["mem", "-q", "-b", "-l", least, "-t", threads, "-x", index, "--engine", engine]
                commands: dict[str, list] = {
                    f"fmx {each} {engine}": fmx_command(*words, "--algorithm", each, queries)
                    for each in algorithms
                }
                mummer = ["mummer", "-maxmatch", "-b", "-n", "-l", least, fasta]
                if shutil.which("mummer"):
                    commands |= {"mummer": [*mummer, queries], "mummer's index": [*mummer, nothing]}
                times, base = runner.medians(commands, given["n_runs"]), None
                if "mummer" in times:
                    whole, build = times["mummer"], times["mummer's index"]
                    base = runner.TimedRun(whole.wall - build.wall, whole.cpu - build.cpu)
                    times["mummer less index"] = base
                for each, timed in times.items():
                    row = {**workload, "command": each, "wall s": timed.wall, "CPU s": timed.cpu}
                    row["times as fast as mummer"] = base.wall / timed.wall if base else None
                    if each.startswith("fmx"):
                        runner.run([*commands[each], "--report", report])
                        for place in json.loads(report.read_text())["stages"].values():
                            row |= place
                    rows.append(row)
    runner.keep(given["output"], "mem-commands", f"{runner.machine()}; {threads} threads", rows)


# pairwise: all pairs of the first genes at 97 % identity with their paths, beside vsearch.

N_GENES = 200


@click.command("pairwise")
@click.argument("genes", type=click.Path(exists=True))
@runner.common
def pairwise_command(genes: str, **given: Any) -> None:
    """Time aligning all pairs of the first 200 sequences of GENES, beside vsearch if it is installed."""
    threads = given["threads"]
    with inputs.work_folder(given["work"]) as folder:
        fasta = inputs.write_plain(genes, folder / "genes.fa")
        fasta.write_bytes(b"\n>".join(fasta.read_bytes().split(b"\n>")[:N_GENES]) + b"\n")
        base = fmx_command("pairwise", fasta, "-t", threads, "-o", folder / "out.tsv", "-q", "--cigar")
        commands = {
            "fmx --id 0.97": [*base, "--id", 0.97],
            "fmx --id 0.97 --no-prefilter": [*base, "--id", 0.97, "--no-prefilter"],
            "fmx, all paths": base,
        }
        if shutil.which("vsearch"):
            vsearch = ["vsearch", "--allpairs_global", fasta, "--id", "0.97", "--threads", threads, "--quiet"]
            fields = ["--userout", folder / "v.tsv", "--userfields", "query+target+id+caln"]
            commands["vsearch --id 0.97"] = [*vsearch, *fields]
        rows = runner.compared("pairwise", runner.medians(commands, given["n_runs"]))
    n_pairs = N_GENES * (N_GENES - 1) // 2
    rows = [row | {"pairs/s": n_pairs / row["wall s"]} for row in rows]
    runner.keep(given["output"], "pairwise-commands", f"{runner.machine()}; {threads} threads", rows)
