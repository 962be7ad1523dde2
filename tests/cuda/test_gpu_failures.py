"""What fmx search does when a GPU fails it, provoked for real: memory taken by others, a device that is lost.

Each search is a process of its own that runs a few lines first.  It must end with exit code 1 and one line
that says what to do, and leave no output behind.  test_gpu_commands raises the driver's errors by hand.
"""

import subprocess
import sys

import cases
import pytest
from conftest import ON_CPU, ON_GPU, SIMULATED
from texts import numbered, random_letters

pytestmark = pytest.mark.skipif(SIMULATED, reason="the simulator does not fail")
START = """
import sys
from dataclasses import replace
from fmx.machines import gpu
from fmx.search.gpu import engines, gpu_mapper
from fmx.search.mapping import GpuSizes, RunSizes
from fmx.compiler.warp import kernel

SMALL = RunSizes(gpu=GpuSizes(1 << 12, 1 << 12))  # many chunks of a small file
made = gpu_mapper.GpuMapper
gpu_mapper.GpuMapper = lambda index, options, *rest: made(index, replace(options, sizes=SMALL), *rest)


def take_memory(left):
    '''Take all memory of the GPU but so many bytes, as another program would.'''
    gpu.open_device()
    n, taken = gpu.free_bytes() - left, []
    while n >= 1 << 20:
        try:
            taken.append(gpu.empty(n, "uint8"))
            n = gpu.free_bytes() - left
        except Exception:
            n //= 2
    return taken


def at_launch(number, happens):
    '''Call a function before the search of that number is started.'''
    launch, done = engines.Launch.__call__, []

    def launch_or_fail(*arguments):
        done.append(1)
        if len(done) == number:
            happens()
        launch(*arguments)

    engines.Launch.__call__ = launch_or_fail


"""
MAIN = """
from fmx.cli.main import main
main()
"""
WILD = """
@kernel
def wild_kernel(words):
    words[1 << 44] = 1

at_launch(3, lambda: wild_kernel[1, 1](gpu.empty(1, "uint64")))
"""
SMALL_ROOMS = """
empty = gpu.empty
gpu.empty = lambda n, dtype: empty(n + (1 << 23), dtype)[:n] if isinstance(n, int) else empty(n, dtype)
at_launch(1, lambda: globals().update(taken=take_memory(1 << 20)))
"""
FULL, LOST, NO_ROOM = "the GPU's memory is full", "the GPU does not answer", "raise --gpu-memory"
# name: lines to run first, options, what is said ("" if the search must succeed).  A kernel that fails leaves
# a context in which every call fails, as a lost device does.  That the process resets its own device is not
# tried for real: it frees pinned memory and streams that are in use, of which the driver may crash.
CASES = {
    "limit too small": ("", ("--gpu-memory", "10K"), NO_ROOM),
    "limit larger than the GPU": ("", ("--gpu-memory", "1000T"), ""),
    "memory taken before": ("taken = take_memory(210 << 20)", (), NO_ROOM),  # fewer than fmx leaves
    "memory taken in between": (SMALL_ROOMS, ("-t", "1"), FULL),  # by more threads it could be too late
    "kernel fails": (WILD, (), LOST),
    "kernel fails, one thread": (WILD, ("-t", "1"), LOST),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(index, reads): some short reads and a long one after them."""
    folder, letters = tmp_path_factory.mktemp("failures"), random_letters(6000, "failures")
    (folder / "ref.fa").write_bytes(cases.fasta(numbered([letters])))
    build = [sys.executable, "-m", "fmx", "index", "-q", folder / "ref.fa"]
    subprocess.run(build, env=ON_CPU, check=True)
    sequences = [letters[i : i + 30] for i in range(0, 3000, 10)] + [letters[500:3500], letters[:40]]
    (folder / "reads.fa").write_bytes(cases.fasta(enumerate(sequences)))
    return folder / "ref.fmx", folder / "reads.fa"


@pytest.mark.alone
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_that_fails_ends_the_search_with_a_sentence(name, files, tmp_path, device):
    lines, options, said = CASES[name]
    index, reads = files
    output = tmp_path / "hits.sam"
    search = ["search", "-q", "-x", index, reads, "--engine", "cuda", "-o", output, *options]
    done = subprocess.run(
        [sys.executable, "-c", START + lines + MAIN, *map(str, search)],
        env=ON_GPU, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == (1 if said else 0), done.stderr
    complaints = [line.startswith("fmx: error:") and said in line for line in done.stderr.splitlines()]
    assert complaints == ([True] if said else []), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ([] if said else ["hits.sam"])
