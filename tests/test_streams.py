"""Inputs read in pieces, by several threads: the bytes are those of the file."""

import os
import threading

import numpy as np
import pytest

from fmx import streams
from fmx.streams import Source


@pytest.fixture
def pieces(monkeypatch):
    """Files are read in pieces of 10 bytes and more."""
    monkeypatch.setattr(streams, "N_READERS", 3)
    monkeypatch.setattr(streams, "_PIECE", 10)


def read(path, size) -> tuple:
    """(what is read by ``size`` bytes at a time, the numbers of bytes)."""
    found, sizes, buffer = b"", [], np.empty(size, np.uint8)
    with Source(path) as source:
        while n := source.readinto(buffer):
            found += buffer[:n].tobytes()
            sizes.append(n)
    return found, sizes


@pytest.mark.parametrize("n", [0, 1, 9, 20, 31, 299, 300, 301])
@pytest.mark.parametrize("size", [1, 25, 100, 1000])
def test_every_size_gives_the_bytes_of_the_file(n, size, pieces, tmp_path):
    data = np.random.default_rng(n).integers(0, 256, n, np.uint8).tobytes()
    (tmp_path / "file").write_bytes(b"@" + data)
    assert read(tmp_path / "file", size) == (
        b"@" + data,
        [size] * ((n + 1) // size) + [(n + 1) % size][: (n + 1) % size],
    )


def test_reads_that_end_early_are_gone_on_with(pieces, tmp_path, monkeypatch):
    data = bytes(range(256))
    (tmp_path / "file").write_bytes(data)
    whole = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, views, at: whole(fd, [views[0][:7]], at))
    assert read(tmp_path / "file", 100)[0] == data


def test_what_is_no_file_is_read_by_one(pieces, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"@some" * 30,))
    writer.start()
    assert read(path, 64)[0] == b"@some" * 30
    writer.join()
    assert read(b">a\nACGT\n", 64)[0] == b">a\nACGT\n"
