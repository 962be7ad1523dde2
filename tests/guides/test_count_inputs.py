"""Protocol: whatever gives a Counter its spans gives each read of each file of each sample once, in order."""

import gzip
from types import SimpleNamespace

import pytest

from fmx.guides.counting import SampleInputs
from fmx.guides.journey import ShardInputs
from fmx.guides.samples import samples_of
from fmx.input.shards import Shard, ShardPlan

FILES = {"a1.fq": 70, "a2.fq.gz": 40, "b.fq": 1, "empty.fq": 0}


def all_of(samples):
    return [SampleInputs(samples, 2)]


def three_shards(samples):
    def shard(i):
        return SimpleNamespace(
            cut=lambda paths, size, n_threads: ShardPlan(Shard(i, 3), paths, 300, n_threads=n_threads)
        )

    counter = SimpleNamespace(find=lambda names, batches: ())
    return [ShardInputs(samples, shard(i), counter, 1) for i in (1, 2, 3)]


@pytest.mark.parametrize("make", [all_of, three_shards])
def test_each_read_is_given_once(make, tmp_path):
    for name, n in FILES.items():
        data = "".join(
            f"@{name}:{i}\n{'ACGT'[i % 4] * (1 + i % 7)}\n+\n{'I' * (1 + i % 7)}\n" for i in range(n)
        )
        (tmp_path / name).write_bytes((gzip.compress if name.endswith("gz") else bytes)(data.encode()))
    a, b, empty = f"{tmp_path}/a1.fq,{tmp_path}/a2.fq.gz", f"{tmp_path}/b.fq", f"{tmp_path}/empty.fq"
    found: dict = {}
    for inputs in make(samples_of([a, b, empty])):
        for item in inputs:
            taken = item.take()
            if taken is None:
                break
            source, read, is_first = taken
            known = found.setdefault((source.sample, source.file), [])
            assert not (is_first and known)
            for (batch,), number in read():
                assert number == len(known) + 1 or make is three_shards  # which count from 1 in each
                for name, length in zip(batch.name_start, batch.name_length, strict=True):
                    known.append(bytes(batch.data[name : name + length]).decode())
    places = {(0, 0): "a1.fq", (0, 1): "a2.fq.gz", (1, 0): "b.fq", (2, 0): "empty.fq"}
    expected = {at: [f"{name}:{i}" for i in range(FILES[name])] for at, name in places.items()}
    assert {at: names for at, names in found.items() if names} == {k: v for k, v in expected.items() if v}
