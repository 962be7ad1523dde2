"""Protocol of maximal matches on a GPU: those of the definition, in whole and in many segments and rounds.

    python tests/cuda/mem_protocol.py [--simulator]

prints a line for each text, least length and size of memory, and exits with 1 if any differs.
"""

import argparse
import sys
import time
from pathlib import Path

import simulator

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent.parent)]


def main(simulated) -> int:
    if simulated:
        simulator.start()
    import mems

    from fmx.machines import gpu
    from fmx.machines.gpu_session import GpuSession
    from fmx.mem.mummergpu_gpu import GpuMummer

    print("on", gpu.open_device())
    failures = n_done = 0
    for name, (blocks, queries, leasts) in cases(simulated).items():
        letters = "".join(f"{block}$" for block in blocks)
        for least in leasts:
            host = mems.mummergpu(letters, least)
            expected = mems.expect(letters, queries, least)
            shared = host.segment.words.nbytes + sum(column.nbytes for column in host.segment.blocks[:5])
            for room in (None, shared + 4400):
                began = time.perf_counter()
                matcher = GpuMummer(host, GpuSession(memory=room), n_threads=3)
                found = mems.ask(matcher, queries)
                if len(matcher.segments) > 1:  # the second time from the last segment to the first
                    found = found if found == mems.ask(matcher, queries) else []
                verdict = "same" if found == expected else "DIFFERENT"
                failures += found != expected
                n_done += 1
                print(
                    f"{name:12} least {least:2} {len(matcher.segments):3} segments {len(found):6} matches "
                    f"{verdict} {time.perf_counter() - began:.1f} s", flush=True,
                )  # fmt: skip
    print(f"{n_done} sets of queries, {failures} differ")
    return 1 if failures or not n_done else 0


def cases(few) -> dict:
    """{name: (blocks of a text, queries, least lengths)}"""
    from texts import random_letters

    n = 1500 if few else 6000
    letters = random_letters(n, "mem")
    mutated = letters[:20] + "T" + letters[21:60] + letters[70:100]
    cut = [letters[i : i + 90] for i in range(0, n - 90, 500 if few else 37)]
    repeat = "ACGGT" * 12 + "A" * 40
    return {
        "random": ([letters], [*cut, mutated], (12,) if few else (5, 12, 20)),
        "blocks": ([letters[:300], letters[280:n], *map(str, "ACGT")], [*cut[:4], letters[250:340]], (8,)),
        "repeats": (
            [repeat * 2, repeat[7:], "ACG" * 20], [repeat[:90], "ACGGT" * 9 + "C"], (30,) if few else (1, 30),
        ),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulator", action="store_true")
    sys.exit(main(parser.parse_args().simulator))
