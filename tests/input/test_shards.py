"""Shards: whatever number of them, their records are those of the whole inputs, and no fault is lost."""

import gzip
import lzma
from itertools import chain, pairwise

import hypothesis.strategies as st
import pytest
from cover import examples
from hypothesis import given
from input.test_spans import fastq, outcome
from output_of import bgzf

from fmx.errors import InputError
from fmx.input import InputRange, shards
from fmx.input.reads import parse
from fmx.input.shards import CutSizes, Shard, ShardPlan
from fmx.input.spans import read_chunks

SIZES = [1, 3, 7, 40]


def records(found) -> list:
    """Records without their numbers."""
    return [record[1:] for record in found[0]]


def by_shards(paths, n, size):
    """((records, fault), begin, end) of each of n shards that is not empty, cut at spans of ``size``."""
    for number in range(1, n + 1):
        plan = ShardPlan(Shard(number, n), InputRange(paths, size), cut_sizes=CutSizes(size))
        found, fault = outcome(span.read() for span in plan.spans())
        if not fault:
            if not plan.is_empty:
                yield (found, ""), plan.begin, plan.end
            continue
        try:
            for span in ShardPlan(
                Shard(number, n), InputRange(paths, size), cut_sizes=CutSizes(size)
            ).spans():
                outcome([span.read()])
        except InputError:
            pass
        yield (found, fault), plan.begin, None


def check(paths, n, size):
    expected = outcome(read_chunks(paths, 1 << 23))
    parts = list(by_shards(paths, n, size))
    faults = [fault for (_, fault), _, _ in parts if fault]
    met = all(end == after for (_, _, end), (_, after, _) in pairwise(parts))
    if expected[1]:
        assert faults or not met
        return
    assert not faults
    assert met
    assert list(chain(*(records(found) for found, _, _ in parts))) == records(expected)


@examples(150)
@given(text=fastq(), n=st.integers(1, 6), size=st.sampled_from(SIZES))
def test_shards_of_fastq_have_all_records_and_faults(text, n, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "reads.fq"
    path.write_bytes(text)
    check([path], n, size)


@examples(60)
@given(texts=st.lists(fastq(spoiled=False), min_size=1, max_size=3), n=st.integers(1, 6), data=st.data())
def test_shards_of_several_files_of_any_kind(texts, n, data, tmp_path_factory):
    paths, folder = [], tmp_path_factory.mktemp("shards")
    for i, text in enumerate(texts):
        kind = data.draw(st.sampled_from([bytes, gzip.compress, lzma.compress, lambda t: bgzf(t, 23)]))
        paths.append(folder / f"{i}.fq")
        paths[-1].write_bytes(kind(text))
    check(paths, n, data.draw(st.sampled_from(SIZES)))


@examples(60)
@given(lines=st.lists(st.sampled_from([">a", ">", "AC", "", "G>T", "> b"]), max_size=20), n=st.integers(1, 5))
def test_shards_of_fasta(lines, n, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "reads.fa"
    path.write_text("\n".join([">first", *lines]))
    for size in SIZES:
        check([path], n, size)


def many(n) -> bytes:
    """FASTQ of n reads whose qualities begin like names."""
    return b"".join(b"@r%d\nACGTACGTAC\n+\n@+>@@IIII+\n" % i for i in range(n))


@pytest.mark.parametrize("kind", ["plain", "bgzf"])
def test_a_shard_reads_little_beyond_its_own(kind, tmp_path, monkeypatch):
    path, text = tmp_path / "reads.fq", many(4000)
    path.write_bytes(text if kind == "plain" else bgzf(text))
    monkeypatch.setattr(shards, "count_records", None)  # what stands before is never read
    sizes = CutSizes(1000, (2000,))
    plans = [ShardPlan(Shard(i, 8), InputRange([path], 1000), cut_sizes=sizes) for i in range(1, 9)]
    found = [outcome(span.read() for span in plan.spans()) for plan in plans]
    assert list(chain(*map(records, found))) == records(outcome(read_chunks([path])))
    lengths = [len(part) for part, _ in found]
    assert min(lengths) > 400
    assert [plan.begin for plan in plans[1:]] == [plan.end for plan in plans[:-1]]


@pytest.mark.parametrize("kind", ["plain", "bgzf"])
def test_a_fault_is_told_with_the_number_of_its_record(kind, tmp_path):
    path = tmp_path / "reads.fq"
    text = many(3000).replace(b"@r2600\nACGT", b"@r2600\nAC!T")
    path.write_bytes(text if kind == "plain" else bgzf(text))
    expected = outcome(read_chunks([path]))[1]
    assert "record 2601" in expected
    faults = []
    for i in range(1, 6):
        plan = ShardPlan(Shard(i, 5), InputRange([path], 1000), cut_sizes=CutSizes(1000))
        try:
            for span in plan.spans():
                parse(span.read())
        except InputError as error:
            faults.append(str(plan.renumbered(error)))
    assert faults == [expected]


def test_what_lies_where_two_shards_meet_is_noticed(tmp_path):
    """A line too many there: each shard by itself has whole records."""
    path = tmp_path / "reads.fq"
    record = b"@r\nACGTACGTAC\n+\nIIIIIIIIII\n"
    half = record * 50
    path.write_bytes(half + b"x\n" + half[2:])
    (_, _, end), (_, begin, _) = by_shards([path], 2, len(half))
    assert end != begin


@pytest.mark.parametrize("count", [1, 2, 9])
def test_gzip_goes_whole_to_one_shard(count, tmp_path):
    paths = [tmp_path / f"{i}.fq.gz" for i in range(3)]
    for path in paths:
        path.write_bytes(gzip.compress(many(100)))
    sizes = [len(found) for (found, _), _, _ in by_shards(paths, count, 100)]
    assert sum(sizes) == 300
    assert all(size % 100 == 0 for size in sizes)


def test_shards_meet_whatever_the_spans_of_a_machine_are(tmp_path):
    """One with a GPU takes longer ones."""
    path = tmp_path / "reads.fq"
    path.write_bytes(many(8000))
    plans = [
        ShardPlan(Shard(i, 2), InputRange([path], size), cut_sizes=CutSizes(1 << 16))
        for i, size in ((1, 1 << 16), (2, 3 << 14))
    ]
    found = [outcome(span.read() for span in plan.spans()) for plan in plans]
    assert min(len(part) for part, _ in found) > 2000
    assert plans[0].end == plans[1].begin
    assert list(chain(*map(records, found))) == records(outcome(read_chunks([path])))
