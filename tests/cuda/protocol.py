"""Protocol of the GPU's engines: their intervals are those that plain comparison of all suffixes gives.

    python tests/cuda/protocol.py [--simulator] [part of a layout's name] ...

prints a line for each layout, engine and text, and exits with 1 if any differs, or if a kernel keeps
registers in memory.  On a device it takes the texts and patterns as they are, in the simulator few of them,
for a simulated thread is a Python thread.
"""

import argparse
import sys
import time
from pathlib import Path

import simulator

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent.parent)]
BLOCKS = {  # a text is its blocks, a separator after each
    "one block": lambda letters: [letters(1500)],
    "many blocks": lambda letters: [letters(1 + i % 9) for i in range(150)] + ["ACGTACGT" * 4, letters(300)],
    "repeats": lambda letters: ["ACG" * 40, "CGACGACGA", "A" * 77, letters(40) * 3],
}
COFI_KS = (2, 3, 5)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulator", action="store_true")
    parser.add_argument("parts", nargs="*", default=[""])
    return parser.parse_args()


def main(options) -> int:
    if options.simulator:
        simulator.start()
    from fmx.compiler.warp import local_bytes
    from fmx.machines import gpu
    from fmx.search import gpu_search

    print("on", gpu.open_device())
    failures = n_done = 0
    kernels: dict = {}
    for text_name in BLOCKS if not options.simulator else ["many blocks"]:
        letters, patterns, rows, sequences = make_text(text_name, options.simulator)
        expected = [expect(rows, sequence) for sequence in sequences]
        for name, engine, launch, query in pairs(letters, rows, options.parts):
            began = time.perf_counter()
            found = gpu_search.run(launch, query, patterns)
            kernels[engine.split("-")[0], launch.kernel] = launch.kernel
            intervals = list(zip(found.lo.tolist(), found.hi.tolist(), strict=True))
            failures += intervals != expected
            n_done += 1
            verdict = "same" if intervals == expected else "DIFFERENT"
            spent = time.perf_counter() - began
            print(f"{text_name:12} {name:18} {engine:18} {verdict} {spent:.1f} s", flush=True)
    spilt = [engine for (engine, _), kernel in kernels.items() if local_bytes(kernel)]
    print(f"{n_done} searches of each pattern, {failures} differ; {len(spilt)} engines spill {spilt}")
    return 1 if failures or spilt or not n_done else 0


def make_text(name, few):
    """(letters with $, Patterns, sorted suffixes, sequences)."""
    from packed import pack
    from texts import random_letters

    from fmx.input.reads import Patterns

    letters = "".join(f"{block}$" for block in BLOCKS[name](Letters(random_letters)))
    if few:
        letters = letters[-400:]
    blocks = [block for block in letters.split("$") if block]
    lengths = (23, 40, 9, 6, 3) if few else (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 20, 31, 32, 33, 40, 65, 100, 140)
    sequences = [""]
    for m in lengths:
        for block in blocks[-2:] if few else blocks[-40:]:
            middle = block[len(block) // 2 :][:m]
            sequences += [block[:m], block[-m:]] if few else [block[:m], block[-m:], middle]
        sequences.append(random_letters(m, m))
    sequences = sequences[:16] if few else sequences
    return letters, Patterns(*pack(sequences)), sorted(letters[i:] for i in range(len(letters))), sequences


class Letters:
    """random_letters with a new seed at each call."""

    def __init__(self, make):
        self.make, self.seed = make, 0

    def __call__(self, n):
        self.seed += 1
        return self.make(n, self.seed)


def expect(rows, sequence) -> tuple:
    """The interval of a sequence in the sorted suffixes, (0, 0) if it does not occur."""
    found = [row for row, suffix in enumerate(rows) if suffix.startswith(sequence)]
    return (found[0], found[-1] + 1) if sequence and found else (0, 0)


def pairs(letters, rows, parts):
    """Yield (layout, engine, launch, query) for all that go together."""
    import numpy as np

    from fmx.errors import UnsupportedError
    from fmx.index import layouts
    from fmx.index.prefix_table import build_prefix_table
    from fmx.index.reference import make_blocks
    from fmx.index.seed_table import build_seed_table
    from fmx.input.dna import pack_text
    from fmx.search import engines
    from fmx.search.queries import Exact, Verify

    text = np.array(["$ACGT".index(letter) for letter in letters], np.uint8)
    sa = np.array([len(letters) - len(suffix) for suffix in rows], np.uint32)
    prefix, seeds = build_prefix_table(text, 4), build_seed_table(text, 5)
    ends = np.flatnonzero(text == 0)
    starts = np.concatenate([[0], ends[:-1] + 1])
    blocks = make_blocks(starts, np.arange(starts.size), np.zeros_like(starts), ends - starts)
    queries = {"verify": lambda: Verify(prefix, seeds, sa, pack_text(text), blocks)}
    for name in layouts.all_names():
        if name.family != "cofi" or name.k in COFI_KS:
            queries[str(name)] = lambda name=name: Exact(
                prefix, layouts.REGISTRY[name.family].build(text, sa, name.k, name.d)
            )
    for name, make in queries.items():
        if any(part in name for part in parts):
            query = make()
            for engine in engines.CUDA:
                try:
                    launch = engines.prepare(engine, query)
                except UnsupportedError:
                    continue
                yield name, engine, launch, query


if __name__ == "__main__":
    sys.exit(main(arguments()))
