"""Fixtures: every layout and query there is; indexes; the command line; real data and peers."""

import contextlib
import gc
import io
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
os.environ.setdefault("FMX_CACHE", str(ROOT / ".pytest_cache" / "compiled"))  # one for all workers
# Bytecode is kept, too, beside it: hundreds of processes import fmx.
sys.dont_write_bytecode, sys.pycache_prefix = False, str(ROOT / ".pytest_cache" / "bytecode")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
# tests/cuda are run by a pytest of their own: on a GPU, or in the CUDA simulator, where kernels are Python.
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
# There fmx pairwise is tested by one more, in which the CPU's half of it is compiled.
collect_ignore = ["cuda/test_gpu_pairwise.py"] if SIMULATED else ["cuda"]
ON_GPU = {**os.environ, "PYTHONPATH": str(ROOT)}
ON_CPU = {key: value for key, value in ON_GPU.items() if not key.startswith("NUMBA_")}

sys.path.insert(0, str(ROOT / "docs" / "bench"))  # texts that tests share with benchmarks
import hypothesis  # noqa: E402
import pytest  # noqa: E402
import simulator  # noqa: E402

from fmx.cli import main  # noqa: E402
from fmx.compiler import object_cache  # noqa: E402
from fmx.index import layouts  # noqa: E402
from fmx.input import chunks, shards  # noqa: E402
from fmx.machines.progress import Progress  # noqa: E402
from fmx.system import available_cores  # noqa: E402

LONGEST_ID = 80  # letters of a parameter
IN_CI = os.environ.get("CI") == "true"
# One layout of each family, its default for a small text, and other k and d.
LAYOUTS = [
    *(str(layouts.parse_name(family, 400)) for family in layouts.REGISTRY),
    "bvsfm-k1-d224",
    "kstep-k3-d63",
]
WAYS = ["verify", *LAYOUTS]  # a query and what it needs: see cases.load

# make test draws the same examples each time, make nightly more of them, and others.
CI = hypothesis.settings(
    deadline=None, derandomize=True, database=None, print_blob=True, max_examples=60,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)  # fmt: skip
hypothesis.settings.register_profile("ci", CI)
hypothesis.settings.register_profile("nightly", CI, derandomize=False, max_examples=1000)


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="Write tests/data/golden anew.")
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="Another order, and a clock that runs ahead."
    )
    parser.addoption("--nightly", action="store_true", help="All combinations, and more and other examples.")


def pytest_configure(config):
    hypothesis.settings.load_profile("nightly" if config.getoption("nightly") else "ci")
    if config.getoption("shuffle") is not None:
        run_ahead(8)
    if SIMULATED:
        simulator.take_turns()
        config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")  # words wrap, as on a GPU


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Processes of ``-n auto``."""
    return 1 + available_cores()


def run_ahead(times: int) -> None:
    """Let the clock go ``times`` as fast as it does: to a test, this machine is that much slower."""
    monotonic, start = time.monotonic, time.monotonic()
    time.monotonic = lambda: start + times * (monotonic() - start)


def pytest_make_parametrize_id(val, argname):
    """Bytes, in which a library may have put the time, and long text are called by their parameter."""
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > LONGEST_ID) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out nightly tests; run those of a layout in one process, which compiles what they share."""
    nightly = set() if config.getoption("nightly") else {x for x in items if x.get_closest_marker("nightly")}
    if nightly:
        config.hook.pytest_deselected(items=list(nightly))
        items[:] = [item for item in items if item not in nightly]
    if config.getoption("shuffle") is not None:
        random.Random(config.getoption("shuffle")).shuffle(items)
    for item in items:
        parameters = getattr(item, "callspec", None) and item.callspec.params
        layout = parameters and (parameters.get("way") or parameters.get("layout"))
        if isinstance(layout, str):
            item.add_marker(pytest.mark.xdist_group(layout))


def pytest_collection_finish(session):
    """Groups are not lost: xdist 3.8 tells pytest 9.2 of them in vain, and what they share is made twice."""
    if session.config.getoption("loadgroup", False):
        lost = [
            i.nodeid for i in session.items if i.get_closest_marker("xdist_group") and "@" not in i.nodeid
        ]
        assert not lost, f"pytest-xdist and pytest do not fit: no groups of {len(lost)} tests, as {lost[0]}"
    gc.freeze()  # the garbage collector need not look at half a million objects of modules and tests


def missing(what: str):
    """A test's needs are not there: a failure where nobody looks at skips."""
    if IN_CI:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def device():
    """A GpuSession on the first GPU, or in the CUDA simulator.  Fails where there is neither."""
    from fmx.machines.gpu import GpuSession

    return GpuSession()


@pytest.fixture
def on_cpu(monkeypatch):
    """Chunks, or Mates, that the CPU maps for a GPU."""
    from fmx.search.mapper import Mapper

    noted, map_records = [], Mapper.map_records

    def map_and_note(mapper, records, writer, emit):
        noted.extend(records if mapper.pairs else [records])
        return map_records(mapper, records, writer, emit)

    monkeypatch.setattr(Mapper, "map_records", map_and_note)
    return noted


@pytest.fixture(params=LAYOUTS)
def layout(request):
    """The name of a layout."""
    return request.param


@pytest.fixture(params=WAYS)
def way(request):
    """A way to search: "verify", or the name of a layout for backward search."""
    return request.param


@pytest.fixture(scope="session")
def index_of(tmp_path_factory):
    """A function (contigs, layout names, sa_rate, prefix_length, with_lcp) -> path of an index."""
    import cases

    built = {}

    def index_of(contigs, layout_names=("bvsfm-k2-d96",), sa_rate=1, prefix_length=None, with_lcp=False):
        key = (tuple(contigs), tuple(layout_names), sa_rate, prefix_length, with_lcp)
        if key not in built:
            path = tmp_path_factory.mktemp("index") / "ref.fmx"
            built[key] = cases.build(path, contigs, layout_names, sa_rate, prefix_length, with_lcp=with_lcp)
        return built[key]

    return index_of


@pytest.fixture(scope="session")
def screened(tmp_path_factory):
    """A folder with the references, indexes and reads of screened.py."""
    from screened import make

    return make(tmp_path_factory.mktemp("screened"))


class Result:
    """Exit code, standard output (bytes) and standard error (str) of a command."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def records(self) -> list:
        """The SAM records, split into columns."""
        return [line.split("\t") for line in self.out.decode().splitlines() if not line.startswith("@")]


@pytest.fixture(autouse=True)
def compiling_is_not_reported():
    """This process says nothing of compiling, which depends on what earlier tests have compiled."""
    object_cache.on_first_compile(Progress(quiet=True))  # in place of the listener of an earlier test
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(object_cache, "on_first_compile", lambda listener: None)
        yield


@pytest.fixture
def command(capfdbinary, monkeypatch):
    """Run a command line in this process: command("search", path, stdin=b"...") -> Result."""

    def command(*arguments, stdin=b""):
        arguments = [str(argument) for argument in arguments]
        monkeypatch.setattr(sys, "argv", ["fmx", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        capfdbinary.readouterr()
        code = main.run(arguments)
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    return command


@pytest.fixture
def code_in(monkeypatch):
    """A function: machine code and seals are kept in this folder from now on; nowhere if None."""
    return lambda folder: monkeypatch.setattr(object_cache, "folder", lambda *_: folder)


@pytest.fixture
def chunks_of(monkeypatch):
    """A function: chunks have this many bytes from now on, where a command does not say otherwise."""
    return lambda size: monkeypatch.setattr(chunks, "CHUNK_SIZE", size)


@pytest.fixture
def cut_sizes(monkeypatch):
    """A function: files are cut for shards every so many bytes from now on, as small files need."""
    return lambda apart: monkeypatch.setattr(shards, "APART", apart)


@pytest.fixture(scope="session")
def data():
    """A function: name of a shared file of real data -> its path."""
    folder = Path(os.environ.get("FMX_TEST_DATA") or ROOT.parent / "shared" / "data")

    def data(name):
        if not (folder / name).exists():
            missing(f"no {name} in {folder}; FMX_TEST_DATA names the folder of real data")
        return folder / name

    return data


@pytest.fixture(scope="session")
def peer():
    """A function: name of another program -> its path."""

    def peer(name):
        path = shutil.which(name)
        if path is None:
            missing(f"{name} is not installed; tests/install_peers.sh does that")
        return path

    return peer


@pytest.fixture
def folder(tmp_path):
    """An empty current folder."""
    with contextlib.chdir(tmp_path):
        yield tmp_path
