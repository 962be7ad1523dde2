"""The list of entry points is whole, and what it names can be compiled beforehand, and come with a wheel."""

import os
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace

import entry_points
import numpy as np
import pytest
from conftest import ON_CPU, ROOT

from fmx.compiler import ahead, functions, kernels, object_cache, private

ENTRIES = list(ahead.known().values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the commands of entry_points.py read."""
    folder = tmp_path_factory.mktemp("commands")
    entry_points.make_data(folder)
    entry_points.run("index lambda.fa -o l.fmx", folder)
    return folder


def n_arguments(kinds, n_of_array):
    """How many arguments kinds are of; ``n_of_array``: words after the dtype of an array."""
    parts, n = iter(kinds), 0

    def skip(kind):
        if isinstance(kind, np.dtype):
            skip_all(n_of_array)
        elif isinstance(kind, type):
            fields = next(parts)
            assert len(getattr(kind, "_fields", range(fields))) == fields, kind
            skip_all(fields, skip)

    def skip_all(n, each=lambda part: None):
        for _ in range(n):
            each(next(parts))

    for kind in parts:
        skip(kind)
        n += 1
    return n


def test_every_line_names_a_function_and_kinds_of_its_arguments():
    ahead.import_bodies()
    assert len(ENTRIES) > 150
    for entry in ENTRIES:
        function, kinds = ahead.function_of(entry)
        assert isinstance(function, functions.Compiled)
        assert object_cache.plain_name(function.function, kinds) == entry.name
        assert n_arguments(kinds, 2) == function.function.__code__.co_argcount, entry.name


# Compiled functions of fmx that no command of entry_points.py calls from Python.
CALLED_BY_OTHERS = {"align.bounds", "output.records._put"}
RARE = {
    "input.chunks.is_mac",  # before an error
    "input.comments._add_comments", "input.comments._next_unusual",  # -C
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


@pytest.mark.parametrize("word", [*entry_points.PLAIN, "usual"])
def test_a_plain_command_needs_nothing_that_is_not_listed(word, folder):
    commands = entry_points.USUAL if word == "usual" else [entry_points.PLAIN[word]]
    needed = {name for command in commands for name, *_ in entry_points.run(command, folder)}
    assert needed
    assert needed <= set(ahead.known())
    listed = {entry.name for entry in ENTRIES if word in entry.commands}
    assert needed == listed


def test_beside_a_function_are_those_of_its_command_that_are_imported(monkeypatch):
    ahead.import_bodies()
    for word in entry_points.PLAIN:
        monkeypatch.delitem(sys.modules, f"fmx.cli.commands.{word}", raising=False)
    (first,) = (entry for entry in ENTRIES if "_put_contigs" in entry.name and "search" in entry.commands)
    assert ahead.beside(first.name) == []  # no command runs here
    monkeypatch.setitem(sys.modules, "fmx.cli.commands.search", sys)
    found = ahead.beside(first.name)
    assert all("search" in entry.commands for entry in found)
    names = {entry.name.split()[0].rpartition(".")[2] for entry in found}
    assert {"_put_contigs", "_scan", "_search", "_choose"} <= names
    assert ahead.beside("fmx.unknown.function 'i8'") == []


def test_every_line_of_the_other_list_names_a_kernel():
    ahead.import_bodies()
    entries = ahead.kernels_for("sm_90")
    assert len(entries) > 50
    for entry in entries:
        kernel, kinds = ahead.function_of(entry)
        assert object_cache.plain_name(kernel.function, kinds) == entry.name
        assert n_arguments(kinds, 1) == kernel.function.__code__.co_argcount, entry.name


def test_kernels_of_commands_are_listed(folder):
    pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
    listed = {entry.name for entry in ahead.kernels_for("sm_90")}
    for command in ("index tiny.fa -o t.fmx", "search -x t.fmx few.fq -o few.sam"):
        needed = set(entry_points.run_on_gpu(command, folder)[0])
        assert len(needed) > 5
        assert needed <= listed


def test_kernels_are_compiled_for_gpus_that_are_not_here(tmp_path, monkeypatch):
    pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
    monkeypatch.setenv("FMX_CACHE", str(tmp_path))
    object_cache.folder.cache_clear()
    names = {entry.name.split()[0]: entry for entry in ahead.kernels_for("sm_120")}
    entry = names["fmx.compiler.kernels.read_all"]
    assert not ahead.is_kept(entry)
    with ahead.workers(1) as started:
        assert started.compile([entry]) == []
    assert ahead.is_kept(entry)
    kernel, kinds = ahead.function_of(entry)
    code = kernel.kept(kinds, (12, 0))
    assert code.body[:4] == b"\x7fELF"
    assert code.symbol.encode() in code.body
    assert kernel.kept(kinds, (9, 0)) is None
    # Whichever processor launches it finds it.
    monkeypatch.setattr(object_cache, "processor", lambda: "another")
    object_cache.folder.cache_clear()
    assert kernel.kept(kinds, (12, 0)) == code
    monkeypatch.setattr(kernels, "_versions", lambda: "another numba-cuda")
    assert kernel.kept(kinds, (12, 0)) is None
    object_cache.folder.cache_clear()


SMALL = sorted(ENTRIES, key=lambda entry: entry.size)[:3]


def test_workers_compile_what_they_are_given_and_tell_what_they_cannot(tmp_path, monkeypatch):
    monkeypatch.setenv("FMX_CACHE", str(tmp_path))
    unknown = ahead.Entry(1, frozenset(), "fmx.unknown.function 'i8'")
    shown: list = []

    @contextmanager
    def alone(message, share):
        shown.append((message(), share()))
        yield
        shown.append((message(), share()))

    with ahead.workers(2) as started:
        failed = started.compile([*SMALL, unknown], SimpleNamespace(alone=alone))
    assert failed == [unknown]
    size = sum(entry.size for entry in SMALL)
    assert shown == [("0 of 4 functions compiled", 0), ("3 of 4 functions compiled", size / (size + 1))]
    kept = {path.name.rpartition("-")[0] for path in (tmp_path / "fmx").glob("*/fmx.*.o")}
    assert kept == {entry.name.split()[0] for entry in SMALL}


MACHINES = {"x86-64-v3": 62, "aarch64": 183}  # e_machine of ELF


@pytest.mark.parametrize("level", MACHINES)
def test_code_is_compiled_for_processors_that_are_not_here(level, tmp_path, monkeypatch):
    from fmx.compiler import native

    monkeypatch.setenv("FMX_CACHE", str(tmp_path))
    with ahead.workers(1, level=level) as started:
        assert started.compile(SMALL[:1]) == []
    monkeypatch.setattr(native, "_chosen", [])
    object_cache.folder.cache_clear()
    name = object_cache.name_of(*_of(SMALL[0]))
    assert object_cache.load(name) is None
    native.compile_for(level)
    object_cache.folder.cache_clear()
    code = object_cache.load(name)
    for machine in (code.body, code.entry):
        assert machine[:4] == b"\x7fELF"
        assert int.from_bytes(machine[18:20], "little") == MACHINES[level]
    object_cache.folder.cache_clear()


def _of(entry):
    function, kinds = ahead.function_of(entry)
    return function.function, kinds


def test_compile_says_how_long_it_takes(tmp_path, command, monkeypatch):
    monkeypatch.setenv("FMX_CACHE", str(tmp_path))
    object_cache.folder.cache_clear()
    monkeypatch.setattr(ahead, "known", lambda: {entry.name: entry for entry in SMALL})
    assert command("compile", "-t", "1").err.splitlines()[0] == (
        "fmx: compiling 3 functions, which takes about 1 s ..."
    )
    assert len(list(tmp_path.glob("fmx/*/fmx.*.o"))) == 3
    assert "compiling" not in command("compile").err
    object_cache.folder.cache_clear()


def test_workers_that_end_are_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with ahead.workers(2) as started:
        assert set(started.compile(SMALL)) == set(SMALL)


def fmx(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "fmx", *arguments],
        env=ON_CPU | {"PYTHONPATH": str(ROOT)} | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_list_is_shown_with_what_is_kept(tmp_path):
    done = fmx("compile", "--list", FMX_CACHE=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == len(ENTRIES)
    assert {state for _, _, state, _ in lines} == {"not compiled"}


def test_a_folder_that_others_can_change_is_one_line(tmp_path):
    tmp_path.chmod(0o777)
    done = fmx("compile", FMX_CACHE=str(tmp_path))
    assert done.returncode == 1
    assert "set FMX_CACHE" in done.stderr
    assert len(done.stderr.splitlines()) == 1


CODE = object_cache.Code("symbol", None, b"body", b"entry")


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder of code that came with fmx, with code under the name "fmx.f 'i8'" for this processor."""
    monkeypatch.setattr(object_cache, "SHARED", tmp_path / "code")
    monkeypatch.setenv("FMX_CACHE", str(tmp_path / "own"))
    for cached in (object_cache.folder, object_cache._shared_folders):
        cached.cache_clear()
    object_cache.save("fmx.f 'i8'", CODE)
    (tmp_path / "own" / "fmx").rename(tmp_path / "code")
    for path in (tmp_path / "code", *(tmp_path / "code").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield tmp_path / "code"
    for cached in (object_cache.folder, object_cache._shared_folders):
        cached.cache_clear()


def test_code_of_a_wheel_is_loaded(shared):
    assert object_cache.load("fmx.f 'i8'") == CODE
    assert object_cache.read("fmx.f 'i8'") is None  # seals are never taken from there
    assert object_cache.load("fmx.f 'f8'") is None


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("how", ["others may write", "of another user", "a link"])
def test_code_of_a_wheel_that_others_may_have_changed_is_not_loaded(shared, which, how, monkeypatch):
    (file,) = shared.glob("*/*")
    path = (shared, file.parent, file)[which]
    if how == "others may write":
        path.chmod(0o757)
    elif how == "a link":
        path.rename(shared.parent / "elsewhere")
        path.symlink_to(shared.parent / "elsewhere")
    else:
        given, fstat = os.lstat(path).st_ino, os.fstat

        def seen(descriptor):
            state = fstat(descriptor)
            if state.st_ino != given:
                return state
            fields = list(state)
            fields[4:6] = 12345, 12345
            return os.stat_result(fields)

        monkeypatch.setattr(private.os, "fstat", seen)
    assert object_cache.load("fmx.f 'i8'") is None


def test_code_of_root_is_loaded(shared, monkeypatch):
    monkeypatch.setattr(private.os, "geteuid", lambda: 12345)  # all there is of root is not ours then
    if os.geteuid() == 0:
        assert object_cache.load("fmx.f 'i8'") == CODE


def test_code_of_a_lesser_processor_is_loaded_and_of_a_better_one_not(shared, monkeypatch):
    from fmx.compiler import native

    (file,) = shared.glob("*/*")
    lesser = str(native.LEVELS["x86-64-v3"])
    file.parent.rename(shared / object_cache._digest(lesser))
    for able in (True, False):
        monkeypatch.setattr(object_cache, "levels", lambda able=able: [lesser] if able else [])
        object_cache._shared_folders.cache_clear()
        assert (object_cache.load("fmx.f 'i8'") is not None) == able


def test_levels_ask_for_every_feature(monkeypatch):
    from fmx.compiler import native

    every = dict.fromkeys([f[1:] for f in native.LEVELS["x86-64-v3"].features.split(",")], True)
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setattr(native.llvm, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    monkeypatch.setattr(native.llvm, "get_host_cpu_features", lambda: every)
    assert [name.split()[1] for name in native.levels()] == ["x86-64-v3"]
    every["bmi2"] = False
    assert native.levels() == []
    monkeypatch.setattr(native.llvm, "get_process_triple", lambda: "aarch64-unknown-linux-gnu")
    assert native.levels() == ["aarch64-unknown-linux-gnu generic "]
    monkeypatch.setattr(native.llvm, "get_process_triple", lambda: "riscv64-unknown-linux-gnu")
    assert native.levels() == []
