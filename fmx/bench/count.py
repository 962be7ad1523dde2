"""fmx bench count: guides of a simulated screen against MAGeCK, 2FAST2Q and dotmatch, and the truth."""

import shutil
from pathlib import Path

import click

from .. import options
from ..errors import FmxError
from .kit.options import count, runs, work

PEERS = {"mageck2": "mageck2", "mageck": "mageck", "fast2q": "2fast2q", "dotmatch": "dotmatch"}


@click.command(cls=options.Command)
@count("--guides", "n_guides", default="20k", help="Guides of the library.")
@count("--reads", "n_reads", default="2M", help="Reads of 75 letters, of all samples together.")
@count("--samples", "n_samples", default="2", help="Files that they are in.")
@click.option(
    "--stagger", type=options.Number(0, 12), default=0, show_default=True, metavar="N",
    help="Up to N random letters before the primer; dotmatch takes one place only, and is left out.",
)  # fmt: skip
@click.option("--mismatches", type=options.Number(0, 1), default=0, show_default=True,
              help="Letters that a guide may differ in; MAGeCK takes none.")  # fmt: skip
@click.option("--peer", "peers", type=click.Choice(list(PEERS)), multiple=True, help="Whom to compare with.")
@runs
@work
@options.threads
def command(**given):
    """Time counting guides, and compare the counts with the truth.

    Simulates a screen: guides behind a primer and a stagger, with 0.3 % errors, as .fq.gz. Runs fmx count and
    each peer in turn. Prints medians of the wall time of whole commands, and how many reads were counted
    otherwise than is true.
    """
    from ..measure import timing
    from ..measure.tables import markdown
    from .kit.files import simulate, work_folder

    if missing := [peer for peer in given["peers"] if shutil.which(PEERS[peer]) is None]:
        raise FmxError(f"not installed: {', '.join(missing)}")
    with work_folder(given["work"]) as folder:
        screen = simulate(folder, given["n_guides"], given["n_reads"], given["n_samples"], given["stagger"])
        ways = _ways(screen, folder, given)
        machine = f"{timing.machine()}; {given['threads']} threads"
        click.echo(f"machine: {machine}; medians of {given['n_runs']} runs of whole commands")
        found = timing.medians({name: command for name, (command, _) in ways.items()}, given["n_runs"])
        truth = screen.counts[given["mismatches"]]
        rows = []
        for name, run in found.items():
            off = sum(abs(seen - true) for seen, true in zip(ways[name][1](), truth, strict=True))
            rows.append(
                {"count": name, "wall s": run.wall, "CPU s": run.cpu, "reads/s": given["n_reads"] / run.wall,
                 "times fmx": run.wall / found["fmx"].wall, "reads off": int(off.sum())}
            )  # fmt: skip
        click.echo("\n" + markdown(rows), nl=False)


def _ways(screen, folder, given) -> dict:
    """{name: (command, what reads its counts, a row a sample)}."""
    from ..measure.timing import fmx_command
    from .kit.files import BEFORE, LENGTH

    threads, off, start = given["threads"], given["mismatches"], len(BEFORE)
    out, n = folder / "fmx.tsv", len(screen.reads)
    words = [
        "count",
        "-q",
        "-t",
        threads,
        "-l",
        screen.library,
        *screen.reads,
        "-o",
        out,
        "--mismatches",
        off,
    ]
    ways = {"fmx": (fmx_command(*words), lambda: _read(out, range(2, 2 + n)))}
    for peer in given["peers"]:
        tool = PEERS[peer]
        if peer.startswith("mageck") and not off:
            prefix = folder / tool
            words = [tool, "count", "-l", screen.library, "--norm-method", "none", "-n", prefix]
            table = Path(f"{prefix}.count.txt")
            ways[peer] = [*words, "--fastq", *screen.reads], _later(table, range(2, 2 + n))
        elif peer == "dotmatch" and not given["stagger"]:
            table, sheet = folder / "dotmatch.tsv", folder / "sheet.tsv"
            lines = [f"{path.stem}\t{path}\n" for path in screen.reads]
            sheet.write_text("sample\tfastq\n" + "".join(lines))
            words = [tool, "crispr-count", "--library", screen.library, "--samples", sheet, "--k", off]
            words += ["--guide-start", start, "--guide-length", LENGTH, "--metric", "hamming"]
            ways[peer] = [*words, "--no-progress", "--out", table], _later(table, range(2, 2 + n))
        elif peer == "fast2q":
            ways[peer] = (
                _fast2q(screen, folder, given),
                lambda: _read(next(folder.glob("fast2q/*/compiled.csv")), range(1, 1 + n), ","),
            )
    return ways


def _fast2q(screen, folder, given) -> list:
    """Its command: an output folder that is new each time, a library without names of columns."""
    from .kit.files import BEFORE, LENGTH

    reads, library, out = folder / "fast2q-reads", folder / "fast2q.csv", folder / "fast2q"
    reads.mkdir(exist_ok=True)
    for path in screen.reads:
        link = reads / path.name.replace(".fq.gz", ".fastq.gz")
        if not link.exists():
            link.symlink_to(path.absolute())
    lines = screen.library.read_text().splitlines()[1:]
    library.write_text("".join(f"{line.rsplit(',', 1)[0]}\n" for line in lines))
    words = [
        "2fast2q",
        "-c",
        "--s",
        reads,
        "--g",
        library,
        "--o",
        out,
        "--m",
        given["mismatches"],
        "--ph",
        "1",
    ]
    words += ["--l", LENGTH, "--cp", given["threads"], "--fn", "compiled", "--pb"]
    words += ["--us", BEFORE[-8:].decode(), "--qsu", "1"] if given["stagger"] else ["--st", len(BEFORE)]
    script = 'rm -rf "$1"; mkdir "$1"; shift; exec "$@" > /dev/null'
    return ["bash", "-c", script, "bash", out, *words]


def _later(path, columns):
    return lambda: _read(path, columns)


def _read(path, columns, delimiter="\t"):
    """int64[n_samples, n_guides]: columns of a table whose first column is g0, g1, ... in any order."""
    import numpy as np

    rows = [line.split(delimiter) for line in Path(path).read_text().splitlines() if line.startswith("g")]
    rows.sort(key=lambda row: int(row[0][1:]))
    return np.array([[int(row[i]) for row in rows] for i in columns], np.int64)
