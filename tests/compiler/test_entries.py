"""The list of entry points is whole, and what it names can be compiled beforehand, and come with a wheel."""

import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace

import entry_points
import numpy as np
import pytest
from conftest import ON_CPU, ROOT

from fmx.compiler import ahead, functions, kernels, native, object_cache

ENTRIES = ahead.functions()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the commands of entry_points.py read."""
    folder = tmp_path_factory.mktemp("commands")
    entry_points.make_data(folder)
    entry_points.run(["index lambda.fa -o l.fmx"], folder)
    return folder


def n_arguments(kinds):
    """How many arguments kinds are of."""
    parts, n = iter(kinds), 0

    def skip(kind):
        if isinstance(kind, np.dtype):
            next(parts), next(parts)  # the number of axes, the layout
        elif isinstance(kind, type):
            fields = next(parts)
            assert len(getattr(kind, "_fields", range(fields))) == fields, kind
            for _ in range(fields):
                skip(next(parts))

    for kind in parts:
        skip(kind)
        n += 1
    return n


@pytest.mark.parametrize(
    ("entries", "kind"), [(ENTRIES, functions.Compiled), (ahead.kernels_for("sm_90"), kernels.Kernel)]
)
def test_every_line_names_a_function_and_kinds_of_its_arguments(entries, kind):
    ahead.import_bodies()
    assert len(entries) > 50
    for entry in entries:
        function, kinds, *_ = ahead.function_of(entry)
        assert isinstance(function, kind)
        assert object_cache.plain_name(function.function, kinds) == entry.name
        assert n_arguments(kinds) == function.function.__code__.co_argcount, entry.name


# Compiled functions of fmx that no command of entry_points.py calls from Python.
CALLED_BY_OTHERS = {"align.bounds", "output.records._put"}
RARE = {
    "input.reads._next_unusual",  # -C
    "mem.mummergpu_gpu._fill", "mem.mummergpu_gpu._merge",  # texts of several segments
}  # fmt: skip


def test_every_function_that_python_calls_is_listed():
    """So a wheel with machine code compiles nothing, whatever the command."""
    listed, unlisted = {entry.name.split()[0] for entry in ENTRIES}, set()
    for path in (ROOT / "fmx").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if module.split(".")[1] == "__main__" or path.name == "__init__.py":
            continue
        for name, each in vars(import_module(module)).items():
            dotted = f"{module}.{name}"
            if (
                type(each) is functions.Compiled
                and each.function.__module__ == module
                and dotted not in listed
            ):
                unlisted.add(dotted.removeprefix("fmx."))
    inner = {name for name in unlisted if name.startswith(tuple(CALLED_BY_OTHERS))}
    assert unlisted - inner == RARE


def test_usual_commands_need_what_is_listed_as_such(folder):
    needed = {name for name, *_ in entry_points.run(entry_points.USUAL, folder)}
    assert needed == {entry.name for entry in ENTRIES if entry.is_usual}


def test_kernels_of_commands_are_listed(folder):
    pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
    listed = {entry.name for entry in ahead.kernels_for("sm_90")}
    needed, _ = entry_points.run_on_gpu(
        ["index tiny.fa -o t.fmx", "search -x t.fmx few.fq -o few.sam"], folder
    )
    assert len(needed) > 10
    assert set(needed) <= listed


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder, that of FMX_CACHE."""
    monkeypatch.setenv("FMX_CACHE", str(tmp_path))
    object_cache.folder.cache_clear()
    yield tmp_path
    object_cache.folder.cache_clear()


def test_kernels_are_compiled_for_gpus_that_are_not_here(cache, monkeypatch):
    pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
    entry = min(ahead.kernels_for("sm_120"), key=lambda entry: entry.size)
    assert not ahead.is_kept(entry)
    assert ahead.compile_all([entry], 1) == []
    assert ahead.is_kept(entry)
    kernel, kinds, _ = ahead.function_of(entry)
    kept = lambda capability: object_cache.load(kernel.name(kinds, capability), object_cache.GPUS)  # noqa: E731
    code = kept((12, 0))
    assert code.body[:4] == b"\x7fELF"
    assert code.symbol.encode() in code.body
    assert kept((9, 0)) is None
    # Whichever processor launches it finds it.
    monkeypatch.setattr(object_cache, "processor", lambda: "another")
    object_cache.folder.cache_clear()
    assert kept((12, 0)) == code
    monkeypatch.setattr(kernels, "versions", lambda: "another numba-cuda")
    assert kept((12, 0)) is None


SMALL = sorted(ENTRIES, key=lambda entry: entry.size)[:3]


def test_processes_compile_what_they_can_and_the_rest_is_returned(cache):
    unknown = ahead.Entry(1, False, "fmx.unknown.function 'i8'")
    shown: list = []

    @contextmanager
    def kept_up(message):
        shown.append(message())
        yield
        shown.append(message())

    assert ahead.compile_all([*SMALL, unknown], 2, listener=SimpleNamespace(kept_up=kept_up)) == [unknown]
    assert shown == ["0 of 4 functions compiled", "3 of 4 functions compiled"]
    kept = {path.name.rpartition("-")[0] for path in (cache / "fmx").glob("*/fmx.*.o")}
    assert kept == {entry.name.split()[0] for entry in SMALL}


MACHINES = {"x86-64-v3": 62, "aarch64": 183}  # e_machine of ELF


@pytest.mark.parametrize("level", MACHINES)
def test_code_is_compiled_for_processors_that_are_not_here(level, cache, monkeypatch):
    monkeypatch.setenv("FMX_COMPILE_FOR", level)
    assert ahead.compile_all(SMALL[:1], 1) == []
    function, kinds = ahead.function_of(SMALL[0])
    name = object_cache.name_of(function.function, kinds)
    assert object_cache.load(name) is None
    monkeypatch.setattr(native, "compiled_for", native.LEVELS[level])
    object_cache.folder.cache_clear()
    code = object_cache.load(name)
    assert code.body[:4] == b"\x7fELF"
    assert int.from_bytes(code.body[18:20], "little") == MACHINES[level]


def test_compile_says_how_long_it_takes(cache, command, monkeypatch):
    monkeypatch.setattr(ahead, "functions", lambda: SMALL)
    assert command("compile", "-t", "1").err.splitlines()[0] == (
        "fmx: compiling 3 functions, which takes about 1 s ..."
    )
    assert len(list(cache.glob("fmx/*/fmx.*.o"))) == 3
    assert "compiling" not in command("compile").err


def test_processes_that_end_are_no_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    assert set(ahead.compile_all(SMALL, 2)) == set(SMALL)


def fmx(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "fmx", *arguments],
        env=ON_CPU | {"PYTHONPATH": str(ROOT)} | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_list_shows_what_is_kept_and_what_cannot_be_kept_is_not_compiled(tmp_path):
    done = fmx("compile", "--list", FMX_CACHE=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == len(ENTRIES)
    assert {state for _, _, state, _ in lines} == {"not compiled"}
    (tmp_path / "file").touch()
    done = fmx("compile", FMX_CACHE=str(tmp_path / "file"))
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "set FMX_CACHE" in done.stderr
