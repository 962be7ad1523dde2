"""The sorter of suffixes: in forked processes, with the threads it is given, and without memory."""

import os
import subprocess
import sys

import cases
import numpy as np
import pytest
from conftest import ROOT
from texts import numbered, random_letters

PROGRAM = """
import multiprocessing, sys
import fmx

def build(name):
    return fmx.build("r.fa", name, threads=threads).locate(["GATTACA", "ACGT"]).tobytes()

def search(_):
    return index.search(["GATTACA", "ACGT"] * 5, k=None).tobytes(), index.count(["ACG"]).tolist()

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    for threads in (1, 2):
        ours = build("parent.fmx")
        index = fmx.open("parent.fmx", threads=threads)
        found = search(None)
        with fork.Pool(2) as pool:
            assert pool.map_async(search, range(3)).get() == [found] * 3
            assert pool.map_async(build, ["child1.fmx", "child2.fmx", "child3.fmx"]).get() == [ours] * 3
        assert build("parent.fmx") == ours
"""


def test_children_build_and_search_as_the_parent_does(tmp_path):
    (tmp_path / "r.fa").write_bytes(cases.fasta(numbered([random_letters(300_000, "fork")])))
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", "program.py"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_sorter_has_a_thread_of_its_own_and_as_many_as_it_is_given(monkeypatch):
    import threading
    from types import SimpleNamespace

    from fmx.index import suffix_array

    asked = []
    pytest.importorskip("pydivsufsort")
    openmp = SimpleNamespace(omp_set_num_threads=lambda n: asked.append((n, threading.current_thread())))
    monkeypatch.setattr(suffix_array, "libdivsufsort", openmp)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    text = np.array([1, 2, 1, 3], np.uint8)
    for n_threads in (3, 1024):  # OpenMP ends the process where it cannot start a thread
        assert suffix_array.suffix_array(text, n_threads=n_threads).tolist() == [0, 2, 1, 3]
    assert suffix_array.suffix_array(text).tolist() == [0, 2, 1, 3]
    assert [n for n, _ in asked] == [3, 4]
    assert threading.current_thread() not in [thread for _, thread in asked]


def test_a_sorter_without_memory_says_so(monkeypatch):
    from fmx.index import suffix_array

    pytest.importorskip("pydivsufsort")

    def refuse(text):
        raise Exception("libdivsufsort error", -2)

    monkeypatch.setattr(suffix_array.pydivsufsort, "divsufsort", refuse)
    with pytest.raises(MemoryError, match="suffixes"):
        suffix_array.suffix_array(np.array([1, 2], np.uint8))
