"""Protocol of fmx mem on a GPU: its lines are those of the CPU, and the matches those of plain comparison.

    python tests/cuda/mem.py [--simulator]

prints a line for each text and least length, and exits with 1 if any differs.
"""

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import simulator

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "mem"), str(ROOT / "tests"), str(ROOT)]
LEASTS = (1, 3, 6, 9, 20, 40)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulator", action="store_true")
    few = parser.parse_args().simulator
    if few:
        simulator.start()
    failures = n_done = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, contigs, queries in texts(few):
            path = Path(folder) / f"{name}.fmx"
            for least in (5, 12) if few else LEASTS:
                began = time.perf_counter()
                lines = compare(path, contigs, queries, least)
                failures += len(set(lines)) > 1
                n_done += 1
                verdict = "same" if len(set(lines)) == 1 else "DIFFERENT"
                spent = time.perf_counter() - began
                print(f"{name:12} l = {least:3} {len(lines[0]):8} {verdict} {spent:.1f} s", flush=True)
    print(f"{n_done} comparisons, {failures} differ")
    return 1 if failures or not n_done else 0


def texts(few):
    """Yield (name, contigs, queries)."""
    import naive
    from texts import numbered, random_letters

    unit = random_letters(70 if few else 400, "mem")
    yield "plain", numbered([unit]), [unit[5:], "ACGTN", "", naive.reverse_complement(unit)]
    if not few:
        repeats = [unit[:90] * 3, "A" * 50 + unit + "NN" + "ACG" * 30, *(unit[i : i + 7] for i in range(60))]
        yield (
            "repeats",
            numbered(repeats),
            [unit, "A" * 70 + "C", unit[50:90] + "N" + unit[20:200]],
        )


def compare(path, contigs, queries, least) -> list:
    """Lines by the GPU with three ways to slice, by the CPU, and by plain comparison."""
    import journeys
    from test_mem import expect, rows

    from fmx.index import fm_index
    from fmx.input.chunks import literal_fasta
    from fmx.input.reads import FORWARD, REVERSE
    from fmx.machines.gpu_session import GpuSession
    from fmx.mem import matching, seeds_gpu
    from fmx.mem.seeds import make_seeds
    from fmx.mem.seeds_kernels import BLOCK
    from fmx.output import tsv

    if not path.exists():  # by a process of its own: the simulator builds none
        environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        command = [sys.executable, "-m", "fmx", "index", "-q", "-", "-o", path]
        subprocess.run(command, input=journeys.fasta(contigs), env=environment, cwd=ROOT, check=True)
    opened = fm_index.load(path, method="verify")
    writer, _ = tsv.open_matches(opened.reference, None, 0, bytes)
    lines = []
    for n_rows in (None, 17, 300, seeds_gpu.ROWS):
        matcher = seeds_gpu.GpuSeeds(make_seeds(opened, least), GpuSession(), n_threads=3) if n_rows else None
        if matcher:
            matcher.n_rows, matcher.n_windows = n_rows, max(n_rows // BLOCK, 1) * BLOCK
        options = matching.MemOptions(least, FORWARD | REVERSE, matching.ALL, 3)
        finder, sink = matching.Finder(opened, options, writer, matcher), io.BytesIO()
        matching.compile_all(finder)
        finder.task_size = 100  # so that threads share the work
        matching.find(finder, [literal_fasta(queries)], sink)
        lines.append(tuple(rows(sink.getvalue())))
    return [*lines, tuple(expect(contigs, queries, least, FORWARD | REVERSE, matching.ALL))]


if __name__ == "__main__":
    sys.exit(main())
