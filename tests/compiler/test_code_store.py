"""Machine code on disk: only ours is loaded, whole and of the right function, and none is needed."""

import errno
import importlib
import os
import pwd
import shutil
import stat
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT

from fmx.compiler import native, numba_cpu, object_cache, private
from fmx.compiler.native import Code
from fmx.errors import FmxError

STRANGER = 12345
IS_ROOT = os.geteuid() == 0
CODE = Code("symbol", "i8,b1,", b"body\n\0")


def give_away(path, monkeypatch) -> None:
    """Make a file or folder that of another user: in truth where we may, else in what is seen of it."""
    if IS_ROOT:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
        return
    number = os.lstat(path).st_ino

    def seen(call):
        def state_of(*arguments, **how):
            fields = list(state := call(*arguments, **how))
            fields[4:6] = STRANGER, STRANGER
            return os.stat_result(fields) if state.st_ino == number else state

        return state_of

    for name in ("fstat", "stat"):
        monkeypatch.setattr(private.os, name, seen(getattr(os, name)))


@pytest.fixture
def ours(tmp_path):
    """A folder that is ours alone, with the file "file" in it."""
    path = tmp_path / "above" / "ours"
    private.write(path, "file", b"data")
    assert private.read(path, "file") == b"data"
    return path


def is_writable(path) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_cache, "folder", lambda: path)
        return object_cache.can_keep()


def is_refused(path) -> bool:
    """Whether a folder is not used, for reading or writing."""
    before = sorted(os.listdir(path))
    private.write(path, "other", b"data")
    return not is_writable(path) and private.read(path, "file") is None and sorted(os.listdir(path)) == before


def test_folders_are_made_for_us_alone(tmp_path):
    before = os.umask(0)
    try:
        private.write(tmp_path / "a" / "b" / "c", "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "a" / "b" / "c").st_mode) == 0o700
    assert os.listdir(tmp_path / "a" / "b" / "c") == ["file"]


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701, 0o770, 0o1777])
def test_a_folder_open_to_others_is_not_used(ours, mode):
    ours.chmod(mode)
    assert is_refused(ours)


@pytest.mark.parametrize("which", [".", "file"])
def test_what_belongs_to_another_user_is_not_used(ours, which, monkeypatch):
    give_away(ours / which, monkeypatch)
    assert private.read(ours, "file") is None
    assert is_refused(ours) or which == "file"


def test_a_link_to_a_folder_is_not_used(ours):
    (ours.parent / "link").symlink_to(ours)
    assert is_refused(ours.parent / "link")


def test_a_folder_that_cannot_be_written_is_read(ours, monkeypatch):
    monkeypatch.setattr(private.os, "access", lambda *_, **__: False)  # root may write anything
    assert not is_writable(ours)
    assert private.read(ours, "file") == b"data"


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to(path.with_name("held")),
        lambda path: path.symlink_to(path),
    ],
    ids=["folder", "pipe", "link", "circle"],
)
def test_what_is_no_plain_file_of_ours_is_not_read(ours, make):
    (ours / "held").write_bytes(b"data")
    (ours / "file").unlink()
    make(ours / "file")
    assert private.read(ours, "file") is None
    private.write(ours, "file", b"new")  # a folder stays, anything else makes way
    assert private.read(ours, "file") == (None if (ours / "file").is_dir() else b"new")
    assert sorted(os.listdir(ours)) == ["file", "held"]


def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "away")
    for name in ("FMX_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert object_cache.base() == tmp_path / ".cache" / "fmx"
    for name, value, folder in (
        ("XDG_CACHE_HOME", "relative", ".cache"),  # counts for nothing by its specification
        ("XDG_CACHE_HOME", str(tmp_path / "shared"), "shared"),
        ("FMX_CACHE", "~/mine", "mine"),
        ("FMX_CACHE", str(tmp_path / "link"), "away"),
    ):
        monkeypatch.setenv(name, value)
        assert object_cache.base() == tmp_path / folder / "fmx"


def test_without_a_home_there_is_no_folder(monkeypatch):
    for name in ("FMX_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: {}[number])
    assert object_cache.base() is None
    monkeypatch.setattr(object_cache, "folder", object_cache.folder.__wrapped__)
    assert object_cache.load_or_make("name", lambda: CODE) == CODE
    assert object_cache.load("name") is None
    assert not object_cache.can_keep()


@pytest.fixture
def store(tmp_path, code_in):
    """An empty folder of code."""
    code_in(tmp_path / "code")
    return tmp_path / "code"


def test_every_damage_of_a_file_is_noticed(store):
    object_cache.load_or_make("fmx.f i8", lambda: CODE)
    (path,) = store.iterdir()
    whole = path.read_bytes()
    for i in range(len(whole)):
        edited = whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :]
        for other in (whole[:i], edited, whole[:i] + whole[i + 1 :]):
            path.write_bytes(other)
            assert object_cache.load("fmx.f i8") is None
    path.write_bytes(whole + b"\0")
    assert object_cache.load("fmx.f i8") is None
    object_cache.load_or_make("fmx.f f8", lambda: CODE)
    (other,) = set(store.iterdir()) - {path}
    path.write_bytes(other.read_bytes())  # of another name
    assert object_cache.load("fmx.f i8") is None
    path.write_bytes(whole)
    assert object_cache.load("fmx.f i8") == CODE


def test_code_of_a_folder_that_was_moved_is_not_loaded(store, code_in):
    object_cache.load_or_make("fmx.f i8", lambda: CODE)
    store.rename(store.with_name("of another processor"))
    code_in(store.with_name("of another processor"))
    assert object_cache.load("fmx.f i8") is None


def old(path, days):
    path.mkdir(mode=0o700, parents=True)
    (path / "below").mkdir()
    (path / "below" / "file").write_text("")
    os.utime(path, (time.time() - 86400 * days,) * 2)
    return path


def test_folders_of_old_code_go_and_nothing_else(tmp_path, code_in):
    base = tmp_path / "fmx"
    named = [f"{i:016x}" for i in range(10)]
    gone = [old(base / name, 31 + i) for i, name in enumerate(named[4:8])]
    kept = [old(base / name, 29) for name in named[:3]]
    kept += [old(base / name, 400) for name in ("tune", "0123456789abcdeg", "0123")]
    elsewhere = old(tmp_path / "elsewhere", 400)
    (base / named[8]).symlink_to(elsewhere)
    if IS_ROOT:
        kept.append(old(base / named[9], 400))
        os.chown(kept[-1], STRANGER, STRANGER)
    code_in(base / ("f" * 16))
    object_cache.write("name", b"")
    assert [path for path in gone if path.exists()] == []
    kept += [elsewhere / "below" / "file", base / named[8], base / ("f" * 16)]
    assert [path for path in kept if not path.exists()] == []


def test_a_folder_in_use_is_not_old_and_is_made_again(store):
    object_cache.load_or_make("name", lambda: CODE)
    os.utime(store, (0, 0))
    assert object_cache.load("name") == CODE
    assert os.stat(store).st_mtime > 0
    shutil.rmtree(store)
    assert object_cache.load("name") is None
    object_cache.load_or_make("name", lambda: CODE)
    assert object_cache.load("name") == CODE


# Code that came with fmx


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder of code that came with fmx, with code under the name "fmx.f 'i8'" for this processor."""
    monkeypatch.setattr(object_cache, "SHARED", tmp_path / "code")
    monkeypatch.setenv("FMX_CACHE", str(tmp_path / "own"))
    for cached in (object_cache.folder, object_cache.shared_folders):
        cached.cache_clear()
    object_cache.load_or_make("fmx.f 'i8'", lambda: CODE)
    (tmp_path / "own" / "fmx").rename(tmp_path / "code")
    object_cache.shared_folders.cache_clear()
    yield tmp_path / "code"
    for cached in (object_cache.folder, object_cache.shared_folders):
        cached.cache_clear()


def test_code_of_a_wheel_is_loaded(shared):
    assert object_cache.load("fmx.f 'i8'") == CODE
    assert object_cache.read("fmx.f 'i8'") is None  # seals are never taken from there
    assert object_cache.load("fmx.f 'f8'") is None
    (file,) = shared.glob("*/*")
    file.write_bytes(file.read_bytes()[:-1])
    assert object_cache.load("fmx.f 'i8'") is None


def test_code_of_a_lesser_processor_is_loaded_and_of_a_better_one_not(shared, monkeypatch):
    lesser = str(native.LEVELS["x86-64-v3"])
    (file,) = shared.glob("*/*")
    monkeypatch.setattr(object_cache, "processor", lambda: "another")
    monkeypatch.setattr(object_cache, "_digest", {lesser: file.parent.name, "another": "another"}.get)
    for able in (True, False):
        monkeypatch.setattr(object_cache, "levels", lambda able=able: [lesser] if able else [])
        object_cache.shared_folders.cache_clear()
        assert (object_cache.load("fmx.f 'i8'") is not None) == able


def test_levels_ask_for_every_feature(monkeypatch):
    every = dict.fromkeys([f[1:] for f in native.LEVELS["x86-64-v3"].features.split(",")], True)
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setattr(native.llvm, "get_host_cpu_features", lambda: every)
    for triple, lacks, names in (
        ("x86_64-unknown-linux-gnu", {}, ["x86-64-v3"]),
        ("x86_64-unknown-linux-gnu", {"bmi2": False}, []),
        ("aarch64-unknown-linux-gnu", {}, ["generic"]),
        ("riscv64-unknown-linux-gnu", {}, []),
    ):
        every.update(lacks)
        monkeypatch.setattr(native.llvm, "get_process_triple", lambda triple=triple: triple)
        assert [name.split()[1] for name in native.levels()] == names


# Versions whose calling conventions fmx does not know


@pytest.mark.parametrize(
    ("of_numba", "of_numpy"), [((0, 60), "2.1.0"), ((0, 69), "2.1.0"), ((1, 61), "2.1.0"), ((0, 61), "3.0.0")]
)
def test_other_versions_of_numba_and_numpy_are_refused(of_numba, of_numpy, monkeypatch):
    monkeypatch.setattr(numba_cpu.numba, "version_info", SimpleNamespace(short=of_numba))
    monkeypatch.setattr(np, "__version__", of_numpy)
    with pytest.raises(FmxError, match="numba or NumPy is not supported: install one that fmx requires"):
        importlib.reload(numba_cpu)


# Two processes that start with one empty folder


@pytest.fixture
def waits(monkeypatch):
    """An event: a process waits for a lock."""
    event, sleep = threading.Event(), time.sleep
    monkeypatch.setattr(object_cache.time, "sleep", lambda seconds: event.set() or sleep(0.001))
    return event


def test_what_another_process_compiles_is_waited_for(store, waits):
    def make():
        raise AssertionError("compiled twice")

    found: list = []
    thread = threading.Thread(target=lambda: found.append(object_cache.load_or_make("fmx.f i8", make)))
    with object_cache._locked(store, "fmx.f i8"):
        thread.start()
        assert waits.wait()
        assert object_cache.load_or_make("fmx.f f8", lambda: CODE) == CODE  # another function does not wait
        object_cache.write("fmx.f i8", object_cache.read("fmx.f f8"))
    thread.join()
    assert found == [CODE]
    assert all(path.suffix == ".o" for path in store.iterdir())


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO])
def test_where_locks_do_not_work_all_is_compiled(store, monkeypatch, error):
    def refuse(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(object_cache.fcntl, "flock", refuse)
    assert object_cache.load_or_make("fmx.f i8", lambda: CODE) == CODE
    assert object_cache.load("fmx.f i8") == CODE


def test_a_stopped_process_is_not_waited_for_long(store, monkeypatch):
    with object_cache._locked(store, "fmx.f i8"):
        monkeypatch.setattr(object_cache, "_PAUSE", 0)
        assert object_cache.load_or_make("fmx.f i8", lambda: CODE) == CODE


def test_an_error_while_compiling_releases_the_lock(store):
    lock = object_cache._locked(store, "fmx.f i8")
    with pytest.raises(OSError, match="of the compiler"), lock:
        raise OSError("of the compiler")
    assert list(store.iterdir()) == []


# Whole commands


def fmx(*arguments, program="from fmx.cli.main import main; main()", variables=()):
    """Run a command in a process of its own."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {program}", *map(str, arguments)],
        env=environment | dict(variables), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_importing_makes_nothing(tmp_path):
    program = (
        "import pkgutil, importlib, fmx.cli.main, fmx.library.functions, fmx.compiler.numba_cpu;"
        "from fmx.cli import commands as c;"
        "[importlib.import_module(f'fmx.cli.commands.{m.name}') for m in pkgutil.iter_modules(c.__path__)]"
    )
    names = {name: str(tmp_path / name) for name in ("FMX_CACHE", "XDG_CACHE_HOME", "HOME", "TMPDIR")}
    done = fmx(program=program, variables=names)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
def test_without_home_passwd_entry_and_room_for_files_all_works(folder):
    program = (
        "import os, pwd; os.environ.pop('HOME', None); pwd.getpwuid = lambda number: {}[number];"
        "from fmx.cli.main import main; main()"
    )
    lambda_, variables = ROOT / "fmx" / "data" / "lambda.fa.gz", {"TMPDIR": "/proc/nowhere"}
    done = fmx("index", lambda_, "-o", "l.fmx", program=program, variables=variables)
    assert done.returncode == 0, done.stderr
    assert "(each time: " in done.stderr.splitlines()[0]
    assert os.listdir(folder) == ["l.fmx"]
