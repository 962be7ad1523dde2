"""Searches by a sparse suffix array find what a naive scan does, and write what other methods write."""

import itertools
from functools import partial

import cases
import naive
import pytest
from cover import covered
from hypothesis import given
from hypothesis import strategies as st
from output_of import without_program
from search.test_near import ask as ask_near
from search.test_near import change
from texts import TEXTS, numbered, random_letters, reads_of

from fmx.dna import FORWARD, REVERSE
from fmx.errors import UnsupportedError
from fmx.index.build import build_index
from fmx.index.fm_index import take
from fmx.index.plan import IndexOptions
from fmx.index.writer import MemoryIndex
from fmx.search import sparse
from fmx.search.find import ReadFinder, make_query
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapper import Mapper
from fmx.search.mappers import make_mapper
from fmx.search.mapping import BOTH, MapOptions, Near

NAMES = [(3, 1), (3, 2), (3, 7), (5, 4), (7, 16), (21, 16), (31, 64)]


def in_memory(contigs, k, w, *others, part_size=2**32 - 2):
    """An opened index in memory."""
    held, options = MemoryIndex(), IndexOptions([f"sparse-k{k}-w{w}", *others], part_size=part_size)
    build_index(cases.fasta(contigs), held, options)
    return take(held)


def ask(index, sequences, strands=BOTH, policy=SelectionPolicy(ALL), room=None):  # noqa: B008
    """(places of hits, number of occurrences) of each sequence; ``room`` for positions, per read."""
    mapper = make_mapper(index, MapOptions(policy, strands))
    if room is not None:
        search = partial(sparse.search, make_query(index), 0, per_read=room, spare=room)
        mapper = Mapper(ReadFinder([mapper.finder.parts[0]._replace(search=search)], mapper.options))
    found, listed = mapper.search(cases.chunk_of(sequences)), []
    for _, hits in mapper.hits_of(found):
        listed += [cases.places(index, hits, r) for r in range(hits.first.size - 1)]
    return list(zip(listed, found.total.tolist(), strict=True))


def expect(contigs, sequences, strands=(naive.FORWARD, naive.REVERSE)):
    found = [naive.locate(contigs, sequence, strands) for sequence in sequences]
    return [(places, len(places)) for places in found]


def changed(sequence, *places, by="N") -> str:
    """A sequence with other letters at some places."""
    return "".join(by if i in places else x for i, x in enumerate(sequence))


def long_enough(sequences, least):
    return [x for x in sequences if len(x) >= least or not naive.is_searchable(x)] + ["ACGTTGCA" * 16]


def wanted(case):
    """Every text with short and with long k-mers; every k and w."""
    name, (k, w) = case
    return {(name, k > 3), (k, w)}


@pytest.mark.parametrize(("name", "sampled"), covered(itertools.product(TEXTS, NAMES), wanted), ids=str)
def test_answers_are_the_naive_ones(name, sampled):
    contigs, (k, w) = TEXTS[name], sampled
    sequences = long_enough(reads_of(contigs), k + w - 1)
    index = in_memory(contigs, k, w)
    assert index.method == "sparse"
    assert ask(index, sequences) == expect(contigs, sequences)
    assert ask(index, sequences, FORWARD) == expect(contigs, sequences, (naive.FORWARD,))
    assert ask(index, sequences, REVERSE) == expect(contigs, sequences, (naive.REVERSE,))


@pytest.mark.parametrize("name", TEXTS)
def test_shorter_reads_are_found_by_another_method(name):
    contigs = TEXTS[name]
    sequences = reads_of(contigs)
    index = in_memory(contigs, 7, 6, "bvsfm-k2-d96")
    assert (index.method, index.shorter.method) == ("sparse", "verify")
    assert ask(index, sequences) == expect(contigs, sequences)


letters = st.text("ACGT", max_size=40)
units = st.builds(lambda unit, n: unit * n, st.text("ACGT", min_size=1, max_size=5), st.integers(1, 60))
palindromes = letters.map(lambda x: x + naive.reverse_complement(x))
pieces = st.one_of(letters, units, palindromes, st.sampled_from(["N", "NN", "A" * 50, "T" * 33]))
sequences_of_pieces = st.lists(pieces, max_size=6).map("".join)


@given(
    st.lists(sequences_of_pieces.filter(bool), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 9),
    st.data(),
)  # fmt: skip
def test_any_reference(sequences, half, w, data):
    contigs, k = numbered(sequences), 2 * half + 1
    if not naive.text_of(contigs):
        return
    joined = "".join(sequences)
    reads = [data.draw(sequences_of_pieces)]
    for _ in range(6):
        start = data.draw(st.integers(0, len(joined)))
        reads.append(joined[start : start + data.draw(st.integers(k + w - 1, k + w + 60))])
    reads = long_enough([*reads, *map(naive.reverse_complement, reads)], k + w - 1)
    assert ask(in_memory(contigs, k, w), reads) == expect(contigs, reads)


def test_separators_at_every_distance():
    k, w, sequence = 5, 4, random_letters(60, "distance")
    reads = [sequence[20:28], sequence[18:40], naive.reverse_complement(sequence[15:45])]
    for cut in range(61):
        for contigs in (numbered([sequence[:cut] + "N" + sequence[cut:], sequence]),
                        numbered(filter(None, [sequence[:cut], sequence[cut:], sequence]))):  # fmt: skip
            assert ask(in_memory(contigs, k, w), reads) == expect(contigs, reads)


@pytest.mark.parametrize("length", [240, 255, 300, 700, 1100, 2500])
def test_long_reads_in_repeats(length):
    unit = random_letters(400, "unit")
    arrays = [unit * 4, "A" * 3000, "ACCT" * 700, random_letters(3000, "x")]
    contigs = numbered([*arrays, arrays[0][100:1500] + "N" + arrays[1] + arrays[3][:2000] + "G", unit * 7])
    joined = [sequence[start:] for _, sequence in contigs for start in (0, 3, 171)]
    reads = [x[:length] for x in joined if len(x) >= length]
    reads += [read[:-1] + "C" for read in reads] + ["C" + read[1:] for read in reads]
    reads += [naive.reverse_complement(read.replace("N", "A")) for read in reads]
    assert ask(in_memory(contigs, 21, 16), reads) == expect(contigs, reads)
    assert ask(in_memory(contigs, 3, 2), reads[:9]) == expect(contigs, reads[:9])


@pytest.mark.parametrize(
    "policy", [SelectionPolicy(n) for n in (1, 3)] + [SelectionPolicy(2, seed=7), SelectionPolicy(5, 9)]
)
def test_hits_are_chosen_as_by_seed_and_verify(policy):
    contigs = numbered([random_letters(400, "u")] * 3 + ["ACG" * 130, "A" * 390])
    sequences = [x for x in reads_of(contigs) if len(x) >= 10 or not naive.is_searchable(x)]
    whole = in_memory(contigs, 7, 4, "bvsfm-k2-d96")
    expected = ask(whole.shorter, sequences, policy=policy)
    assert ask(whole, sequences, policy=policy) == expected
    assert ask(in_memory(contigs, 7, 4, part_size=500), sequences, policy=policy) == expected


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of sparse.fmx, both.fmx and verify.fmx of the same contigs, and reads of them."""
    folder = tmp_path_factory.mktemp("sparse")
    repeat = random_letters(300, "repeat")
    contigs = [
        random_letters(500, i) + changed(repeat, 9 * i, 200 - i, by="A") + random_letters(80, -i)
        for i in range(6)
    ]
    contigs = numbered([*contigs, contigs[0][:200] + "N" + contigs[1][300:] + "A" * 90])
    for name, layouts in (("sparse", ["sparse"]), ("both", ["sparse", "bvsfm-k2-d96"]), ("verify", None)):
        cases.build(folder / f"{name}.fmx", contigs, *([layouts] if layouts else []))
    found = [sequence[i : i + 80] for _, sequence in contigs for i in range(0, 800, 37)]
    found = [x if i % 2 else changed(x, i % 80, i % 31) for i, x in enumerate(found, 1)]
    found = [naive.reverse_complement(x) if i % 3 else x for i, x in enumerate(found) if len(x) > 60]
    found += ["N" * 80, random_letters(80, "none"), "ACGTN" * 12, "A" * 70, changed("A" * 70, 33, by="C")]
    for name, reads in (
        ("r.fq", found),
        ("mates.fq", [found[-1], *found[:-1]]),
        ("short.fq", [x[:30] for x in found]),
    ):
        (folder / name).write_bytes(cases.fastq((f"r{i}", x) for i, x in enumerate(reads)))
    return folder


COMMANDS = [
    ("search", "r.fq"), ("search", "-a", "r.fq"), ("search", "-k", "3", "--seed", "5", "r.fq"),
    ("search", "-m", "2", "r.fq"), ("search", "-a", "--strata", "r.fq"), ("search", "--forward-only", "r.fq"),
    ("search", "-t", "3", "-a", "r.fq"), ("search", "--counts", "/dev/stdout", "r.fq", "-o", "/dev/null"),
    ("search", "--reverse-only", "-a", "--format", "tsv", "r.fq"), ("search", "--collapse", "r.fq"),
    ("search", "--trim5", "3", "-a", "r.fq"), ("locate", "--format", "bed", "r.fq"),
    ("search", "-1", "r.fq", "-2", "mates.fq", "--ff", "-a"),
    ("search", "-1", "r.fq", "-2", "mates.fq", "--ff", "--strata", "--format", "tsv"),
]  # fmt: skip


@pytest.mark.parametrize("v", ["0", "1", "2"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_write_the_same(arguments, v, folders, command, monkeypatch):
    monkeypatch.chdir(folders)
    first, *rest = [word for word in arguments if v != "0" or word != "--strata"]
    done = [
        command(first, "-q", "-x", f"{x}.fmx", "--mismatches", v, *rest) for x in ("sparse", "both", "verify")
    ]
    assert [(each.code, each.err) for each in done] == [(0, "")] * 3
    assert len({without_program(each.out) for each in done}) == 1
    assert done[0].out.count(b"\n") > 5


def test_shorter_reads_are_found_near_by_another_method(folders, command, monkeypatch):
    monkeypatch.chdir(folders)
    how = "search", "-q", "--mismatches", 2, "-a", "short.fq", "-x"
    assert without_program(command(*how, "both.fmx").out) == without_program(command(*how, "verify.fmx").out)


@pytest.mark.parametrize(("arguments", "wrong"), [
    (("search", "--method", "verify", "r.fq"), "but this command needs a whole suffix array"),
    (("search", "--method", "backward", "r.fq"), "but this command needs a suffix array and a layout"),
    (("search", "--layout", "bvsfm", "r.fq"), "this index has no layout bvsfm, only sparse-k21-w16: build it "
     "again with --layout sparse-k21-w16,bvsfm-k2-d96"),
    (("search", "--layout", "sparse-k25", "r.fq"), "has no layout sparse-k25; it has: sparse-k21-w16"),
    (("mem", "-l", "20", "r.fq"), "finds only sequences of 36 bases or more: raise -l; to find shorter "),
    (("search", "--trim5", "50", "r.fq"), "r0 has 30 bases, but this index finds only sequences of 36 bases "
     "or more: 'fmx search --min-length 36' leaves shorter reads unmapped; to find shorter ones, build"),
    (("locate", "-p", "ACGTA"), "ACGTA has 5 bases, but this index finds only sequences of 36 bases or more: "
     "to find shorter ones, build another index"),
    (("search", "--mismatches", "1", "short.fq"), "r0 has 30 bases, but this index finds only sequences of"),
    (("locate", "--iupac", "-p", "ACGTR" * 8), "build it again with --layout sparse-k21-w16,bvsfm-k2-d96"),
    (("locate", "--iupac", "--method", "sparse", "-p", "ACGTR"), "--method sparse finds near matches of"),
])  # fmt: skip
def test_what_it_cannot_do_is_refused(arguments, wrong, folders, command, monkeypatch):
    monkeypatch.chdir(folders)
    first, *rest = arguments
    done = command(first, "-q", "-x", "sparse.fmx", *rest)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert wrong in done.err


@pytest.mark.parametrize(("option", "name"), [("--method", "sparse"), ("--layout", "sparse-k25")])
def test_it_can_be_added_to_an_index_without_one(option, name, folder, command):
    cases.build(folder / "x.fmx", numbered([random_letters(200, 1)]), ["bvsfm-k2-d96"])
    (folder / "r.fq").write_bytes(cases.fastq([("r", random_letters(60, 1))]))
    add = f"fmx index --add --layout {name} INDEX"
    told = command("search", "-x", "x.fmx", "r.fq", option, name).err
    assert f"this index has no layout {name}, only bvsfm-k2-d96: add it with '{add}'\n" in told
    assert command(*add.replace("INDEX", "x.fmx").split()[1:]).code == 0
    assert command("search", "-x", "x.fmx", "r.fq", option, name).code == 0


def test_more_positions_than_are_kept():
    """Where there is no room for positions, occurrences are told from rows again."""
    unit = random_letters(90, "room")
    contigs = numbered([unit * 30, naive.reverse_complement(unit) * 20 + "N" + unit[40:] * 3])
    reads = [(unit * 2)[start : start + 60] for start in range(0, 90, 7)]
    expected = expect(contigs, reads)
    for n in (0, 1, 8):
        for policy in (SelectionPolicy(ALL), SelectionPolicy(1), SelectionPolicy(3)):
            found = ask(in_memory(contigs, 21, 16), reads, policy=policy, room=n)
            assert found == [(places[: policy.limit], total) for places, total in expected]


def test_copies_at_the_start_of_the_text():
    """No read begins before it, though the symbols that its first rows lack are stored as A."""
    contigs = numbered(["A" * 1200, "C" * 600 + "A" * 900])
    reads = ["A" * n for n in (36, 40, 51, 200, 250)] + ["T" * 60, "C" * 40 + "A" * 5]
    policy = SelectionPolicy(1)
    expected = [(places[:1], n) for places, n in expect(contigs, reads)]
    assert ask(in_memory(contigs, 21, 16), reads, policy=policy, room=0) == expected


def test_a_million_copies():
    """Reads of a satellite, and of one letter, are counted and drawn without a look at the text for each."""
    unit = random_letters(64, "satellite")
    contigs = numbered([unit * 16_000, "A" * 1_000_100])
    index = in_memory(contigs, 21, 16)
    reads = [(unit * 3)[start : start + 100] for start in range(0, 64, 9)] + ["A" * 100, "A" * 100 + "C"]
    copies = [(64 * 16_000 - 100 - start) // 64 + 1 for start in range(0, 64, 9)]
    found = ask(index, [*reads, *map(naive.reverse_complement, reads)], policy=SelectionPolicy(1))
    expected = [*copies, 1_000_001, 0]
    assert [total for _, total in found] == expected * 2
    for (places, _), (start, reverse) in zip(
        found, itertools.product([*range(0, 64, 9), None, None], (0,)), strict=False
    ):
        if start is not None:
            assert places == [(0, start, reverse)]
    assert found[8][0] == [(1, 0, 0)]
    again = [*reads, "A" * 99, *reads[::-1], "T" * 100, "A" * 98, "C" + "A" * 99]  # what was counted is kept
    totals = [total for _, total in ask(index, again, policy=SelectionPolicy(1))]
    assert totals == [*expected, 1_000_002, *expected[::-1], 1_000_001, 1_000_003, 0]


# Near matches.


@given(
    st.lists(sequences_of_pieces.filter(bool), min_size=1, max_size=3), st.integers(1, 3), st.integers(1, 6),
    st.data(),
)  # fmt: skip
def test_near_matches_in_any_reference(sequences, half, w, data):
    contigs, k = numbered(sequences), 2 * half + 1
    if not naive.text_of(contigs):
        return
    joined, reads = "".join(sequences), []
    for _ in range(5):
        start = data.draw(st.integers(0, len(joined)))
        read = joined[start : start + data.draw(st.integers(k + w - 1, 4 * (k + w)))]
        read = changed(
            read, *data.draw(st.lists(st.integers(0, 40), max_size=2)), by=data.draw(st.sampled_from("ACGTN"))
        )
        reads += [read, naive.reverse_complement(read.replace("N", "A"))]
    reads = [read for read in [*reads, "ACGTTGCA" * 2] if len(read) >= k + w - 1]
    index = in_memory(contigs, k, w)
    for v in (1, 2):
        assert ask_near(index, reads, Near(v)) == [naive.near(contigs, read, v) for read in reads]


@pytest.mark.parametrize("others", [(), ("bvsfm-k2-d96",)], ids=["alone", "with a layout"])
@pytest.mark.parametrize("length", [36, 40, 50, 71, 72, 73, 90, 100, 107, 108, 150])
def test_mismatches_anywhere_in_reads_of_any_length(length, others):
    """Each pair of places, in both halves of the overlaps of pieces, on either strand."""
    text = random_letters(400, length)
    contigs = numbered([random_letters(50, 1) + text, naive.reverse_complement(text[:200]) + "N" + text[5:]])
    index, reads = in_memory(contigs, 21, 16, *others), []
    step = max(length // 9, 1)
    for i in range(0, length, step):
        for j in range(i, length, step + 1):
            reads.append(changed(text[20 : 20 + length], i, j))
    reads = reads if length > 71 else reads[:4]
    expected = [naive.near(contigs, read, 2) for read in reads]
    assert all(expected)
    assert ask_near(index, reads, Near(2)) == expected
    assert ask_near(index, reads, Near(1)) == [[hit for hit in found if hit[0] < 2] for found in expected]


def test_three_overlapping_pieces_catch_every_pair_of_mismatches():
    text = random_letters(60, "pieces")
    index, reads = in_memory(numbered([text]), 7, 6), []
    for length in (24, 29, 30, 35, 36):
        reads += [change(change(text[9 : 9 + length], i), j) for i in range(length) for j in range(i + 1)]
    assert ask_near(index, reads, Near(2)) == [naive.near(numbered([text]), read, 2) for read in reads]


def test_words_that_are_too_long_are_refused():
    index = in_memory(numbered([random_letters(500, "x")]), 31, 64)
    with pytest.raises(UnsupportedError, match="finds only strings of 94 bases or more"):
        ask_near(index, [random_letters(200, "y")], Near(1))
