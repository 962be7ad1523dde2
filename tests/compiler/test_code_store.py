"""Machine code on disk: only ours is loaded, whole and of the right function, and none is needed."""

import errno
import os
import pwd
import shutil
import stat
import subprocess
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ON_CPU, ROOT
from cover import nightly

from fmx.compiler import functions, kernels, numba_cpu, object_cache, private, probe
from fmx.compiler.native import Code

STRANGER = 12345
IS_ROOT = os.geteuid() == 0
CODE = Code("symbol", ["", "i8", None], b"body\n\0", b"entry")
LIMIT = 1 << 20
LAMBDA = ROOT / "fmx" / "data"


def give_away(path, monkeypatch) -> None:
    """Make a file or folder that of another user: in truth where we may, else in what is seen of it."""
    if IS_ROOT:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
        return
    given, fstat = os.lstat(path).st_ino, os.fstat

    def seen(file):
        state = fstat(file)
        if state.st_ino != given:
            return state
        fields = list(state)
        fields[4:6] = STRANGER, STRANGER
        return os.stat_result(fields)

    monkeypatch.setattr(private.os, "fstat", seen)


@pytest.fixture
def ours(tmp_path):
    """A folder that is ours alone, with the file "file" in it."""
    path = tmp_path / "above" / "ours"
    private.write(path, "file", b"data")
    assert private.read(path, "file", LIMIT) == b"data"
    return path


def is_refused(path) -> bool:
    """Whether a folder is not used, for reading or writing."""
    before = sorted(os.listdir(path))
    private.write(path, "other", b"data")
    return (
        not private.is_ours(path)
        and private.read(path, "file", LIMIT) is None
        and sorted(os.listdir(path)) == before
    )


def test_folders_are_made_for_us_alone(tmp_path):
    before = os.umask(0)
    try:
        private.write(tmp_path / "a" / "b" / "c", "file", b"")
    finally:
        os.umask(before)
    for path, mode in (("a", 0o700), ("a/b", 0o700), ("a/b/c", 0o700), ("a/b/c/file", 0o600)):
        assert stat.S_IMODE(os.stat(tmp_path / path).st_mode) == mode
    assert os.listdir(tmp_path / "a" / "b" / "c") == ["file"]


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o710, 0o701, 0o770, 0o777, 0o1777])
def test_a_folder_open_to_others_is_not_used(ours, mode):
    ours.chmod(mode)
    assert is_refused(ours)


def test_a_folder_of_another_user_is_not_used(ours, monkeypatch):
    give_away(ours, monkeypatch)
    assert is_refused(ours)


def test_a_folder_below_one_of_another_user_is_not_used(ours, monkeypatch):
    give_away(ours.parent, monkeypatch)
    assert is_refused(ours)


def test_a_link_to_a_folder_is_not_used(ours):
    link = ours.parent / "link"
    link.symlink_to(ours)
    assert is_refused(link)
    (ours.parent / "way").symlink_to(ours.parent)
    assert is_refused(ours.parent / "way" / "ours")


@pytest.mark.parametrize(("mode", "used"), [(0o777, False), (0o757, False), (0o1777, True), (0o755, True)])
def test_a_folder_that_others_could_exchange_is_not_used(ours, mode, used):
    ours.parent.chmod(mode)
    assert private.is_ours(ours) == used
    assert is_refused(ours) != used


def test_a_group_of_others_could_exchange_it_and_a_group_of_our_own_not(ours, monkeypatch):
    ours.parent.chmod(0o770)
    group = os.stat(ours.parent).st_gid
    monkeypatch.setattr(private.os, "getegid", lambda: group + 1)
    assert is_refused(ours)
    monkeypatch.undo()
    assert private.is_ours(ours) == (group == os.getegid() == os.geteuid())


def test_a_folder_that_cannot_be_written_is_read(ours, monkeypatch):
    monkeypatch.setattr(private.os, "access", lambda *_, **__: False)  # root may write anything
    assert not private.is_ours(ours)
    assert private.read(ours, "file", LIMIT) == b"data"


def test_a_file_of_another_user_is_not_read(ours, monkeypatch):
    give_away(ours / "file", monkeypatch)
    assert private.read(ours, "file", LIMIT) is None


def sparse(path):
    with open(path, "wb") as stream:
        stream.truncate(10**10)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to(path.with_name("held")),
        lambda path: path.symlink_to(path),
        lambda path: (path.write_bytes(b"data"), path.chmod(0o666)),
        lambda path: path.write_bytes(bytes(LIMIT + 1)),
        sparse,
    ],
    ids=["folder", "pipe", "link", "circle", "writable", "long", "sparse"],
)
def test_what_is_no_plain_file_of_ours_is_not_read(ours, make):
    (ours / "held").write_bytes(b"data")
    (ours / "file").unlink()
    make(ours / "file")
    assert private.read(ours, "file", LIMIT) is None
    private.write(ours, "file", b"new")  # a folder stays, anything else makes way
    assert private.read(ours, "file", LIMIT) == (None if (ours / "file").is_dir() else b"new")
    assert sorted(os.listdir(ours)) == ["file", "held"]


def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    for name in ("FMX_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert private.base() == tmp_path / ".cache" / "fmx"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # counts for nothing by its specification
    assert private.base() == tmp_path / ".cache" / "fmx"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert private.base() == tmp_path / "shared" / "fmx"
    monkeypatch.setenv("FMX_CACHE", "~/mine")
    assert private.base() == tmp_path / "mine" / "fmx"
    (tmp_path / "link").symlink_to(tmp_path / "away")
    monkeypatch.setenv("FMX_CACHE", str(tmp_path / "link"))
    assert private.base() == tmp_path / "away" / "fmx"


def test_without_a_home_there_is_no_folder(monkeypatch):
    def unknown(number):
        raise KeyError(number)

    for name in ("FMX_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert private.base() is None
    monkeypatch.setattr(object_cache, "folder", object_cache.folder.__wrapped__)
    assert object_cache.folder() is None
    assert object_cache.load("name") is None
    object_cache.save("name", CODE)
    object_cache.keep_proof()
    assert not object_cache.is_kept()
    assert not object_cache.is_proven()


@pytest.fixture
def store(tmp_path, code_in):
    """An empty folder of code."""
    code_in(tmp_path / "code")
    return tmp_path / "code"


def only_file(folder) -> Path:
    (path,) = folder.iterdir()
    return path


def test_every_damage_of_a_file_is_noticed(store):
    object_cache.save("fmx.f i8", CODE)
    assert object_cache.load("fmx.f i8") == CODE
    path = only_file(store)
    whole = path.read_bytes()
    for i in range(len(whole)):
        for other in (
            whole[:i],
            whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :],
            whole[:i] + whole[i + 1 :],
        ):
            path.write_bytes(other)
            assert object_cache.load("fmx.f i8") is None
    path.write_bytes(whole + b"\0")
    assert object_cache.load("fmx.f i8") is None
    path.write_bytes(whole)
    assert object_cache.load("fmx.f i8") == CODE


@pytest.mark.parametrize(("before", "after"), [('"i8"', '"f8"'), (", 6]", ", 7]"), ('"symbol"', '"synbol"')])
def test_an_edited_head_is_noticed(store, before, after):
    object_cache.save("fmx.f i8", CODE)
    path = only_file(store)
    data = path.read_bytes()
    assert data.count(before.encode()) == 1
    path.write_bytes(data.replace(before.encode(), after.encode()))
    assert object_cache.load("fmx.f i8") is None


def test_files_in_each_others_place_are_noticed(store):
    object_cache.save("fmx.f i8", CODE)
    first = only_file(store)
    held = first.read_bytes()
    object_cache.save("fmx.f f8", CODE._replace(symbol="other"))
    (second,) = set(store.iterdir()) - {first}
    first.write_bytes(second.read_bytes())
    second.write_bytes(held)
    assert object_cache.load("fmx.f i8") is object_cache.load("fmx.f f8") is None


@pytest.mark.parametrize(
    "head",
    [b"5", b"null", b"[" * 100_000, b'{"a":' * 100_000, b"", b"[1]", b'["a",0,"b"]', b"\xff"],
)
def test_odd_heads_with_the_right_checksum_are_noticed(store, head):
    object_cache.save("fmx.f i8", CODE)
    held = b"fmx.f i8\n" + head + b"\nmachine"
    only_file(store).write_bytes(sha256(held).digest() + held)
    assert object_cache.read("fmx.f i8") == head + b"\nmachine"
    assert object_cache.load("fmx.f i8") is None


def test_a_file_is_whole_whoever_else_writes_it(store):
    codes = [CODE._replace(body=bytes([i]) * 50_000 * i) for i in range(1, 5)]
    object_cache.save("name", codes[0])
    done = threading.Event()

    def save(code):
        while not done.is_set():
            object_cache.save("name", code)

    threads = [threading.Thread(target=save, args=(code,)) for code in codes]
    for thread in threads:
        thread.start()
    try:
        assert all(object_cache.load("name") in codes for _ in range(500))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert len(list(store.iterdir())) == 1


def old(path, days):
    path.mkdir(mode=0o700, parents=True)
    (path / "below").mkdir()
    (path / "below" / "file").write_text("")
    os.utime(path, (time.time() - 86400 * days,) * 2)
    return path


def test_folders_of_old_code_go_and_nothing_else(tmp_path, code_in):
    base = tmp_path / "fmx"
    named = [f"{i:016x}" for i in range(10)]
    gone = [old(base / name, 40 + i) for i, name in enumerate(named[4:8])]
    kept = [old(base / name, 31 + i) for i, name in enumerate(named[:3])]  # the newest, old as they are
    kept += [old(base / name, 400) for name in ("tune", "0123456789abcdeg", "0123")]
    elsewhere = old(tmp_path / "elsewhere", 400)
    (base / named[8]).symlink_to(elsewhere)
    if IS_ROOT:
        kept.append(old(base / named[9], 400))
        os.chown(kept[-1], STRANGER, STRANGER)
    code_in(base / ("f" * 16))
    object_cache.keep_proof()
    assert object_cache.is_proven()
    assert [path for path in gone if path.exists()] == []
    assert [
        path for path in [*kept, elsewhere / "below" / "file", base / named[8]] if not path.exists()
    ] == []


def test_files_that_nobody_uses_go_and_nothing_else(store, tmp_path):
    for name in ("used", "unused", "pipe"):
        private.write(store, name, b"data")
    (store / "pipe").unlink()
    os.mkfifo(store / "pipe")
    (store / "below").mkdir()
    (store / "link").symlink_to(tmp_path / "nothing")
    for path in store.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    assert private.read(store, "used", LIMIT) == b"data"
    private.prune_files(store)
    assert sorted(os.listdir(store)) == ["below", "link", "pipe", "used"]


def test_a_folder_in_use_is_not_old(store):
    object_cache.save("name", CODE)
    os.utime(store, (0, 0))
    assert object_cache.load("name") == CODE
    assert os.stat(store).st_mtime > time.time() - 60


def test_who_uses_a_folder_that_goes_makes_it_again(store):
    object_cache.save("name", CODE)
    only_file(store).unlink()
    store.rmdir()
    assert object_cache.load("name") is None
    object_cache.save("name", CODE)
    assert object_cache.load("name") == CODE


# The convention of numba and the layout of NumPy's arrays


def slope(table, x):
    return table[1, 2] - table[0, 0] * x, not x


@pytest.fixture
def anew(store, monkeypatch):
    """A function: ``slope``, compiled as if it were of fmx by a process that has compiled nothing yet."""
    functions._is_callable.cache_clear()
    yield lambda: functions.compiled(slope)
    functions._is_callable.cache_clear()


def swapped(monkeypatch):
    """As if NumPy kept strides before shapes."""
    monkeypatch.setattr(numba_cpu, "_SHAPE", 3)
    monkeypatch.setattr(numba_cpu, "_STRIDES", 2)


def beyond(monkeypatch):
    """As if the head of a Python object had another size: a crash."""
    monkeypatch.setattr(numba_cpu, "_HEAD", 1 << 40)


def ordered(monkeypatch):
    """As if numba passed the size of items before that of arrays."""
    array = numba_cpu._array
    monkeypatch.setattr(
        numba_cpu, "_array", lambda *given: [(f := array(*given))[i] for i in (0, 1, 3, 2)] + f[4:]
    )


def without(monkeypatch):
    """As if numba had no dispatcher as we know it."""
    monkeypatch.setattr(numba_cpu, "machine_code", lambda *_: 1 // 0)


@pytest.mark.parametrize("differs", [swapped, beyond, ordered, without])
def test_where_the_convention_differs_numba_calls(anew, store, monkeypatch, differs):
    import numpy as np

    monkeypatch.setattr(slope, "__module__", "fmx.of_a_test")
    heard = []
    object_cache.on_first_compile(SimpleNamespace(say=heard.append))
    differs(monkeypatch)
    assert not probe.holds(numba_cpu)
    table = np.arange(6.0).reshape(2, 3)
    assert anew()(table, 4) == (5.0, False)
    assert anew()(table.T[:, ::-1].T + 1, 0) == slope(table.T[:, ::-1].T + 1, 0)
    assert len(heard) == 1
    assert "this version of numba or NumPy is not supported" in heard[0]
    assert not store.exists() or os.listdir(store) == []


def test_what_the_convention_is_was_found_out_once_for_a_folder(anew, store, monkeypatch):
    asked = []
    ask = probe.ask
    monkeypatch.setattr(probe, "ask", lambda *codes: asked.append(1) or ask(*codes))
    for _ in range(2):
        functions._is_callable.cache_clear()
        assert probe.holds(numba_cpu)
    assert asked == [1]
    assert len(os.listdir(store)) == 1


# Two processes that start with one empty folder


HOLDS = """
import sys, time
from pathlib import Path
from fmx.compiler import private
with private.locked(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def waits(monkeypatch):
    """An event: a process waits for a lock."""
    event, sleep = threading.Event(), time.sleep
    monkeypatch.setattr(private.time, "sleep", lambda seconds: event.set() or sleep(0.001))
    return event


def test_what_another_process_compiles_is_waited_for(store, waits):
    def make():
        raise AssertionError("compiled twice")

    found = []
    with object_cache.claimed("fmx.f i8"):
        thread = threading.Thread(target=lambda: found.append(object_cache.load_or_make("fmx.f i8", make)))
        thread.start()
        assert waits.wait(100)
        assert object_cache.load_or_make("fmx.f f8", lambda: CODE) == CODE  # another function does not wait
        object_cache.save("fmx.f i8", CODE)
    thread.join()
    assert found == [CODE]
    assert all(path.suffix == ".o" for path in store.iterdir())


def test_a_killed_process_holds_no_lock(store, waits):
    name = object_cache._file("fmx.f i8")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, store, name], env=ON_CPU, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    found = []
    thread = threading.Thread(
        target=lambda: found.append(object_cache.load_or_make("fmx.f i8", lambda: CODE))
    )
    thread.start()
    assert waits.wait(100)
    holder.kill()
    holder.communicate()
    thread.join()
    assert found == [CODE]
    assert [path.suffix for path in store.iterdir()] == [".o"]


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO])
def test_where_locks_do_not_work_all_is_compiled(store, monkeypatch, error):
    def refuse(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(private.fcntl, "flock", refuse)
    assert object_cache.load_or_make("fmx.f i8", lambda: CODE) == CODE
    assert object_cache.load("fmx.f i8") == CODE


def test_a_stopped_process_is_not_waited_for_long(store, monkeypatch):
    with object_cache.claimed("fmx.f i8"):
        monkeypatch.setattr(private, "_PATIENCE", 0)
        assert object_cache.load_or_make("fmx.f i8", lambda: CODE) == CODE


def test_an_error_while_compiling_releases_the_lock(store):
    with pytest.raises(OSError, match="of the compiler"), object_cache.claimed("fmx.f i8"):
        raise OSError("of the compiler")
    assert object_cache.load_or_make("fmx.f i8", lambda: CODE) == CODE


def test_functions_and_kernels_are_compiled_so(monkeypatch):
    monkeypatch.setattr(slope, "__module__", "fmx.of_a_test")
    monkeypatch.setattr(object_cache, "load_or_make", lambda name, *_: (name.split()[0], CODE))
    assert functions.Compiled(slope).code(("i8", "f8")) == ("fmx.of_a_test.slope", CODE)
    assert kernels.Kernel(slope).compile(("i8", "f8"), (9, 0)) == ("fmx.of_a_test.slope", CODE)


# Whole commands


def fmx(*arguments, program="from fmx.cli.main import main; main()", variables=(), **how):
    """Run a command in a process of its own."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {program}", *map(str, arguments)],
        env=environment | dict(variables), capture_output=True, text=True, check=False, **how,
    )  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The path of an index, and of a folder in which the code to search it is kept."""
    folder = tmp_path_factory.mktemp("index")
    cache, known = {"FMX_CACHE": str(folder / "cache")}, object_cache.folder()
    if known.exists():
        shutil.copytree(known, folder / "cache" / "fmx" / known.name)
    assert fmx("index", LAMBDA / "lambda.fa.gz", "-o", folder / "l.fmx", variables=cache).returncode == 0
    return folder / "l.fmx", cache


def records(done) -> list:
    """The records of SAM, whose head tells the command."""
    return [line for line in done.stdout.splitlines() if not line.startswith("@")]


def search(index, **how):
    return fmx("search", "-x", index, "-t", "1", LAMBDA / "lambda_reads.fq.gz", **how)


@pytest.fixture(scope="module")
def found(index):
    """What a search finds."""
    path, cache = index
    done = search(path, variables=cache)
    assert done.returncode == 0, done.stderr
    assert len(records(done)) == 2000
    return records(done)


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


def test_without_home_passwd_entry_and_room_for_files_all_works(folder):
    program = (
        "import os, pwd; os.environ.pop('HOME', None); pwd.getpwuid = lambda number: {}[number];"
        "from fmx.cli.main import main; main()"
    )
    done = fmx(
        "index", LAMBDA / "lambda.fa.gz", "-o", "l.fmx",
        program=program, variables={"TMPDIR": "/proc/nowhere"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "(each time: " in done.stderr.splitlines()[0]
    assert os.listdir(folder) == ["l.fmx"]


@pytest.mark.xdist_group("code to search")
@pytest.mark.parametrize("where", ["cache", nightly("/proc/nowhere")])
def test_code_that_another_user_planted_does_not_run(where, index, found, tmp_path):
    """The folder that was taken where there was no other, and the one that FMX_CACHE names."""
    path, cache = index
    (real,) = Path(cache["FMX_CACHE"], "fmx").iterdir()
    planted = {}
    for above in (tmp_path / f"fmx-{os.getuid()}", tmp_path / "cache" / "fmx"):
        (above / real.name).mkdir(parents=True)
        for file in real.iterdir():
            planted[above / real.name / file.name] = file.stat().st_size
            (above / real.name / file.name).write_bytes(bytes(file.stat().st_size))
            if IS_ROOT:
                os.chown(above / real.name / file.name, STRANGER, STRANGER)
        (above / real.name).chmod(0o777)
    done = search(path, variables={"FMX_CACHE": str(tmp_path / where), "TMPDIR": str(tmp_path)})
    assert (done.returncode, records(done)) == (0, found), done.stderr
    stated = f"(each time: the code cannot be stored in {tmp_path / where}/"
    assert stated in done.stderr
    assert "; set FMX_CACHE to a folder that only you can write to) ..." in done.stderr
    assert {file: file.stat().st_size for file in tmp_path.rglob("*.fmx*") if file.is_file()} == {}
    assert {file: len(file.read_bytes().strip(b"\0")) for file in planted} == dict.fromkeys(planted, 0)


@pytest.mark.xdist_group("code to search")
def test_every_damaged_file_is_made_anew(index, found, tmp_path):
    path, cache = index
    (real,) = Path(cache["FMX_CACHE"], "fmx").iterdir()
    files = sorted(file for file in real.iterdir() if file.name.startswith("fmx."))
    whole = {file: file.read_bytes() for file in files}
    for file, other in zip(files, files[1:] + files[:1], strict=True):
        file.write_bytes(whole[other])
    done = search(path, variables=cache)
    assert (done.returncode, records(done)) == (0, found), done.stderr
    mended = [
        file for file in files if file.read_bytes() != whole[files[(files.index(file) + 1) % len(files)]]
    ]
    assert len(mended) >= 5  # those that a search needs
    search(path, variables=cache)
    assert "compiling" not in search(path, variables=cache).stderr


@pytest.mark.nightly
@pytest.mark.xdist_group("code to search")
def test_a_whole_search_by_numbas_own_calls(index, found, tmp_path):
    program = (
        "from fmx.compiler import numba_cpu; numba_cpu._HEAD = 1 << 40;from fmx.cli.main import main; main()"
    )
    done = search(index[0], program=program, variables={"FMX_CACHE": str(tmp_path)})
    assert (done.returncode, records(done)) == (0, found), done.stderr
    assert "this version of numba or NumPy is not supported" in done.stderr
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file for file in kept if not file.name.startswith("seal-")] == []


# A limit on memory


def limited(megabytes):
    return f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes << 20},) * 2); "


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells what is taken")
@pytest.mark.xdist_group("code to search")
@pytest.mark.parametrize("is_warm", [True, nightly(False)])
def test_too_little_memory_for_the_compiler_is_one_line(index, found, tmp_path, is_warm):
    path, cache = index
    codes = set()
    for megabytes in (160, 240, 320, 345, 1200) if is_warm else (360, 420, 480, 560, 1200):
        done = search(
            path, program=limited(megabytes) + "from fmx.cli.main import main; main()",
            variables={"OPENBLAS_NUM_THREADS": "1", **(cache if is_warm else {"FMX_CACHE": str(tmp_path)})},
        )  # fmt: skip
        codes.add(done.returncode)
        if done.returncode:
            last = done.stderr.splitlines()[-1]
            assert done.returncode == 1, (megabytes, done.stderr)
            assert last.startswith("fmx: error: out of memory"), (megabytes, done.stderr)
            assert len(done.stderr.splitlines()) <= 2
        else:
            assert records(done) == found
    assert codes == {0, 1}
