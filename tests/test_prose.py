"""The linter of phrases finds what docs/style.md lists, across lines, and nothing else."""

from prose import STYLE, avoided, found


def test_it_finds_phrases_across_lines_and_in_any_case():
    phrases = ["of its own", "tells of"]
    text = "It has one of its\n    # own, and\nTells of nothing. Tellsof."
    assert list(found(text, phrases)) == [(1, "of its # own"), (3, "Tells of")]


def test_the_style_guide_lists_phrases():
    phrases = avoided(STYLE.read_text())
    assert len(phrases) > 30
    assert all(phrase and phrase == phrase.strip() for phrase in phrases)
    assert len(set(phrases)) == len(phrases)
