"""Protocol of building on a GPU: every array of an index is the one that the CPU makes, bit for bit.

    python tests/cuda/build_protocol.py [--simulator] [part of a layout's name] ...

prints a line for each text and exits with 1 if any array differs.  In the simulator texts are tiny, for a
simulated thread is a Python thread.
"""

import argparse
import sys
import time
from pathlib import Path

import simulator

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
COFI_KS = (2, 3, 5, 11)
STANDING, SORTED = 18, 24  # bytes a symbol that the sort needs, and for each suffix of a pass


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulator", action="store_true")
    parser.add_argument("parts", nargs="*", default=[""])
    return parser.parse_args()


def texts(simulated):
    """Yield (name, codes, numbers of passes, with every layout)."""
    import numpy as np

    from fmx.machines.jobs import ONE_CORE
    from fmx.measure.texts import Repeat, make_codes

    rng = np.random.default_rng(5)

    def random(n, separators):
        codes = rng.integers(1, 5, n).astype(np.uint8)
        codes[rng.random(n) < separators] = 0
        codes[-1] = 0
        return codes

    sizes = (1, 97) if simulated else (1, 2, 21, 22, 95, 96, 97, 1000, 50_001)
    for n in sizes:
        for separators in (0, 0.1):
            yield (
                f"random, {separators:.0%} separators",
                random(n, separators),
                (1, 3) if n > 90 else (1,),
                True,
            )
    m = 70 if simulated else 10**6
    unit = random(m // 3, 0)
    yield "one letter", np.append(np.ones(m, np.uint8), np.uint8(0)), (1,), False
    yield "separators only", np.zeros(m, np.uint8), (1,), False
    yield "period 2", np.append(np.tile(np.array([1, 2], np.uint8), m // 2), np.uint8(0)), (1,), False
    yield "three times the same", np.concatenate([unit, unit[:-1], unit]), (1,), False
    for n in () if simulated else (10**5, 10**6, 2 * 10**7):
        yield "repeats of a genome", make_codes(ONE_CORE, Repeat, n), (1, 3), False


def arrays_of(machine, codes, sa, names) -> dict:
    """{name: array of the host} of all parts of an index."""
    import numpy as np

    from fmx.index import layouts
    from fmx.index.prefix_table import default_length, make_prefix_table
    from fmx.index.sampled_sa import sample
    from fmx.index.seed_table import default_length as default_seed_length
    from fmx.index.seed_table import first_rows
    from fmx.input.dna import pack_text

    n, ends = codes.size, np.flatnonzero(machine.to_host(codes) == 0)
    found = {
        "text": pack_text(codes, machine),
        "prefix table": make_prefix_table(machine, codes, sa, default_length(n)).pairs,
        "seed table": first_rows(machine, codes, sa, default_seed_length(n)),
    }
    starts = np.concatenate([[0], ends[:-1] + 1])
    for s in (2, 16):
        sampled = sample(sa, starts, s, 2, 3, machine)
        found |= {f"marks, s = {s}": sampled.marks, f"positions, s = {s}": sampled.positions}
    for name in names:
        layout = layouts.REGISTRY[name.family].build(codes, sa, name.k, name.d, machine)
        fields = {field: value for field, value in layout._asdict().items() if field != "k"}
        found |= {f"{name} {field}": value for field, value in fields.items()}
    return {name: machine.to_host(array) for name, array in found.items()}


def differing(gpu, cores, codes, names, passes) -> list:
    """Names of the arrays that the GPU makes otherwise; (their number, rounds of the sort)."""
    import numpy as np

    from fmx.index.building.suffix_array import suffix_array
    from fmx.index.building.suffix_array.radix import sort_suffixes

    memory = gpu.memory if passes == 1 else STANDING * codes.size + SORTED * codes.size // passes
    expected_sa, there = suffix_array(codes), gpu.take(codes)
    sa, n_rounds = sort_suffixes(gpu, there, memory)
    if not np.array_equal(gpu.to_host(sa), expected_sa):
        return ["suffix array"], n_rounds
    expected = arrays_of(cores, codes, expected_sa, names)
    found = arrays_of(gpu, there, sa, names)
    return [
        name
        for name, array in expected.items()
        if found[name].dtype != array.dtype or not np.array_equal(found[name], array)
    ], n_rounds


def main(options) -> int:
    if options.simulator:
        simulator.start()
    from fmx.index import layouts
    from fmx.machines.gpu_jobs import Gpu
    from fmx.machines.gpu_session import GpuSession
    from fmx.machines.jobs import Cores
    from fmx.machines.threads import available_cores

    gpu, cores, failures = Gpu(GpuSession()), Cores(available_cores()), 0
    print("on", gpu.name)
    every = [
        name
        for name in layouts.all_names()
        if (name.family != "cofi" or name.k in COFI_KS) and any(part in str(name) for part in options.parts)
    ]
    if options.simulator:
        every = [name for name in every if name.family != "cofi" or name.k == 3]
    few = [layouts.parse_name(family) for family in ("bvsfm", "sampled")]
    for text_name, codes, all_passes, with_all in texts(options.simulator):
        for passes in all_passes:
            began = time.perf_counter()
            names = every if with_all and passes == 1 else few
            wrong, n_rounds = differing(gpu, cores, codes, names, passes)
            failures += len(wrong)
            spent = f"{time.perf_counter() - began:.1f} s"
            verdict = f"DIFFERENT: {', '.join(wrong)}" if wrong else "same"
            print(
                f"{text_name:28} {codes.size:9} {passes} passes {n_rounds:2} rounds {verdict} {spent}",
                flush=True,
            )
    print(f"{failures} arrays differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(arguments()))
