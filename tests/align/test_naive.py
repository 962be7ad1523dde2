"""The oracle itself, by hand-worked examples."""

from . import naive_nw


def test_matrix_by_hand():
    assert naive_nw.matrix("AC", "A", 4, -5, -10) == [[0, -10], [-10, 4], [-20, -6]]


def test_paths_by_hand():
    assert naive_nw.align("ACGT", "ACGT") == "===="
    assert naive_nw.align("ACGT", "AGT") == "=I=="
    assert naive_nw.align("AGT", "ACGT") == "=D=="
    assert naive_nw.align("ACGT", "ATGT") == "=X=="
    assert naive_nw.align("", "AC") == "DD"
    assert naive_nw.align("NA", "NA") == "X="
    assert naive_nw.align("u", "T") == "="


def test_two_gaps_instead_of_a_worse_mismatch():
    assert sorted(naive_nw.align("A", "C", 4, -25, -10)) == ["D", "I"]


def test_identities_by_hand():
    path = "II==X=D==D"  # 8 query letters, 8 target letters
    assert naive_nw.identity(path, 8, 8, 0) == 5 / 8
    assert naive_nw.identity(path, 8, 8, 1) == 5 / 10
    assert naive_nw.identity(path, 8, 8, 2) == 5 / 7
    assert naive_nw.identity(path, 8, 8, 3) == 1 - (1 + 3) / 8
    assert naive_nw.identity(path, 8, 8, 4) == 5 / 10
    assert naive_nw.identity("", 0, 0, 1) == 0
