"""Protocol: whatever gives a Counter its spans gives each read of each file of each sample once, in order."""

import gzip
from types import SimpleNamespace

import pytest

from fmx.guides.counting import CountOptions, spans_of
from fmx.guides.pipeline import ShardInputs
from fmx.guides.samples import samples_of
from fmx.input import InputShare
from fmx.input.shards import Shard, ShardPlan

FILES = {"a1.fq": 70, "a2.fq.gz": 40, "b.fq": 1, "empty.fq": 0}


def all_of(samples):
    return [spans_of(samples, 2, InputShare(()))]


def three_shards(samples):
    def shard(i):
        return SimpleNamespace(cut=lambda wanted: ShardPlan(Shard(i, 3), wanted._replace(size=300)))

    counter = SimpleNamespace(find=find, options=CountOptions())
    return [ShardInputs(samples, shard(i), counter) for i in (1, 2, 3)]


def find(names, batches):
    assert batches[0].length.size
    return (names,)


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
            file, reads = item.read(find)
            known = found.setdefault((file.sample, file.file), [])
            for (batch,), number in reads:
                assert file.where == (list(file.paths),)
                assert number == len(known) + 1 or make is three_shards  # which count from 1 in each
                for name, length in zip(batch.name_start, batch.name_length, strict=True):
                    known.append(bytes(batch.data[name : name + length]).decode())
    places = {(0, 0): "a1.fq", (0, 1): "a2.fq.gz", (1, 0): "b.fq", (2, 0): "empty.fq"}
    expected = {at: [f"{name}:{i}" for i in range(FILES[name])] for at, name in places.items()}
    assert {at: names for at, names in found.items() if names} == {k: v for k, v in expected.items() if v}


def test_a_file_that_was_taken_by_several_is_read_once_and_left_alone_by_nobody(tmp_path):
    (tmp_path / "a.fa").write_text(">r\nACGT\n")
    (tmp_path / "b.fa").write_text(">r\nACGT\n")
    items = spans_of(samples_of([f"{tmp_path}/a.fa", f"{tmp_path}/b.fa"]), 1, InputShare(()))
    one, again = next(items), next(items)
    assert one is again
    assert [len(file.read(find)[1]) for file in (one, again)] == [1, 0]
    other = next(items)
    assert other.paths == (f"{tmp_path}/b.fa",)
    assert (one.is_busy, one.read(find)) == (False, (one, []))
    items.close()
    assert (other.is_busy, other.read(find)) == (False, (other, []))
