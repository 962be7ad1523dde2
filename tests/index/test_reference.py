"""The reference: contigs, blocks, coordinates, digests; the tables over its text; sampled positions."""

import hashlib
from bisect import bisect_left
from types import SimpleNamespace

import cases
import naive
import numpy as np
import pytest
from packed import codes_of
from texts import TEXTS

from fmx.errors import UnsupportedError
from fmx.index import bwt, fasta, reference, tables
from fmx.index.suffix_array import suffix_array
from fmx.machines.jobs import Cores
from fmx.search.mapping import Pairing
from fmx.search.pairs import rule_of


@pytest.mark.parametrize("name", TEXTS)
def test_blocks_lead_back_to_every_letter(name):
    contigs = TEXTS[name]
    found, text = fasta.read_fasta(cases.fasta(contigs, width=13))
    assert "".join("$ACGT"[code] for code in text) == naive.text_of(contigs)
    assert found.names == [name for name, _ in contigs]
    assert found.lengths.tolist() == [len(sequence) for _, sequence in contigs]
    assert found.n_text == text.size
    for digest, (_, sequence) in zip(found.md5, contigs, strict=True):
        assert digest.tobytes() == hashlib.md5(sequence.upper().encode()).digest()
    position = 0
    for contig, (_, sequence) in enumerate(contigs):
        for start, letters in naive.blocks(sequence):
            for i in range(len(letters)):
                block = reference.find_block(found.blocks, position + i)
                assert found.blocks.contig[block] == contig
                place = position + i - found.blocks.text_start[block] + found.blocks.contig_start[block]
                assert place == start + i
            position += len(letters) + 1


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("force64", [False, True])
def test_suffix_array_and_bwt_are_the_naive_ones(name, force64, monkeypatch):
    sort = pytest.importorskip("pydivsufsort").divsufsort
    monkeypatch.setattr("pydivsufsort.divsufsort", lambda text: sort(text, force64=force64))
    text = naive.text_of(TEXTS[name])
    rows = naive.suffix_array(text)
    found = suffix_array(codes_of(text))
    assert found.dtype == np.uint32
    assert found.tolist() == rows
    for k in (1, 2, 3):
        number = {letters: code for code, letters in enumerate(naive.kmers(k))} | {None: bwt.NONE}
        for n_threads in (1, 3):
            kmers = bwt.kmer_bwt(codes_of(text), found, k, Cores(n_threads))
            assert [number[letters] for letters in naive.kmer_bwt(text, rows, k)] == kmers.tolist()


@pytest.mark.parametrize("name", TEXTS)
def test_tables_hold_the_rows_of_every_string(name):
    """Where separators come before a string ends, a column's start is not the end of the one before it."""
    text = naive.text_of(TEXTS[name])
    suffixes = sorted(text[i:] for i in range(len(text)))
    for q in (4, 5):
        table = tables.build_prefix_table(codes_of(text), q)
        pair = 0
        for length in range(q + 1):
            for letters in naive.kmers(length):
                lo, hi = table.pairs[2 * pair : 2 * pair + 2].tolist()
                first = bisect_left(suffixes, letters)
                size = sum(suffix.startswith(letters) for suffix in suffixes[first : first + len(text)])
                assert (lo, hi) == (first, first + size)
                pair += 1
        assert 2 * pair == table.pairs.size
    wanted = [bisect_left(suffixes, letters) for letters in naive.kmers(4)] + [len(text)]
    for n_threads in (1, 2, 5):
        sa = suffix_array(codes_of(text))
        assert tables.first_rows(Cores(n_threads), codes_of(text), sa, 4).tolist() == wanted


@pytest.mark.parametrize("p_separator", [0.001, 0.3])
def test_tables_do_not_depend_on_threads(p_separator):
    """Of strings with many rows each, which are searched for, and with few, whose rows are counted."""
    rng = np.random.default_rng(3)
    text = np.where(rng.random(10_000) < p_separator, 0, rng.integers(1, 5, 10_000)).astype(np.uint8)
    text[-1] = 0
    letters = "".join("$ACGT"[code] for code in text)
    sa = suffix_array(text)
    suffixes = [letters[i : i + 8] for i in sa]
    for s in (1, 2, 4, 6):
        wanted = [bisect_left(suffixes, letters) for letters in naive.kmers(s)] + [text.size]
        for n_threads in (1, 3):
            assert tables.first_rows(Cores(n_threads), text, sa, s).tolist() == wanted
    one, three = (tables.build_prefix_table(text, 4, n_threads).pairs for n_threads in (1, 3))
    assert one.tolist() == three.tolist()


@pytest.mark.parametrize(
    ("n", "length", "is_held"),
    [(2**28 - 1, 1, True), (2**28, 1, False), (1, 2**34 - 2**31, True), (1, 2**34 - 2**31 + 1, False)],
)
def test_references_with_too_many_places_for_pairs_are_refused(n, length, is_held):
    large = SimpleNamespace(names=range(n), lengths=np.array([length]))
    assert reference.can_hold(large, 2**31 - 1) == is_held
    if not is_held:
        with pytest.raises(UnsupportedError, match=r"pairs need contigs of less than 15 Gbases.*: map mates"):
            rule_of(Pairing(), large)


def test_names_of_contigs_are_read_as_a_list_is():
    names = ["a", "bc", "", "d"]
    contig_names = reference.Names.of_lines(np.frombuffer("\n".join(names).encode(), np.uint8))
    assert contig_names == names == reference.Names.of(names)
    assert [contig_names[i] for i in range(4)] == names
    assert contig_names[-3:3] == names[-3:3]
    with pytest.raises(IndexError):
        contig_names[4]
