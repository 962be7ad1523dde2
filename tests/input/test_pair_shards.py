"""Shards of pairs: whatever their number and names, they have the pairs of one run, and each ends."""

import gzip
import re
from itertools import pairwise, permutations

import hypothesis.strategies as st
import pytest
from cover import examples
from hypothesis import given
from input.test_mates import letters_of, pairs_of
from output_of import bgzf

from fmx.errors import InputError, StalledError
from fmx.input import InputRange, PairedFiles, mates
from fmx.input.shards import CutSizes, Shard, ShardPlan
from fmx.machines.pipeline import run_ordered

PACKED = {
    "plain": bytes, "BGZF": lambda data: bgzf(data, 61), "gzip": gzip.compress,
    "members": lambda data: b"".join(gzip.compress(data[i : i + 90]) for i in range(0, len(data), 90)),
}  # fmt: skip
ENDS = [("", ""), ("/1", "/2"), (".1", ".2")]


def text_of(draw, records, is_fastq) -> bytes:
    """Records as FASTQ, or as FASTA in lines of some length; with what files may hold around them."""
    lines = []
    width = draw(st.sampled_from([5, 1000]))
    for i, (name, letters) in enumerate(records):
        if is_fastq:
            lines += [f"@{name} {i % 3 * 'x'}", letters, "+", "@+>I!"[i % 5] * len(letters)]
        else:
            lines += [f">{name}", *(letters[j : j + width] for j in range(0, len(letters), width))]
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = draw(st.sampled_from(["", "", "\n", " \n\n"])) + end.join(lines)
    return (text + draw(st.sampled_from([end, end, end + end])) if lines else text).encode()


@st.composite
def files_of_mates(draw):
    """(texts of files, are mates in turn in one file): of one run; names may occur several times."""
    n_files, is_interleaved, lists = draw(st.integers(1, 3)), draw(st.booleans()), []
    sizes = st.tuples(*(st.integers(0, draw(st.sampled_from([3, 30, 90]))) for _ in (1, 2)))
    for _ in range(n_files):
        ends, n_names = draw(st.sampled_from(ENDS)), draw(st.sampled_from([1, 7, 100]))
        both = [
            [(f"{i % n_names}{end}", "ACGT"[i % 4] * n) for n, end in zip(lengths, ends, strict=True)]
            for i, lengths in enumerate(draw(st.lists(sizes, max_size=40)))
        ]
        if is_interleaved:
            lists.append([[record for pair in both for record in pair]])
        else:
            lists.append([[pair[i] for pair in both] for i in (0, 1)])
    texts = [
        [
            PACKED[draw(st.sampled_from(sorted(PACKED)))](text_of(draw, its, draw(st.booleans())))
            for its in one
        ]
        for one in lists
    ]
    return texts, is_interleaved


def written(folder, texts) -> PairedFiles:
    """The texts of files as files."""
    paths = []
    for i, together in enumerate(texts):
        paths.append([folder / f"{i}.{j}" for j in range(len(together))])
        for path, text in zip(paths[-1], together, strict=True):
            path.write_bytes(text)
    return PairedFiles(*(tuple(map(str, side)) for side in zip(*paths, strict=True)))


def by_shards(files, n, size, n_threads, sizes=None) -> list:
    """(pairs, begin, end) of each of n shards that is not empty."""
    found = []
    for number in range(1, n + 1):
        plan, own = (
            ShardPlan(Shard(number, n), InputRange(files, size, n_threads), n_threads, cut_sizes=sizes),
            [],
        )
        for several in run_ordered(plan.spans(), [lambda emit, span: span.read()] * n_threads, None):
            for run in several:
                own += [list(pair) for pair in zip(letters_of(run.one), letters_of(run.two), strict=True)]
        assert own == [] or not plan.is_empty
        found += [] if plan.is_empty else [(own, plan.begin, plan.end)]
    return found


def check(files, n, size, n_threads=1, sizes=None) -> list:
    """Compare shards with one run; the numbers of their pairs."""
    found = by_shards(files, n, size, n_threads, sizes)
    assert [pair for own, _, _ in found for pair in own] == pairs_of(files)
    assert all(end == begin for (_, _, end), (_, begin, _) in pairwise(found))
    return [len(own) for own, _, _ in found]


@examples(200)
@given(
    made=files_of_mates(), n=st.integers(1, 9), size=st.sampled_from([1, 7, 50, 300, 1 << 23]),
    apart=st.sampled_from([1, 13, 100, 700]), n_threads=st.sampled_from([1, 3]),
)  # fmt: skip
def test_shards_have_the_pairs_of_one_run(made, n, size, apart, n_threads, tmp_path_factory):
    files = written(tmp_path_factory.mktemp("pairs"), made[0])
    check(files, n, size, n_threads, CutSizes(apart))


RECORDS = [(f"r{i}", "ACGT"[i % 4] * (i % 50 + 20)) for i in range(800)]


@pytest.mark.parametrize("kinds", [("plain", "plain"), ("BGZF", "plain"), ("BGZF", "BGZF")], ids="-".join)
@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_each_shard_has_its_part(kinds, n, tmp_path):
    """Where mates 2 that are left out first are more than a span holds, and their records longer."""
    texts = ["".join(f"@{name}/{i}\n{x * i}\n+\n{'I' * len(x * i)}\n" for name, x in RECORDS) for i in (1, 2)]
    files = written(
        tmp_path, [[PACKED[kind](text.encode()) for kind, text in zip(kinds, texts, strict=True)]]
    )
    for size in (300, 1500):
        parts = check(files, n, size, sizes=CutSizes(1000))
        assert len(parts) == n
        assert min(parts) > 800 // n // 2


def test_names_of_other_reads_are_no_mates(tmp_path):
    """a.1 and a.2 are two reads where both files have these names, as those of an archive do."""
    text = "".join(f"@SRR{i // 9}.{i % 9}\nACGT\n+\nIIII\n" for i in range(60)).encode()
    for n in range(2, 40):
        check(written(tmp_path, [[text, text]]), n, 30, sizes=CutSizes(10))


def test_an_end_of_one_file_alone_is_the_error_of_one_run(tmp_path):
    """Of mates 1 or 2; also with a file that is empty."""
    texts = [b"".join(b"@r\nACGT\n+\nIIII\n" for _ in range(n)) for n in (60, 11, 0)]
    for one, two in permutations(texts, 2):
        files = written(tmp_path, [[one, two]])
        with pytest.raises(InputError) as expected:
            pairs_of(files)
        for n in (1, 2, 5):
            with pytest.raises(InputError, match=re.escape(str(expected.value))):
                by_shards(files, n, 30, 1, CutSizes(10))


def test_a_run_that_would_never_end_is_an_error(tmp_path, monkeypatch):
    text = b"@r\nACGT\n+\nIIII\n"
    monkeypatch.setattr(mates.Balance, "next_files", lambda balance, is_over: [False, False])
    files = written(tmp_path, [[text, text]])
    with pytest.raises(StalledError, match=f"{files.first[0]}: .*; please report it"):
        pairs_of(files)
