"""Seals: an index that did not change is not read again; whatever happened to a file, it is."""

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from texts import random_letters

from fmx.errors import IndexFileError
from fmx.index import disk, fm_index

ARRAY = "sa_positions.npy"
OF_VERIFY, OF_BACKWARD = (
    {"sa_positions", "text_words", "seed_starts"},
    {"sa_positions", "bvsfm-k2-d96.entries"},
)


@pytest.fixture
def opened(tmp_path, index_of, code_in, monkeypatch):
    """A function that opens (path, ...) and gives the names of the arrays that were checked."""
    checked: list = []
    seldom = disk.check_arrays

    def check(path, meta, arrays, n_threads):
        checked.extend(arrays)
        seldom(path, meta, arrays, n_threads)

    def opened(path, **how):
        checked.clear()
        fm_index.load(path, **how)
        return set(checked)

    now = time.time_ns
    monkeypatch.setattr(disk, "check_arrays", check)
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60 * 10**9)  # files are old
    code_in(tmp_path / "seals")
    return opened


@pytest.fixture
def path(tmp_path, index_of):
    """An index that nobody has opened."""
    made = shutil.copytree(index_of([("one", random_letters(500, "seal"))]), tmp_path / "ref.fmx")
    time.sleep(0.02)  # longer than a tick of the kernel's clock
    return made


@pytest.fixture
def sealed(path, opened):
    """An index with a seal."""
    assert opened(path) >= OF_VERIFY
    assert opened(path) == set()
    return path


def flip(data):
    """Change one bit of the last byte."""
    data[-1] ^= 1


def rewrite(file, change):
    """Change a file's bytes in place; its size and mtime stay."""
    before, data = file.stat(), bytearray(file.read_bytes())
    change(data)
    with open(file, "r+b") as stream:
        stream.write(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_a_changed_byte_is_found_though_size_and_mtime_stay(sealed, opened):
    rewrite(sealed / ARRAY, flip)
    for _ in range(2):
        with pytest.raises(IndexFileError, match=f"{ARRAY}: damaged"):
            opened(sealed)
    rewrite(sealed / ARRAY, flip)
    assert opened(sealed) == {"sa_positions"}
    assert opened(sealed) == set()


def test_a_replaced_file_and_a_copied_index_are_checked(sealed, opened, tmp_path):
    shutil.copy2(sealed / ARRAY, tmp_path / "copy")
    os.replace(tmp_path / "copy", sealed / ARRAY)
    assert opened(sealed) == {"sa_positions"}
    copied = shutil.copytree(sealed, tmp_path / "copy.fmx")
    rewrite(copied / ARRAY, flip)
    with pytest.raises(IndexFileError, match=f"{ARRAY}: damaged"):
        opened(copied)
    rewrite(copied / ARRAY, flip)
    assert opened(copied) >= OF_VERIFY
    assert opened(copied) == opened(sealed) == set()


def test_a_seal_is_of_one_meta(sealed, opened):
    meta = json.loads((sealed / disk.META).read_text())
    meta["fmx_version"] = "0.0.1"
    meta["checksum"] = disk.meta_checksum(meta)
    (sealed / disk.META).write_text(json.dumps(meta))
    assert opened(sealed) >= OF_VERIFY


def test_what_was_not_read_before_is_checked(sealed, opened):
    assert opened(sealed, method="backward") == OF_BACKWARD - OF_VERIFY
    assert opened(sealed, method="backward") == opened(sealed) == set()


def test_verify_checks_whatever_the_seal_says(sealed, opened, command):
    assert opened(sealed, verify=True) >= OF_VERIFY
    rewrite(sealed / ARRAY, flip)
    os.utime(sealed / ARRAY, ns=(0, 0))
    with open(sealed / ARRAY) as file:
        held = {"sa_positions": disk._state(file.fileno())}
    meta = disk.read_meta(sealed)
    disk.keep_seal(sealed, meta, {**disk.read_seal(sealed, meta), **held}, time.time_ns() + 10**9)  # a lie
    (sealed.parent / "r.fa").write_text(">r\nACGT\n")
    assert opened(sealed) == set()
    for line in (["search", "-x"], ["locate", "-x"], ["mem", "-x"]):
        assert "damaged" in command(*line, sealed, "--verify", sealed.parent / "r.fa").err
    assert "damaged" in command("inspect", "--verify", sealed).err


def test_files_that_just_changed_are_not_sealed(path, opened, monkeypatch):
    newest = max(file.stat().st_ctime_ns for file in path.iterdir())
    monkeypatch.setattr(time, "time_ns", lambda: newest + 10**9)
    assert opened(path) == opened(path) >= OF_VERIFY


def test_a_file_that_changes_while_it_is_checked_is_not_sealed(path, opened, monkeypatch):
    check = disk.check_arrays

    def changing(*arguments):
        check(*arguments)
        rewrite(path / ARRAY, flip)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(disk, "check_arrays", changing)
        opened(path)
    with pytest.raises(IndexFileError, match=f"{ARRAY}: damaged"):
        opened(path)


def test_a_cache_that_cannot_be_written_is_done_without(path, opened, tmp_path, code_in):
    code_in(tmp_path / "file" / "seals")
    (tmp_path / "file").write_text("no folder")
    assert opened(path) == opened(path) >= OF_VERIFY
    code_in(None)
    assert opened(path) == opened(path) >= OF_VERIFY


def test_many_may_open_and_seal_at_once(path, opened):
    futures = []
    with ThreadPoolExecutor(8) as pool:
        for method in ["verify", "backward"] * 20:
            futures.append(pool.submit(fm_index.load, path, method=method))
    assert all(future.result() for future in futures)
    opened(path), opened(path, method="backward")
    assert opened(path) == opened(path, method="backward") == set()
