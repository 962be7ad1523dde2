"""Protocol of engine x layout x query: sizes of intervals and places of hits are those of a naive scan."""

import journeys
import pytest
from conftest import ENGINES, LAYOUTS, QUERIES
from texts import TEXTS, numbered, random_letters, reads_of

SA_RATES = (1, 2, 3, 5, 8, 64)


def test_backward_search_gives_the_naive_answers(layout, engine, index_of):
    for name, contigs in TEXTS.items():
        opened = journeys.load(index_of(contigs, LAYOUTS), layout)
        sequences = reads_of(contigs)
        assert journeys.ask(opened, sequences, engine) == journeys.expect(contigs, sequences), name


@pytest.mark.parametrize("query", [query for query in QUERIES if query != "Exact"])
def test_queries_without_layout_give_the_naive_answers(query, engine, index_of):
    for name, contigs in TEXTS.items():
        opened = journeys.load(index_of(contigs, LAYOUTS), query=query)
        sequences = reads_of(contigs)
        assert journeys.ask(opened, sequences, engine) == journeys.expect(contigs, sequences), name


def test_sampled_suffix_arrays_give_the_same_places(layout, index_of):
    for name in ("contigs of 1 to 6", "repeats across separators", "period 3", "text of 225"):
        sequences = reads_of(TEXTS[name])
        expected = journeys.expect(TEXTS[name], sequences)
        for sa_rate in SA_RATES:
            opened = journeys.load(index_of(TEXTS[name], [layout], sa_rate))
            assert journeys.ask(opened, sequences) == expected, (name, sa_rate)


@pytest.mark.parametrize("sa_rate", SA_RATES)
def test_layouts_of_different_k_share_one_sampled_suffix_array(sa_rate, index_of):
    contigs = TEXTS["repeats across separators"]
    sequences = reads_of(contigs)
    path = index_of(contigs, LAYOUTS, sa_rate)
    for name in LAYOUTS:
        assert journeys.ask(journeys.load(path, name), sequences) == journeys.expect(contigs, sequences)


@pytest.mark.parametrize("prefix_length", [4, 5, 6, 7, 8])
def test_the_length_of_the_prefix_table_does_not_matter(prefix_length, query, index_of):
    contigs = numbered([random_letters(n, n) for n in (1, 3, 4, 5, 9, 9, 12, 13, 16, 5000)])
    sequences = reads_of(contigs)
    for _, sequence in contigs:  # ends of contigs, where separators come before a string of the table ends
        sequences += [sequence[-m:] for m in range(1, 16)] + [sequence[:m] for m in range(1, 16)]
    for layout in ("bvsfm-k1-d96", "bvsfm-k2-d96"):
        opened = journeys.load(index_of(contigs, [layout], prefix_length=prefix_length), query=query)
        assert journeys.ask(opened, sequences) == journeys.expect(contigs, sequences)


@pytest.mark.parametrize("n_slots", [1, 2, 3, 7, 64])
def test_the_number_of_patterns_under_way_does_not_matter(n_slots, query, index_of):
    from fmx import reads
    from fmx.engines import cpu
    from fmx.mapping import make_query

    contigs = TEXTS["repeats across separators"]
    opened = journeys.load(index_of(contigs), query=query)
    asked, patterns = make_query(opened), reads.pack(journeys.batch_of(reads_of(contigs)))
    expected, found = cpu.search(asked, patterns), cpu.search(asked, patterns, n_slots)
    assert [array.tolist() for array in found] == [array.tolist() for array in expected]


def test_registries_are_not_empty():
    assert "cpu" in ENGINES
    assert {"Exact", "Verify"} <= set(QUERIES)
    assert {"bvsfm-k1-d96", "bvsfm-k2-d96", "bvsfm-k1-d224", "bvsfm-k2-d224"} <= set(LAYOUTS)
