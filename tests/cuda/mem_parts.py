"""Protocol of fmx mem on a GPU with an index in parts: its lines are those of plain comparison.

    python tests/cuda/mem_parts.py [--simulator]

prints a line for each algorithm and kind of match, and exits with 1 if any differs.
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
BUILD = """
import sys
from fmx import workflow
workflow.build_index("ref.fa", "ref.fmx", workflow.IndexOptions(part_size=int(sys.argv[1]), with_lcp=True))
"""


def main(simulated) -> int:
    if simulated:
        simulator.start()
    import journeys
    from texts import numbered, random_letters

    failures = n_done = 0
    n = 60 if simulated else 3000
    unit = random_letters(n, "parts")
    contigs = numbered([unit[: n // 2], unit[n // 3 :], "ACG" * 9, unit[5:-5]])
    queries = [unit[3 : n - 9], unit[: n // 4] + "N" + "ACG" * 7, "", unit[n // 2 :]]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ref.fa").write_bytes(journeys.fasta(contigs))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        search = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(
            search
        )  # by a process of its own: the simulator builds none
        subprocess.run([sys.executable, "-c", BUILD, str(n)], cwd=folder, env=environment, check=True)
        for name, found, expected in compare(f"{folder}/ref.fmx", contigs, queries, simulated):
            began = time.perf_counter()
            same = found() == expected
            failures += not same
            n_done += 1
            verdict, spent = "same" if same else "DIFFERENT", time.perf_counter() - began
            print(f"{name:40} {len(expected):6} {verdict} {spent:.1f} s", flush=True)
    print(f"{n_done} comparisons, {failures} differ")
    return 1 if failures or not n_done else 0


def compare(path, contigs, queries, few):
    """Yield (what is compared, a function that gives the GPU's lines, those of plain comparison)."""
    from test_mem import expect, rows

    from fmx.index import fm_index
    from fmx.input.chunks import literal_fasta
    from fmx.input.reads import FORWARD, REVERSE
    from fmx.machines.places import Device
    from fmx.machines.progress import Progress
    from fmx.mem import journey, matching
    from fmx.output import tsv

    opened = fm_index.load(path, method="verify")
    assert len(opened.parts) > 2
    writer, _ = tsv.open_matches(opened.reference, None, 0, bytes)
    both, quiet = FORWARD | REVERSE, Progress(quiet=True)

    def found(options):
        matcher = journey.make_matcher(opened, options, Device("cuda"), quiet)
        finder, sink = matching.Finder(opened, options, writer, matcher), io.BytesIO()
        matching.find(finder, [literal_fasta(queries)], sink)
        return rows(sink.getvalue())

    for algorithm in matching.ALGORITHMS:
        for unique in (matching.ALL, matching.IN_BOTH) if few else range(3):
            for least in (9,) if few else (4, 9, 20, 50):
                options = matching.MemOptions(least, both, unique, 1, algorithm)
                wanted = expect(contigs, queries, least, both, unique)
                name = f"{algorithm}, l = {least}, kind {unique}"
                yield name, lambda options=options: found(options), wanted


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulator", action="store_true")
    sys.exit(main(parser.parse_args().simulator))
