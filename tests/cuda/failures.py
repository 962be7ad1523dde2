"""What fmx search does when a GPU fails it, provoked for real: memory taken by others, a device that is lost.

    python tests/cuda/failures.py [--simulator]

Each search is a process of its own that runs a few lines first.  It must end with exit code 1 and one line
that says what to do, and leave no output behind.  In the simulator the driver's errors are raised by hand.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(ROOT)]
START = """
import sys
import weakref
sys.setswitchinterval(1e-5)
import fmx.input.chunks
fmx.input.chunks.CHUNK_SIZE = 1 << 12  # many chunks of a small file
from fmx.machines import gpu, gpu_session
from fmx.search import gpu_mapping, gpu_search
from fmx.compiler.cuda import fresh_kernel
from fmx.compiler.warp import cuda

gpu_mapping.CHUNK_SIZE = 0


def take_memory(left):
    '''Take all memory of the GPU but so many bytes, as another program would.'''
    gpu.open_device()
    n, taken = gpu.free_bytes() - left, []
    while n >= 1 << 20:
        try:
            taken.append(cuda.device_array(n, "uint8"))
            n = gpu.free_bytes() - left
        except Exception:
            n //= 2
    return taken


def at_launch(number, happens):
    '''Call a function before the search of that number is started.'''
    launch, done = gpu_search.Launch.__call__, []

    def launch_or_fail(*arguments):
        done.append(1)
        if len(done) == number:
            happens()
        launch(*arguments)

    gpu_search.Launch.__call__ = launch_or_fail


class CudaAPIError(Exception):
    '''As numba's, for the simulator.'''


def fail(text):
    raise CudaAPIError(text)


def lose_at_launch(number, text):
    '''Fail in such a way that nothing can be freed any more, of which numba prints a traceback each.'''
    make = gpu_session.Flight.__init__

    def make_unfreeable(flight, *arguments):
        make(flight, *arguments)
        weakref.finalize(flight, fail, "[709] Call to cuMemFreeHost: CUDA_ERROR_CONTEXT_IS_DESTROYED")

    gpu_session.Flight.__init__ = make_unfreeable
    at_launch(number, lambda: fail(text))
"""
MAIN = """
from fmx.cli.main import main
main()
"""
WILD = """
@fresh_kernel  # the disk cache takes no kernel of a program given as text
def wild_kernel(words):
    words[1 << 44] = 1

at_launch(3, lambda: wild_kernel[1, 1](cuda.device_array(1, "uint64")))
"""
SMALL_ROOMS = """
gpu_mapping.ROOMS, empty = {}, gpu.empty  # so that a read of 3,000 bases needs larger ones
gpu.empty = lambda n, dtype: empty(n + (1 << 23), dtype)[:n]
at_launch(1, lambda: globals().update(taken=take_memory(1 << 20)))
"""
FULL, LOST, NO_ROOM = "the GPU's memory is full", "the GPU does not answer", "raise --gpu-memory"
# name: lines to run first, options, what is said ("" if the search must succeed).  A kernel that fails leaves
# a context in which every call fails, as a lost device does.  That the process resets its own device is not
# tried for real: it frees pinned memory and streams that are in use, of which the driver may crash.
REAL = {
    "limit too small": ("", ("--gpu-memory", "1M"), NO_ROOM),
    "limit larger than the GPU": ("", ("--gpu-memory", "1000T"), ""),
    "memory taken before": ("taken = take_memory(210 << 20)", (), NO_ROOM),  # fewer than fmx leaves
    "memory taken in between": (SMALL_ROOMS, ("-t", "1"), FULL),  # by more threads it could be too late
    "kernel fails": (WILD, (), LOST),
    "kernel fails, one thread": (WILD, ("-t", "1"), LOST),
}
RAISED = {
    "limit too small": REAL["limit too small"],
    "memory": ("at_launch(3, lambda: fail('[2] Call to cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY'))", (), FULL),
    "lost": ("lose_at_launch(3, '[719] cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED')", (), LOST),
    "device reset": ("at_launch(3, lambda: weakref.proxy(set()).pop())", (), LOST),
    "first launch": ("lose_at_launch(1, '[700] CUDA_ERROR_ILLEGAL_ADDRESS')", ("-t", "1"), LOST),
}


def make_files(folder):
    """(index, reads): some short reads and a long one after them."""
    import journeys
    from texts import numbered, random_letters

    letters = random_letters(6000, "failures")
    index = journeys.build(folder / "ref.fmx", numbered([letters]))
    sequences = [letters[i : i + 30] for i in range(0, 3000, 10)] + [letters[500:3500], letters[:40]]
    path = folder / "reads.fa"
    path.write_text("".join(f">r{i}\n{sequence}\n" for i, sequence in enumerate(sequences)))
    return index, path


def complaint(done, said, output) -> str:
    """What is wrong with how a search ended, '' if nothing is."""
    lines = done.stderr.splitlines()
    if not said:
        good = done.returncode == 0 and output.exists() and not lines
        return "" if good else f"exit code {done.returncode}, {len(lines)} lines"
    if done.returncode != 1:
        return f"exit code {done.returncode}"
    if not any(line.startswith("fmx: error:") and said in line for line in lines):
        return "no line says what to do"
    if len(lines) != 1:
        return f"{len(lines)} lines"
    left = [path.name for path in output.parent.iterdir()]
    return f"left behind: {left}" if left else ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulator", action="store_true")
    parser.add_argument("parts", nargs="*", default=[""])
    options = parser.parse_args()
    n_failures = 0
    simulated = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    environment = {
        **os.environ,
        **(simulated if options.simulator else {}),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with tempfile.TemporaryDirectory() as folder:
        index, reads = make_files(Path(folder))
        for name, (lines, arguments, said) in (RAISED if options.simulator else REAL).items():
            if not any(part in name for part in options.parts):
                continue
            output = Path(folder) / name.replace(" ", "_") / "hits.sam"
            output.parent.mkdir()
            search = ["search", "-q", "-x", index, reads, "--engine", "cuda", "-o", output, *arguments]
            began = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", START + lines + MAIN, *map(str, search)],
                env=environment, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            wrong = complaint(done, said, output)
            n_failures += bool(wrong)
            print(f"{name}: {wrong or 'as it must be'}, {time.perf_counter() - began:.1f} s", flush=True)
            if wrong:
                print(done.stderr)
    print(f"{n_failures} failures")
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
