"""Shards: whatever number of them, they have the records or pairs of one run, and no fault is lost."""

import gzip
import lzma
import re
from itertools import chain, pairwise, permutations
from unittest import mock

import hypothesis.strategies as st
import pytest
from cover import examples
from hypothesis import given
from input.test_mates import letters_of, pairs_of
from input.test_spans import fasta, fastq, outcome
from output_of import bgzf

from fmx.errors import InputError
from fmx.input import ALL, InputRange, PairedFiles, shards
from fmx.input.reads import parse
from fmx.input.shards import Shard, ShardPlan
from fmx.input.spans import read_chunks
from fmx.machines.pipeline import run_ordered

SIZES = [1, 3, 7, 40]


def plan_of(number, n, files, size, n_threads=1, numbers=ALL) -> ShardPlan:
    return ShardPlan(Shard(number, n), InputRange(files, size, n_threads, numbers), n_threads)


@st.composite
def ranges(draw):
    """Numbers of reads or pairs, by --skip and --first: often all."""
    skip = draw(st.sampled_from([0, 0, 1, 12]))
    return range(skip, skip + draw(st.integers(1, 40)) if draw(st.booleans()) else ALL.stop)


def cut_at(apart) -> mock._patch:
    """A context in which files are cut every so many bytes."""
    return mock.patch.object(shards, "APART", apart)


def slice_of(numbers) -> slice:
    return slice(numbers.start, numbers.stop)


def records(part) -> list:
    """Records without their numbers."""
    return [record[1:] for record in part[0]]


def by_shards(paths, n, size, numbers=ALL):
    """((records, fault), begin, end) of each of n shards that is not empty; spans of several sizes."""
    for number in range(1, n + 1):
        plan = plan_of(number, n, paths, size + number % 2, numbers=numbers)
        part, fault = outcome(span.read() for span in plan.spans())
        if fault or not plan.is_empty:
            yield (part, fault), plan.begin, None if fault else plan.end


def check(paths, n, size, numbers=ALL):
    expected = outcome(read_chunks(paths, 1 << 23))
    with cut_at(size):
        parts = list(by_shards(paths, n, size, numbers))
    faults = [fault for (_, fault), _, _ in parts if fault]
    is_joined = all(end == after for (_, _, end), (_, after, _) in pairwise(parts))
    if expected[1]:
        assert faults or not is_joined
        return
    assert (faults, is_joined) == ([], True)
    assert list(chain(*(records(part) for part, _, _ in parts))) == records(expected)[slice_of(numbers)]


@examples(150)
@given(text=st.one_of(fastq(), fasta()), n=st.integers(1, 6), size=st.sampled_from(SIZES))
def test_shards_have_all_records_and_faults(text, n, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "reads.fq"
    path.write_bytes(text)
    check([path], n, size)


@examples(60)
@given(
    texts=st.lists(st.one_of(fastq(spoiled=False), fasta(spoiled=False)), min_size=1, max_size=3),
    n=st.integers(1, 6), numbers=ranges(), data=st.data(),
)  # fmt: skip
def test_shards_of_several_files_of_any_kind(texts, n, numbers, data, tmp_path_factory):
    paths, folder = [], tmp_path_factory.mktemp("shards")
    for i, text in enumerate(texts):
        kind = data.draw(st.sampled_from([bytes, gzip.compress, lzma.compress, lambda t: bgzf(t, 23)]))
        paths.append(folder / f"{i}.fq")
        paths[-1].write_bytes(kind(text))
    check(paths, n, data.draw(st.sampled_from(SIZES)), numbers)


@pytest.mark.parametrize("begin", [b"\t \n" * 40, b">long\n" + b"ACGT\n" * 40], ids=["blank", "record"])
def test_shards_of_bgzf_within_one_record_have_no_reads(begin, tmp_path):
    path = tmp_path / "reads.fa"
    path.write_bytes(bgzf(begin + b">r\nGATTACA\n", 7))
    check([path], 6, 16)


def many(n) -> bytes:
    """FASTQ of n reads whose qualities begin like names."""
    return b"".join(b"@r%d\nACGTACGTAC\n+\n@+>@@IIII+\n" % i for i in range(n))


@pytest.mark.parametrize("kind", ["plain", "bgzf"])
def test_a_shard_reads_little_beyond_its_part(kind, tmp_path, monkeypatch):
    path, text = tmp_path / "reads.fq", many(4000)
    path.write_bytes(text if kind == "plain" else bgzf(text))
    monkeypatch.setattr(shards.CutFile, "newlines_before", None)  # what precedes it is never read
    monkeypatch.setattr(shards, "APART", 1000)
    monkeypatch.setattr(shards, "GUESS", (2000,))
    plans = [plan_of(i, 8, [path], 1000) for i in range(1, 9)]
    parts = [outcome(span.read() for span in plan.spans()) for plan in plans]
    assert list(chain(*map(records, parts))) == records(outcome(read_chunks([path])))
    assert min(len(part) for part, _ in parts) > 400
    assert [plan.begin for plan in plans[1:]] == [plan.end for plan in plans[:-1]]


@pytest.mark.parametrize("kind", ["plain", "bgzf"])
def test_a_fault_has_the_number_of_its_record(kind, tmp_path, cut_sizes):
    cut_sizes(1000)
    path = tmp_path / "reads.fq"
    text = many(3000).replace(b"@r2600\nACGT", b"@r2600\nAC!T")
    path.write_bytes(text if kind == "plain" else bgzf(text))
    expected = outcome(read_chunks([path]))[1]
    assert "record 2601" in expected
    faults = []
    for plan in (plan_of(i, 5, [path], 1000) for i in range(1, 6)):
        try:
            for span in plan.spans():
                parse(span.read())
        except InputError as error:
            faults.append(str(plan.renumbered(error)))
    assert faults == [expected]


@pytest.mark.parametrize("n_threads", [1, 4])
def test_bgzf_that_ends_as_other_gzip_is_refused_where_records_are_counted(n_threads, tmp_path, cut_sizes):
    cut_sizes(1000)
    path = tmp_path / "reads.fq"
    path.write_bytes(bgzf(many(300), 500)[:-28] + gzip.compress(many(300)))
    for number in (1, 2):
        plan = plan_of(number, 2, [path], 1000, n_threads, range(50, 500))
        with pytest.raises(InputError, match="BGZF mixed with other gzip cannot be split"):
            list(plan.spans())


def test_damage_where_two_shards_meet_is_noticed(tmp_path, cut_sizes):
    """A line too many there: each shard by itself has whole records."""
    path = tmp_path / "reads.fq"
    half = b"@r\nACGTACGTAC\n+\nIIIIIIIIII\n" * 50
    path.write_bytes(half + b"x\n" + half[2:])
    cut_sizes(len(half))
    (_, _, end), (_, begin, _) = by_shards([path], 2, len(half))
    assert end != begin


# Pairs

PACKED = {
    "plain": bytes, "BGZF": lambda data: bgzf(data, 61), "gzip": gzip.compress,
    "members": lambda data: b"".join(gzip.compress(data[i : i + 90]) for i in range(0, len(data), 90)),
}  # fmt: skip
ENDS = [("", ""), ("/1", "/2"), (".1", ".2")]


def text_of(draw, named, is_fastq) -> bytes:
    """Records as FASTQ, or as FASTA in lines of some length; with what files may hold around them."""
    lines = []
    width = draw(st.sampled_from([5, 1000]))
    for i, (name, letters) in enumerate(named):
        if is_fastq:
            lines += [f"@{name} {i % 3 * 'x'}", letters, "+", "@+>I!"[i % 5] * len(letters)]
        else:
            lines += [f">{name}", *(letters[j : j + width] for j in range(0, len(letters), width))]
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = draw(st.sampled_from(["", "", "\n", " \n\n"])) + end.join(lines)
    return (text + draw(st.sampled_from([end, end, end + end])) if lines else text).encode()


@st.composite
def texts_of_mates(draw):
    """([texts of one file, or of two of mates], its pairs) of one run; names may occur several times."""
    n_files, is_interleaved, texts, expected = draw(st.integers(1, 3)), draw(st.booleans()), [], []
    sizes = st.tuples(*(st.integers(0, draw(st.sampled_from([3, 30, 90]))) for _ in (1, 2)))
    for _ in range(n_files):
        ends, n_names = draw(st.sampled_from(ENDS)), draw(st.sampled_from([1, 7, 100]))
        pairs = [
            [(f"{i % n_names}{end}", "ACGT"[i % 4] * n) for n, end in zip(lengths, ends, strict=True)]
            for i, lengths in enumerate(draw(st.lists(sizes, max_size=40)))
        ]
        sides = [list(chain(*pairs))] if is_interleaved else [[pair[i] for pair in pairs] for i in (0, 1)]
        packed = [PACKED[draw(st.sampled_from(sorted(PACKED)))] for _ in sides]
        made = [text_of(draw, side, draw(st.booleans())) for side in sides]
        texts.append([pack(text) for pack, text in zip(packed, made, strict=True)])
        expected += [
            [(name.removesuffix(end), letters) for (name, letters), end in zip(pair, ends, strict=True)]
            for pair in pairs
        ]
    return texts, expected


def written(folder, texts) -> PairedFiles:
    """The texts of files as files."""
    paths = []
    for i, together in enumerate(texts):
        paths.append([folder / f"{i}.{j}" for j in range(len(together))])
        for path, text in zip(paths[-1], together, strict=True):
            path.write_bytes(text)
    return PairedFiles(*(tuple(map(str, side)) for side in zip(*paths, strict=True)))


def pairs_by_shards(files, n, size, n_threads=1, numbers=ALL) -> list:
    """(pairs, begin, end) of each of n shards that is not empty."""
    parts = []
    for number in range(1, n + 1):
        plan, pairs = plan_of(number, n, files, size, n_threads, numbers), []
        for runs in run_ordered(plan.spans(), [lambda emit, span: span.read()] * n_threads, None):
            for run in runs:
                pairs += map(list, zip(letters_of(run.one), letters_of(run.two), strict=True))
        assert pairs == [] or not plan.is_empty
        parts += [] if plan.is_empty else [(pairs, plan.begin, plan.end)]
    return parts


def check_pairs(expected, files, n, size, n_threads=1, numbers=ALL) -> list:
    """Compare one run, and shards, with the pairs in files; the numbers of pairs of the shards."""
    assert pairs_of(files, size, n_threads) == expected
    parts = pairs_by_shards(files, n, size, n_threads, numbers)
    assert [pair for pairs, _, _ in parts for pair in pairs] == expected[slice_of(numbers)]
    assert all(end == begin for (_, _, end), (_, begin, _) in pairwise(parts))
    return [len(pairs) for pairs, _, _ in parts]


@examples(100)
@given(
    drawn=texts_of_mates(), n=st.integers(1, 9), size=st.sampled_from([1, 7, 50, 300, 1 << 23]),
    apart=st.sampled_from([1, 13, 100, 700]), n_threads=st.sampled_from([1, 3]), numbers=ranges(),
)  # fmt: skip
def test_pairs_stay_together_in_one_run_and_in_shards(
    drawn, n, size, apart, n_threads, numbers, tmp_path_factory
):
    texts, pairs = drawn
    with cut_at(apart):
        check_pairs(pairs, written(tmp_path_factory.mktemp("pairs"), texts), n, size, n_threads, numbers)


RECORDS = [(f"r{i}", "ACGT"[i % 4] * (i % 50 + 20)) for i in range(200)]


@pytest.mark.parametrize("kinds", [("plain", "plain"), ("BGZF", "plain"), ("BGZF", "BGZF")], ids="-".join)
@pytest.mark.parametrize("n", [2, 7])
def test_each_shard_has_its_part(kinds, n, tmp_path, cut_sizes):
    """Where mates 2 that are left out first are more than a span holds, and their records longer."""
    texts = ["".join(f"@{name}/{i}\n{x * i}\n+\n{'I' * len(x * i)}\n" for name, x in RECORDS) for i in (1, 2)]
    packed = [PACKED[kind](text.encode()) for kind, text in zip(kinds, texts, strict=True)]
    cut_sizes(1000)
    pairs = [[(name, x), (name, x * 2)] for name, x in RECORDS]
    parts = check_pairs(pairs, written(tmp_path, [packed]), n, 300)
    assert len(parts) == n
    assert min(parts) > len(RECORDS) // n // 2


def test_an_end_of_one_file_alone_is_the_error_of_one_run(tmp_path, cut_sizes):
    """Of mates 1 or 2; also with a file that is empty."""
    cut_sizes(10)
    texts = [b"".join(b"@r\nACGT\n+\nIIII\n" for _ in range(n)) for n in (60, 11, 0)]
    for one, two in permutations(texts, 2):
        files = written(tmp_path, [[one, two]])
        with pytest.raises(InputError) as expected:
            pairs_of(files)
        for n in (1, 2, 5):
            with pytest.raises(InputError, match=re.escape(str(expected.value))):
                pairs_by_shards(files, n, 30)
