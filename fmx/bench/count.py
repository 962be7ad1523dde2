"""fmx bench count: guides of a simulated screen, compared with MAGeCK, 2FAST2Q, dotmatch and the truth."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from isal import igzip

from .. import options
from ..measure import timing
from .files import work_folder
from .options import compared, count, require, runs, show, show_machine, work

# The screen: a random library, reads of its guides after a stagger, errors, and the true counts.

LENGTH, READ = 20, 75  # bases of a guide, of a read
BEFORE, AFTER = b"TTGTGGAAAGGACGAAACACCG", b"GTTTTAGAGCTAGAAATAGCAAGTTAAAATAAGGCTAGTCCGTTATCAACTTGAAAAAGTGGC"
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_READS_AT_ONCE, _ERRORS = 1 << 17, 0.003  # reads; fraction of wrong bases
_QUALITIES = np.frombuffer(b"FFFFFFFFFFFF:,", np.uint8)


class SimulatedScreen(NamedTuple):
    """A simulated screen.

    ``library``: its path. ``reads``: paths, one per sample. ``counts`` int64[2, n_samples, n_guides]: reads
    whose guide was read without an error, and with at most one.
    """

    library: Path
    reads: list[Path]
    counts: np.ndarray


def simulate(folder: Path, n_guides: int, n_reads: int, n_samples: int, stagger: int) -> SimulatedScreen:
    """Write a screen with n_reads of 75 bases in total.

    Up to ``stagger`` random bases precede the primer; a fraction _ERRORS of the bases is replaced.
    """
    rng = np.random.default_rng(1)
    guides = np.unique(rng.integers(0, 4, (n_guides + n_guides // 100 + 1, LENGTH), np.uint8), axis=0)
    guides = rng.permutation(guides)[:n_guides]
    library = folder / "library.csv"
    with open(library, "w") as file:
        file.write("id,sequence,gene\n")
        for i, codes in enumerate(guides):
            file.write(f"g{i},{_LETTERS[codes].tobytes().decode()},G{i // 4}\n")
    reads, counts = [], np.zeros((2, n_samples, n_guides), np.int64)
    for sample in range(n_samples):
        weight = rng.lognormal(0, 1, n_guides)
        path = folder / f"sample{sample + 1:02}.fq.gz"
        with igzip.open(path, "wb", compresslevel=1) as file:
            left = n_reads * (sample + 1) // n_samples - n_reads * sample // n_samples
            while left:
                n = min(left, _READS_AT_ONCE)
                drawn = rng.choice(n_guides, n, p=weight / weight.sum())
                records, n_wrong = _records(rng, guides, drawn, stagger)
                file.write(records)
                for most in (0, 1):
                    counts[most, sample] += np.bincount(drawn[n_wrong <= most], minlength=n_guides)
                left -= n
        reads.append(path)
    return SimulatedScreen(library, reads, counts)


def _records(
    rng: np.random.Generator, guides: np.ndarray, drawn: np.ndarray, stagger: int
) -> tuple[bytes, np.ndarray]:
    """Return (FASTQ of reads of the guides ``drawn``, errors in the guide of each)."""
    n = drawn.size
    whole = np.concatenate(
        [
            rng.integers(0, 4, (n, stagger), np.uint8), np.broadcast_to(_codes(BEFORE), (n, len(BEFORE))),
            guides[drawn], np.broadcast_to(_codes(AFTER), (n, len(AFTER))),
        ], axis=1,
    )  # fmt: skip
    skipped = rng.integers(0, stagger + 1, n)
    codes = np.take_along_axis(whole, skipped[:, None] + np.arange(READ), axis=1)
    wrong = rng.random(codes.shape, np.float32) < _ERRORS
    codes[wrong] = (codes[wrong] + rng.integers(1, 4, int(wrong.sum()), np.uint8)) % 4
    start = stagger + len(BEFORE) - skipped
    n_wrong = np.take_along_axis(wrong, start[:, None] + np.arange(LENGTH), axis=1).sum(axis=1)
    qualities = _QUALITIES[rng.integers(0, _QUALITIES.size, codes.shape, np.uint8)]
    names = np.char.mod("@X:1:%012d", rng.integers(0, 10**12, n)).astype("S17").view(np.uint8).reshape(n, 17)
    line, plus = np.full((n, 1), 10, np.uint8), np.broadcast_to(np.frombuffer(b"\n+\n", np.uint8), (n, 3))
    return np.concatenate([names, line, _LETTERS[codes], plus, qualities, line], axis=1).tobytes(), n_wrong


def _codes(letters: bytes) -> np.ndarray:
    return np.searchsorted(_LETTERS, np.frombuffer(letters, np.uint8)).astype(np.uint8)


# The commands that count it.

PEERS = {"mageck2": "mageck2", "mageck": "mageck", "fast2q": "2fast2q", "dotmatch": "dotmatch"}


@click.command(cls=options.Command)
@count("--guides", "n_guides", default="20k", help="Number of guides in the library.")
@count("--reads", "n_reads", default="2M", help="Number of reads of 75 bases, in all samples together.")
@count("--samples", "n_samples", default="2", help="Number of samples, with one file each.")
@click.option(
    "--stagger", type=options.Number(0, 12), default=0, show_default=True, metavar="N",
    help="Insert up to N random bases before the primer.",
)  # fmt: skip
@click.option("--mismatches", type=options.Number(0, 1), default=0, show_default=True, metavar="N",
              help="Allow up to N mismatches in a guide; MAGeCK allows none.")  # fmt: skip
@click.option(
    "--peer", "peers", type=click.Choice(list(PEERS)), multiple=True,
    help="Tool to compare with. May be repeated.",
)  # fmt: skip
@runs
@work
@options.threads
def count_command(**given: Any) -> None:
    """Time counting guides, and check the counts.

    Simulates a screen as .fq.gz: each read has a stagger, a primer and a guide, and 0.3 % of its bases are
    wrong. Runs fmx count and each of the other tools in turn. Prints the median wall time of whole commands,
    and how many reads were counted wrongly.
    """
    require(PEERS[peer] for peer in given["peers"])
    with work_folder(given["work"]) as folder:
        screen = simulate(folder, given["n_guides"], given["n_reads"], given["n_samples"], given["stagger"])
        ways = _ways(screen, folder, given)
        show_machine(given["threads"], given["n_runs"])
        found = timing.medians_of_commands(
            {name: command for name, (command, _) in ways.items()}, given["n_runs"]
        )
        rows = compared("count", found, "fmx", given["n_reads"])
        for row in rows:
            counts = ways[row["count"]][1]()
            row["reads off"] = int(np.abs(counts - screen.counts[given["mismatches"]]).sum())
        show(rows)


def _ways(screen: SimulatedScreen, folder: Path, given: dict[str, Any]) -> dict[str, tuple[list, Callable]]:
    """Return {name: (command, function that reads its counts, one row per sample)}."""
    threads, off, out, n = given["threads"], given["mismatches"], folder / "fmx.tsv", len(screen.reads)
    words = ["-l", screen.library, *screen.reads, "-o", out, "--mismatches", off]
    command = timing.fmx_command("count", "-q", "-t", threads, *words)
    ways: dict = {"fmx": (command, lambda: _read(out, range(2, 2 + n)))}
    for peer in given["peers"]:
        tool = PEERS[peer]
        if peer.startswith("mageck") and not off:
            prefix = folder / tool
            words = [tool, "count", "-l", screen.library, "--norm-method", "none", "-n", prefix]
            command = [*words, "--fastq", *screen.reads]
            ways[peer] = command, lambda at=Path(f"{prefix}.count.txt"): _read(at, range(2, 2 + n))
        elif peer == "dotmatch":
            table, sheet = folder / "dotmatch.tsv", folder / "sheet.tsv"
            lines = [f"{path.stem}\t{path}\n" for path in screen.reads]
            sheet.write_text("sample\tfastq\n" + "".join(lines))
            words = [tool, "crispr-count", "--library", screen.library, "--samples", sheet, "--k", off]
            words += ["--guide-start", len(BEFORE), "--guide-length", LENGTH, "--metric", "hamming"]
            words += ["--threads", threads]
            words += ["--auto-offset", 40, "--offset-mode", "multi"] if given["stagger"] else []
            command = [*words, "--no-progress", "--out", table]
            ways[peer] = command, lambda at=table: _read(at, range(2, 2 + n))
        elif peer == "fast2q":
            ways[peer] = (
                _fast2q(screen, folder, given),
                lambda: _read(next(folder.glob("fast2q/*/compiled.csv")), range(1, 1 + n), ","),
            )
    return ways


def _fast2q(screen: SimulatedScreen, folder: Path, given: dict[str, Any]) -> list:
    """Return the command of 2FAST2Q: a new output folder each time, a library without column names."""
    reads, library, out = folder / "fast2q-reads", folder / "fast2q.csv", folder / "fast2q"
    reads.mkdir(exist_ok=True)
    for path in screen.reads:
        link = reads / path.name.replace(".fq.gz", ".fastq.gz")
        if not link.exists():
            link.symlink_to(path.absolute())
    lines = screen.library.read_text().splitlines()[1:]
    library.write_text("".join(f"{line.rsplit(',', 1)[0]}\n" for line in lines))
    words = ["2fast2q", "-c", "--s", reads, "--g", library, "--o", out, "--m", given["mismatches"], "--ph", 1]
    words += ["--l", LENGTH, "--cp", given["threads"], "--fn", "compiled", "--pb"]
    words += ["--us", BEFORE[-8:].decode(), "--qsu", "1"] if given["stagger"] else ["--st", len(BEFORE)]
    script = 'rm -rf "$1"; mkdir "$1"; shift; exec "$@" > /dev/null'
    return ["bash", "-c", script, "bash", out, *words]


def _read(path: Path, columns: Iterable[int], delimiter: str = "\t") -> np.ndarray:
    """Return int64[n_samples, n_guides]: columns of a table; its first column is g0, g1, ... in any order."""
    rows = [line.split(delimiter) for line in path.read_text().splitlines() if line.startswith("g")]
    rows.sort(key=lambda row: int(row[0][1:]))
    return np.array([[int(row[i]) for row in rows] for i in columns], np.int64)
