"""The oracle itself, by examples worked out by hand."""

import naive


def test_occurrences_on_both_strands():
    contigs = [("x", "ACGTNNACG"), ("y", "cgu")]
    assert naive.locate(contigs, "ACG") == [(0, 0, 0), (0, 1, 1), (0, 6, 0), (1, 0, 1)]
    assert naive.locate(contigs, "ACG", [naive.FORWARD]) == [(0, 0, 0), (0, 6, 0)]
    assert naive.count(contigs, "acg") == (2, 2)


def test_nothing_is_found_across_contigs_or_other_letters():
    contigs = [("x", "ACGRACG"), ("y", "TTT")]
    assert naive.locate(contigs, "CGAC") == []
    assert naive.locate(contigs, "CGTT", [naive.FORWARD]) == []
    assert naive.locate(contigs, "NACG") == []
    assert naive.locate(contigs, "") == []


def test_reverse_complement_of_all_letters():
    assert naive.reverse_complement("ACGTUNRYSWKMBDHV") == "BDHVKMWSRYNAACGT"


def test_text_and_suffix_array():
    text = naive.text_of([("x", "ACNGA"), ("y", "C")])
    assert text == "AC$GA$C$"
    assert naive.suffix_array(text) == [7, 5, 2, 4, 0, 6, 1, 3]


def test_occ_columns():
    text = "AC$GA$C$"
    rows = naive.suffix_array(text)
    assert naive.kmer_bwt(text, rows, 1) == ["C", "A", "C", "G", None, None, "A", None]
    assert naive.occ_column(text, rows, "A") == [3, 3, 4, 4, 4, 4, 4, 5, 5]
    assert naive.occ_column(text, rows, "C") == [5, 6, 6, 7, 7, 7, 7, 7, 7]
    assert naive.kmer_bwt(text, rows, 2) == [None, "GA", "AC", None, None, None, None, None]
    assert naive.occ_column(text, rows, "AC") == [4, 4, 4, 5, 5, 5, 5, 5, 5]
    assert naive.occ_column(text, rows, "TT") == [8] * 9


def test_sites_of_guides():
    contigs = [("x", "ACGTTTGAACCGNACGTGG")]
    sites = [(0, 0, 0, 0, 6, 0, "ACGTTT"), (0, 0, 0, 13, 19, 0, "ACGTGG"), (1, 0, 0, 3, 9, 1, "TTCAAA")]
    assert naive.sites(contigs, ["ACGT", "TTCA"], ["NG", "TT", "AA", "GG"], 0) == sites
    assert naive.sites(contigs, ["GTTA"], ["AC"], 1, is_5prime=True) == [(0, 1, 0, 0, 6, 0, "ACGTTT")]
