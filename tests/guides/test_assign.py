"""Which guide a read counts for: compiled code against the definition, over drawn libraries and reads."""

import guides
import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from cover import examples
from hypothesis import given

from fmx.guides.assign import UNSURE, CountOptions, GuideWindow
from fmx.guides.counting import Counter
from fmx.guides.library import Library
from fmx.guides.table import MANY, NONE, find_others, keys_of, make_table
from fmx.guides.targets import make_targets
from fmx.input.reads import parse
from fmx.input.spans import read_chunks

STRANDS = {1: (False,), 2: (True,), 3: (False, True)}
WHERE = [
    {"offsets": (0, 3)}, {"offsets": (2,)}, {"anywhere": True}, {"after": "AC"}, {"before": "RT"},
    {"after": "C", "before": "N"},
]  # fmt: skip


def tally_of(library, reads, options):
    """The GuideTally of reads, (letters, qualities)."""
    return tally_of_file("".join(f"@r\n{x}\n+\n{q}\n" for x, q in reads).encode(), library, options)


def tally_of_file(data, library, options):
    (chunk,) = read_chunks([data])
    made = Library("l", list(library), list(library), list(library), [])
    counter = Counter(make_targets([made], False), options, [], print)
    return counter.count((parse(chunk),), (options.looked[0].where(),), 0, 1)[0]


@st.composite
def questions(draw):
    """(guides, reads, CountOptions)."""
    alphabet = draw(st.sampled_from(["AC", "ACGT", "ACGTN", "ACGTRY"]))
    lengths = draw(st.lists(st.integers(4, 9), min_size=1, max_size=3)) * draw(st.integers(1, 4))
    library = [draw(st.text(alphabet, min_size=n, max_size=n)) for n in lengths]
    if draw(st.booleans()):
        library.append(draw(st.text("ACGT", min_size=32, max_size=32)))
    reads = []
    for _ in range(draw(st.integers(1, 8))):
        letters = list(draw(st.sampled_from(library)).translate(str.maketrans("RYN", "ATC")))
        for _ in range(draw(st.integers(0, 2))):
            letters[draw(st.integers(0, len(letters) - 1))] = draw(st.sampled_from("ACGTNacgu"))
        read = draw(st.text("ACGT", max_size=6)) + "".join(letters) + draw(st.text("ACGT", max_size=40))
        reads.append(naive.reverse_complement(read) if draw(st.booleans()) else read)
    where, strands = draw(st.sampled_from(WHERE)), draw(st.sampled_from([1, 2, 3]))
    return (
        list(dict.fromkeys(library)), reads,
        CountOptions((GuideWindow(**where, strands=strands),), mismatches=draw(st.integers(0, 1))),
    )  # fmt: skip


@examples(100)
@given(questions())
def test_a_read_counts_for_what_the_definition_says(question):
    library, reads, options = question
    lengths, strands = {len(guide) for guide in library}, STRANDS[options.looked[0].strands]
    flanks, offsets = (options.looked[0].after, options.looked[0].before), options.looked[0].offsets
    wanted = [
        guides.guide_of(
            library, guides.windows(read, lengths, strands, offsets or None, flanks), options.mismatches
        )
        for read in reads
    ]
    tally = tally_of(library, [(read, len(read) * "I") for read in reads], options)
    assert tally.counts.tolist() == [wanted.count(i) for i in range(len(library))]
    assert [tally.reads, tally.without(MANY)] == [len(reads), wanted.count(guides.MANY)]
    assert tally.assigned == tally.counts.sum()
    assert tally.hits.sum() == tally.counts.sum()
    assert tally.left.shape[1] <= tally.without(NONE) == wanted.count(None)


@examples(60)
@given(st.lists(st.text("AC", min_size=5, max_size=6), min_size=1, max_size=20, unique=True))
def test_guides_close_to_others_are_found(library):
    """Those with one other letter, and reverse complements."""
    library = [guide.replace("C", "T") if i % 2 else guide for i, guide in enumerate(library)]
    library = list(dict.fromkeys(library))
    table = make_table(library)
    for which, n in enumerate(table.lengths):
        own = [guide for guide in library if len(guide) == n]
        into = np.empty((2, len(own)), np.int64)
        find_others(table, which, keys_of(own), *into)
        close = [
            [i for i, x in enumerate(library) if len(x) == n and guides.distance(x, y) == 1] for y in own
        ]
        assert into[0].tolist() == [MANY if len(x) > 1 else x[0] if x else NONE for x in close]
        number = {guide: i for i, guide in enumerate(library)}
        assert into[1].tolist() == [number.get(naive.reverse_complement(x), NONE) for x in own]


def test_qualities_are_those_of_the_letters_of_the_guide():
    reads = [("TTACGTACTT", "!!IIIIII!!"), ("TTACGTACTT", "IIII:IIIII"), ("TTACGTACTT", "III;IIIIII")]
    tally = tally_of(["ACGTAC"], reads, CountOptions((GuideWindow((2,), strands=1),), quality=26))
    assert (tally.counts.tolist(), tally.reads, tally.without(UNSURE)) == ([2], 3, 1)


def test_offsets_are_those_of_the_read_as_it_is():
    reads = [("TTT" + naive.reverse_complement("ACCGTA") + "G", "IIIIIIIIII"), ("ACCGTAGGGG", "IIIIIIIIII")]
    tally = tally_of(["ACCGTA"], reads, CountOptions((GuideWindow(anywhere=True),)))
    assert np.argwhere(tally.hits).tolist() == [[0, 0], [1, 3]]


@pytest.mark.parametrize("mismatches", [0, 1])
def test_counts_do_not_depend_on_how_reads_are_written(mismatches):
    library, read = ["ACGTACCA", "GGCATTAC"], "tuggcauuacN"
    options = CountOptions((GuideWindow((2,)),), mismatches=mismatches)
    for form in (b"@a\n%s\n+\nIIIIIIIIIII\n", b">a\n%s\n", b">a\r\nTU\r\nGG c\r\nATT\r\nacn\r\n"):
        tally = tally_of_file(form % read.encode() if b"%" in form else form, library, options)
        assert tally.counts.tolist() == [0, 1]
