"""The sparse suffix array: what it samples, how its rows are ordered, and that threads do not change it."""

import cases
import naive
import numpy as np
import pytest
import workflow
from hypothesis import given
from hypothesis import strategies as st
from texts import TEXTS, numbered, random_letters

from fmx.dna import pack_text
from fmx.errors import UnsupportedError
from fmx.index import disk
from fmx.index.build import build_index
from fmx.index.fasta import read_fasta
from fmx.index.plan import IndexOptions
from fmx.index.sparse import DEPTH, REACH, SMALL_BUCKET, SparseName, bucket_bits
from fmx.index.sparse_build import build_sparse
from fmx.index.writer import MemoryIndex
from fmx.machines.places import Device

NAMES = [(3, 1), (3, 4), (5, 8), (21, 16), (31, 64)]


def table_of(contigs, k, w, n_threads=1):
    """(text, SparseTable) of contigs."""
    reference, text = read_fasta(cases.fasta(contigs))
    name = SparseName(k, w)
    table = build_sparse(pack_text(text), reference.blocks, reference.n_text, name, n_threads)
    return naive.text_of(contigs), table


def from_kmer_on(text, k, row):
    """The text of a row as the canonical strand reads it, from the k-mer to the end of the block."""
    position = row >> 32
    if row >> 31 & 1:
        return naive.reverse_complement(text[text.rfind("$", 0, position) + 1 : position + k])
    return text[position : text.index("$", position)]


def left_of(text, k, row):
    """The 15 letters before it, fewer at the end of the block."""
    position = row >> 32
    if row >> 31 & 1:
        return naive.reverse_complement(text[position + k : text.index("$", position)][:15])
    return text[text.rfind("$", 0, position) + 1 : position][-15:]


def code(letters):
    return sum("ACGT".index(letter) << 2 * i for i, letter in enumerate(reversed(letters)))


def hashed(x):
    """The hash of a k-mer whose top bits are its bucket."""
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15 % 2**64
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9 % 2**64
    return x ^ x >> 32


def check(contigs, k, w):
    """That a table is what its file promises, by the text alone."""
    text, table = table_of(contigs, k, w)
    n_bits, starts = bucket_bits(len(text), w), table.starts.tolist()
    rows = table.rows.tolist()
    sampled = {row >> 32 for row in rows}
    assert len(sampled) == len(rows) == starts[-1]
    for begin, end in zip([0, *starts], starts, strict=False):
        own = rows[begin:end]
        by_position = sorted(own, key=lambda row: row >> 32)
        assert own == (
            sorted(by_position, key=lambda row: from_kmer_on(text, k, row)[:DEPTH])
            if len(own) > SMALL_BUCKET else by_position
        )  # fmt: skip
    bucket = 0
    for i, row in enumerate(rows):
        while starts[bucket + 1] <= i:
            bucket += 1
        position = row >> 32
        kmer = text[position : position + k]
        reverse = naive.reverse_complement(kmer)
        assert set(kmer) <= set("ACGT")
        assert (row >> 31 & 1) == (reverse < kmer)
        assert hashed(code(min(kmer, reverse))) >> (64 - n_bits) == bucket
        left = left_of(text, k, row)
        assert row & ((1 << 2 * len(left)) - 1) == code(left)
        reach = text[max(position - REACH, 0) : position + k + REACH]
        is_whole = position >= REACH and position + k + REACH <= len(text)
        assert (row >> 30 & 1) == ("$" in reach or not is_whole)
    for i in range(len(text) - (k + w - 1) + 1):  # every window within a block has a sampled position
        assert "$" in text[i : i + k + w - 1] or any(j in sampled for j in range(i, i + w))
    return text, sampled


@pytest.mark.parametrize(("k", "w"), NAMES)
@pytest.mark.parametrize("name", TEXTS)
def test_rows_are_those_of_the_text(name, k, w):
    check(TEXTS[name], k, w)


@given(st.lists(st.text("ACN", min_size=1, max_size=60), min_size=1, max_size=6), st.sampled_from(NAMES[:3]))
def test_rows_of_any_text(sequences, name):
    contigs = numbered(sequences)
    if naive.text_of(contigs):
        check(contigs, *name)


@given(st.text("ACGT", min_size=20, max_size=150), st.sampled_from(NAMES[:3]))
def test_both_strands_have_the_same_minimizers(letters, name):
    k, w = name
    _, here = check(numbered([letters]), k, w)
    _, there = check(numbered([naive.reverse_complement(letters)]), k, w)
    assert here == {len(letters) - k - position for position in there}


def test_about_two_in_w_plus_one_positions_are_sampled():
    contigs = numbered([random_letters(200_000, "density")])
    for k, w in ((21, 16), (25, 10), (31, 64)):
        _, table = table_of(contigs, k, w)
        assert 1.9 / (w + 1) < table.rows.size / 200_000 < 2.1 / (w + 1)


def test_threads_do_not_change_it():
    pieces = [
        random_letters(5000, "t") + "A" * 700 + "N" + "ACC" * 300,
        random_letters(40, "u"),
        "ACGT" * 999,
    ]
    contigs = numbered([*pieces, pieces[0][100:2000]])
    _, one = table_of(contigs, 7, 5)
    _, more = table_of(contigs, 7, 5, 3)
    assert np.array_equal(one.rows, more.rows)
    assert np.array_equal(one.starts, more.starts)


@pytest.mark.parametrize("beside", [(), ("bvsfm-k2-d96",)])
def test_an_added_one_is_the_same(beside, tmp_path):
    contigs = TEXTS["repeats across separators"]
    alone = cases.build(tmp_path / "alone.fmx", contigs, ["sparse-k5-w3", *beside])
    other = cases.build(tmp_path / "other.fmx", contigs, sa_rate=1 if beside else 4)
    assert workflow.add_layouts(other, ["sparse-k5-w3"]) == ["sparse-k5-w3"]
    assert workflow.add_layouts(other, ["sparse-k5-w3"]) == []
    for name in ("sparse-k5-w3.rows", "sparse-k5-w3.starts", "text_words"):
        first, second = ((path / f"{name}.npy").read_bytes() for path in (alone, other))
        assert first == second
    assert workflow.inspect(other, verify=True)["sparse"] == "sparse-k5-w3"


def test_parts_and_groups(tmp_path):
    contigs = numbered([random_letters(300, "p"), random_letters(250, "q"), "ACGTTGCA" * 20])
    (tmp_path / "groups.tsv").write_text("c0\tx\nc1\ty\nc2\ty\n")
    options = workflow.IndexOptions(["sparse-k7-w4"], part_size=420, groups=tmp_path / "groups.tsv")
    workflow.build_index(cases.fasta(contigs), tmp_path / "ref.fmx", options)
    meta = disk.read_meta(tmp_path / "ref.fmx")
    assert (meta["format"], meta["n_groups"], meta["parts"]) == (3, 2, [301, 251 + 161])
    assert {name for name in meta["arrays"] if "sparse" in name} == {
        f"part{i}/sparse-k7-w4.{field}" for i in (0, 1) for field in ("rows", "starts")
    }
    workflow.inspect(tmp_path / "ref.fmx", verify=True)


@pytest.mark.parametrize("name", ["sparse-k4", "sparse-k1", "sparse-k33", "sparse-k21-w0", "sparse-w65"])
def test_what_k_and_w_may_be(name, tmp_path):
    with pytest.raises(UnsupportedError, match=r"k must be odd and 3 to 31, and w 1 to 64"):
        cases.build(tmp_path / "ref.fmx", TEXTS["one letter"], [name])


@pytest.mark.parametrize(("names", "options", "wrong"), [
    (["sparse", "sparse-k25-w10"], {}, "an index may have one sparse suffix array"),
    (["sparse"], {"sa_rate": 4}, "sparse-k21-w16 alone has no suffix array"),
    (["sparse"], {"prefix_length": 5}, "sparse-k21-w16 alone has no suffix array"),
    (["sparse"], {"with_lcp": True}, "sparse-k21-w16 alone has no suffix array"),
])  # fmt: skip
def test_what_does_not_go_together(names, options, wrong, tmp_path):
    with pytest.raises(UnsupportedError, match=wrong):
        cases.build(tmp_path / "ref.fmx", TEXTS["one letter"], names, **options)


def test_a_second_one_cannot_be_added(tmp_path):
    path = cases.build(tmp_path / "ref.fmx", TEXTS["one letter"], ["sparse"])
    with pytest.raises(UnsupportedError, match="already has sparse-k21-w16"):
        workflow.add_layouts(path, ["sparse-k25-w10"])


@pytest.mark.parametrize(("names", "rate"), [(["sparse"], 1), (["cofi-k4"], 4), (["sparse", "cofi-k4"], 4)])
@pytest.mark.parametrize("added", [[], ["sampled"], ["sampled", "sparse"]])
def test_what_is_advised_for_an_addition_helps(added, names, rate, tmp_path):
    path = cases.build(tmp_path / "ref.fmx", TEXTS["one letter"], names, sa_rate=rate)
    for with_lcp in (True, False) if added else (True,):
        with pytest.raises(UnsupportedError) as told:
            workflow.add_layouts(path, added, with_lcp=with_lcp)
        advised = str(told.value).split("build the index again with --layout ")[1].split(" ")
        assert (advised[1:] == ["--with-lcp"]) == with_lcp
        again = cases.build(tmp_path / "again", TEXTS["one letter"], advised[0].split(","), with_lcp=with_lcp)
        assert workflow.add_layouts(again, [*names, *added], with_lcp=with_lcp) == []


def test_a_gpu_makes_no_sparse_suffix_array(tmp_path):
    path = cases.build(tmp_path / "ref.fmx", TEXTS["one letter"], ["cofi-k4"])
    with pytest.raises(UnsupportedError, match="built on the CPU: leave out --engine cuda"):
        workflow.add_layouts(path, ["sparse"], device=Device("cuda"))
    with pytest.raises(UnsupportedError, match="built on the CPU: leave out --engine cuda"):
        build_index("not read.fa", MemoryIndex(), IndexOptions(["sparse"]), device=Device("cuda"))
