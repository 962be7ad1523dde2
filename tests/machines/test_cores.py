"""How many threads and how much memory fmx takes by itself: what a container or a batch job lets it have."""

import os

import pytest

from fmx import system as resources
from fmx.index import plan

GB, CGROUP = 10**9, "proc/self/cgroup"
NO_LIMIT_V1 = "9223372036854771712"
CACHED = f"anon 5\nfile 6\nactive_file {2 * GB}\ninactive_file {3 * GB}"  # files, which can give way


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function: files by their paths -> a machine of 8 cores and 100 GB of free memory with them."""
    monkeypatch.setattr(resources, "ROOT", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(plan, "free_memory", lambda: 100 * GB)

    def machine(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")

    return machine


def v2(group, files) -> dict:
    tree = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    return {CGROUP: f"0::{group}", **tree}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        (v2("/", {}), 8),
        (v2("/", {"cpu.max": "max 100000"}), 8),
        (v2("/", {"cpu.max": "200000 100000"}), 2),
        (v2("/", {"cpu.max": "250000 100000"}), 3),
        (v2("/", {"cpu.max": "1000 100000"}), 1),
        (v2("/", {"cpu.max": "1600000 100000"}), 8),
        (v2("/a/b", {"a/b/cpu.max": "300000 100000", "a/cpu.max": "max 100000"}), 3),
        (v2("/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 50000"}), 3),
        (v2("/a/b", {"a/b/cpu.max": "600000 100000", "a/cpu.max": "400000 100000"}), 4),
        (v2("/host/only", {"cpu.max": "200000 100000"}), 2),  # a container sees its own group as the root
        (v2("/../../x", {"cpu.max": "200000 100000"}), 2),
        (v2("/a:b", {"a:b/cpu.max": "200000 100000"}), 2),
        *((files, 8) for files in (v2("/", {"cpu.max": "x"}), v2("/", {"cpu.max": ""}), {CGROUP: "x"})),
        (
            {
                CGROUP: "5:memory:/job\n4:cpu,cpuacct:/job/step\n1:name=systemd:/\n0::/",
                "sys/fs/cgroup/cpu/job/step/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/job/step/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "450000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
            },
            5,
        ),
    ],
)
def test_cores_are_those_of_the_quota(files, cores, machine):
    machine(files)
    assert resources.available_cores() == cores


def test_affinity_counts_too(machine, monkeypatch):
    machine(v2("/", {"cpu.max": "400000 100000"}))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert resources.available_cores() == 2


@pytest.mark.parametrize(
    ("files", "memory"),
    [
        ({}, 100 * GB),
        (v2("/", {"memory.max": "max", "memory.current": str(9 * GB)}), 100 * GB),
        (v2("/", {"memory.max": str(8 * GB), "memory.current": str(3 * GB)}), 5 * GB),
        (v2("/", {"memory.max": str(8 * GB), "memory.current": str(9 * GB)}), 0),
        (v2("/a/b", {"a/memory.max": str(8 * GB), "a/memory.current": str(3 * GB)}), 5 * GB),
        (v2("/", {"memory.max": str(8 * GB), "memory.current": str(7 * GB), "memory.stat": CACHED}), 6 * GB),
        (v2("/", {"memory.max": str(8 * GB)}), 8 * GB),
        (
            {
                CGROUP: "5:memory:/job\n0::/",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(4 * GB),
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": str(2 * GB),
                "sys/fs/cgroup/memory/job/memory.stat": f"total_inactive_file {GB}\ninactive_file 7",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT_V1,
                "sys/fs/cgroup/memory/memory.usage_in_bytes": str(9 * GB),
            },
            3 * GB,
        ),
    ],
)
def test_memory_is_what_the_group_has_left(files, memory, machine):
    machine(files)
    assert plan.available_memory() == memory
