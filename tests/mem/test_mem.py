"""Maximal matches against the naive ones: all texts, lengths and kinds; threads do not matter."""

import io
import itertools
from pathlib import Path

import cases
import naive
import pytest
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from mems import expect_rows, in_slices, rows
from texts import TEXTS, numbered, random_letters

from fmx.dna import FORWARD, REVERSE
from fmx.index import fm_index
from fmx.input import spans
from fmx.input.chunks import literal_fasta
from fmx.mem import matching
from fmx.mem import matching as pipeline
from fmx.mem.matching import ALGORITHMS, ALL, IN_BOTH, IN_REFERENCE, MemOptions
from fmx.output import module_of

UNIQUE = [ALL, IN_REFERENCE, IN_BOTH]
SOME_TEXTS = [name for name in TEXTS if not name.startswith("text of ")] + ["text of 193"]


def find(path, queries, options, kind="tsv", task_size=None, many=None, n_rows=None) -> bytes:
    """What fmx mem writes about queries, without a head; ``path`` of an index, or an opened one.

    Windows of more than ``many`` rows are taken as two; ``n_rows`` are looked at at a time.
    """
    opened = fm_index.load(path, method="verify") if isinstance(path, (str, Path)) else path
    made = module_of(kind).open_matches(
        opened.reference, pipeline.MemOutput(), options.strands, lambda names: b""
    )
    finder = matching.Finder(opened, options, made[0])
    finder.task_size = task_size or finder.task_size
    if many is not None and options.algorithm == "seeds":
        finder.matcher = finder.matcher._replace(many=many)
    if n_rows:
        finder.matcher = in_slices(finder.matcher, n_rows)
    sink = io.BytesIO()
    pipeline.find_all(finder, spans.plan([literal_fasta(queries)], finder.task_size), sink)
    return sink.getvalue()


def queries_of(contigs) -> list:
    """Parts of contigs, joined, changed and broken by other letters."""
    joined = "".join(sequence for _, sequence in contigs)[:90].replace("X", "N").replace(".", "N")
    first = joined[:40]
    return [
        "", "A", "N", "NNANN", first, first[::-1],
        joined[:30] + "N" + joined[10:60], joined[20:50] + random_letters(9, joined) + joined[:35],
        joined[:24].lower(), random_letters(45, len(joined)), 40 * "A", 15 * "AC",
    ]  # fmt: skip


@pytest.mark.parametrize("name", SOME_TEXTS)
def test_matches_are_the_naive_ones(name, index_of):
    contigs = [(name, sequence[:120]) for name, sequence in TEXTS[name]][:30]
    queries, path = queries_of(contigs), index_of(contigs, with_lcp=True)
    opened = fm_index.load(path, method="verify")
    every = expect_rows(contigs, queries, 1, FORWARD | REVERSE, ALL)
    for algorithm, least in itertools.product(ALGORITHMS, (1, 2, 3, 4, 5, 7, 10, 33)):
        options = MemOptions(least, FORWARD | REVERSE, ALL, 1, algorithm)
        for many in (0, 2, None) if algorithm == "seeds" else (None,):
            found = rows(find(opened, queries, options, many=many))
            assert found == [match for match in every if match[-1] >= least]


letters = st.text("ACGT", min_size=1, max_size=30)
few_letters = st.text("AC", min_size=1, max_size=30)
broken = st.lists(letters | few_letters | st.just("N"), min_size=1, max_size=5).map("".join)
STRANDS = st.sampled_from([FORWARD, REVERSE, FORWARD | REVERSE])
TASK_SIZES = st.sampled_from([None, 1, 7, 50])


def drawn_queries(contigs):
    """A strategy: up to three queries of parts of contigs and other letters."""
    joined = "".join(sequence for _, sequence in contigs)
    part = st.tuples(st.integers(0, len(joined)), st.integers(0, 60)).map(lambda x: joined[x[0] :][: x[1]])
    return st.lists(st.lists(part | broken, min_size=1, max_size=4).map("".join), max_size=3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@examples(60)
@given(contigs=st.lists(broken, min_size=1, max_size=3), data=st.data())
def test_matches_of_any_text_and_queries(tmp_path_factory, algorithm, contigs, data):
    contigs = numbered([*contigs, "ACGT"])
    queries = data.draw(drawn_queries(contigs))
    least, strands = data.draw(st.integers(1, 14)), data.draw(STRANDS)
    unique, task_size = data.draw(st.sampled_from(UNIQUE)), data.draw(TASK_SIZES)
    many = data.draw(st.sampled_from([0, 1, 4, None]))
    path = cases.build(tmp_path_factory.mktemp("index") / "ref.fmx", contigs, with_lcp=True)
    options = MemOptions(least, strands, unique, 2, algorithm)
    found = find(path, queries, options, task_size=task_size, many=many)
    assert rows(found) == expect_rows(contigs, queries, least, strands, unique)


def test_long_matches_and_repeats(index_of):
    """Matches over many words, and windows with more rows than are looked at in one go."""
    unit = random_letters(700, "unit")
    contigs = numbered([unit + "A" * 300 + unit[100:600], unit[:650] + "NN" + naive.reverse_complement(unit)])
    query = unit[:400] + "T" + unit[401:] + "A" * 250
    every = expect_rows(contigs, [query], 12, FORWARD | REVERSE, ALL)
    opened = fm_index.load(index_of(contigs, with_lcp=True), method="verify")
    for algorithm, least in itertools.product(ALGORITHMS, (12, 20, 100)):
        options = MemOptions(least, FORWARD | REVERSE, ALL, 1, algorithm)
        for many in (0, 5, None):
            found = rows(find(opened, [query], options, many=many))
            assert found == [match for match in every if match[-1] >= least]
