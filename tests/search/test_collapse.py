"""--collapse: identical reads are mapped once, and all numbers are those of all reads."""

import itertools
import re

import cases
import hypothesis.strategies as st
import naive
import pytest
import workflow
from cover import covered, examples
from hypothesis import given
from output_of import without_program
from texts import numbered, random_letters
from validate import written

from fmx.errors import InputError
from fmx.index import fm_index
from fmx.input import spans
from fmx.input.reads import Trim, parse
from fmx.machines.progress import Progress
from fmx.output.search_output import SearchOutput
from fmx.search import collapse
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions, Near

UNIT = random_letters(60, "collapse")
GENOME = numbered([UNIT, UNIT[10:40] + "N" + "ACAC" * 20, "A" * 90])
SEQUENCES = [
    UNIT[3:20], UNIT[12:30], UNIT[12:30].lower().replace("t", "u"), "ACAC", "CA", "AAA", "AAAA", "", "NAC",
    "NNNNNNNNNAC", UNIT[:50], UNIT[:49] + "N", naive.reverse_complement(UNIT[:33]),
]  # fmt: skip
SUFFIXES = [
    "", "_x1", "_x2", "_x37", "_x005", "_x0", "_x", "x3", "_x12a", "_x12345678901234", "/1", ";size=9",
    ";size=12;", ";ee=0.5;size=3;length=7", ";size=0", ";size=2a", ";size=", "-8", "-0", "_17", ";size=4_x2",
]  # fmt: skip
READS = st.lists(st.tuples(st.sampled_from(SEQUENCES), st.sampled_from(SUFFIXES)), min_size=1, max_size=40)


def weighed(name) -> tuple:
    """(name without it, weight)."""
    for form in (r"(.*)_x(\d{1,13})", r"(\d+)-(\d{1,13})", r"(.*?);size=(\d{1,13})(;.*)?"):
        if (found := re.fullmatch(form, name)) and int(found[2]):
            return found[1], int(found[2])
    return name, 1


def together(reads) -> list:
    """(name, letters) of reads of each sequence, in the order of the first ones."""
    kept: dict = {}
    for name, letters in reads:
        name, weight = weighed(name)
        kept.setdefault(written(letters), [name, 0])[1] += weight
    return [(f"{name}_x{weight}", letters) for letters, (name, weight) in kept.items()]


@pytest.fixture(scope="module")
def run(index_of, tmp_path_factory):
    """A function: search of (name, letters), as FASTQ -> (records of SAM, lines of counts, Summary)."""
    folder, opened = tmp_path_factory.mktemp("collapse"), fm_index.load(index_of(GENOME), with_text=True)

    def run(reads, **options):
        (folder / "r.fq").write_bytes(cases.fastq(reads))
        output = SearchOutput(str(folder / "o.sam"), tables={"--counts": str(folder / "c.tsv")})
        summary = workflow.search(opened, [str(folder / "r.fq")], MapOptions(**options), output)
        lines = without_program((folder / "o.sam").read_bytes()).decode().splitlines()
        records = [line.split("\t") for line in lines if not line.startswith("@")]
        return records, (folder / "c.tsv").read_text().splitlines(), summary

    return run


@given(READS, st.sampled_from([(1, 1 << 20), (3, 90)]), st.integers(0, 3), st.sampled_from([None, 1]))
@examples(20)
def test_identical_reads_are_one_and_numbers_are_those_of_all(run, reads, size, cut, mismatches):
    reads = [(f"{'r' * (i % 2)}{i}{suffix}", letters) for i, (letters, suffix) in enumerate(reads)]
    options = {"policy": SelectionPolicy(ALL, 30), "n_threads": size[0], "chunk_size": size[1]}
    options["near"] = Near(mismatches) if mismatches else None
    records, counts, summary = run(reads, collapse=Trim(begin=cut), trim=Trim(least=2), **options)
    cut_reads = [(name, letters[cut:]) for name, letters in reads]
    first = [line for line in records if not int(line[1]) & 256]
    assert [(line[0], as_given(line)) for line in first] == together(cut_reads)
    every = [(name, letters) for name, letters in cut_reads for _ in range(min(weighed(name)[1], 37))]
    _, counts_of_all, summary_of_all = run(every, trim=Trim(least=2), **options)
    assert (counts, summary) == (counts_of_all, summary_of_all)


def as_given(line) -> str:
    """The letters of a read by its record."""
    letters = "" if line[9] == "*" else line[9]
    return naive.reverse_complement(letters) if int(line[1]) & 16 else letters


@pytest.mark.parametrize(
    ("names", "n", "has_hint"),
    [
        (["1-100", "2-74"], 174, False), (["a;size=100", "b;size=74;"], 174, False),
        (["t_0_x100", "u_1_x74"], 174, False), (["trn_0_100", "trn_1_74"], 2, True),
        (["x_Cd0_100", "y_Cd1_74"], 2, True), (["100", "74"], 2, True), (["r0", "r1"], 2, False),
        (["x:1:100", "x:1:74"], 2, False), (["a_1", "a"], 2, False), (["a_1", "a_2", "a_3"], 3, False),
    ],
)  # fmt: skip
def test_collapsed_reads_of_other_programs(names, n, has_hint, command, index_of, folder):
    """Their numbers of copies are read, or a hint says how to write them."""
    (folder / "r.fa").write_bytes(cases.fasta(zip(names, ["ACAC", "CACA", "ACAC"], strict=False)))
    done = command("search", "-x", index_of(GENOME), "r.fa", "--collapse", "--counts", "c.tsv", "-o", "o.sam")
    assert f"{n} reads" in done.err
    assert ("hint: all names end in a number and all sequences differ" in done.err) == has_hint
    assert sum(int(line.split("\t")[2]) for line in (folder / "c.tsv").read_text().splitlines()[1:]) == n


def test_no_memory_and_no_number_for_them_are_told(run):
    heavy = [(f"r{i}_x999999999999", "ACAC") for i in range(10)]
    with pytest.raises(
        InputError, match=r"reads, collapsed: the counts .* add up to more than 9,000,000,000,000"
    ):
        run(heavy, collapse=Trim())
    assert run(heavy[:9], collapse=Trim())[2].reads == 9 * 999999999999
    kept = collapse.Collection(memory=lambda: 0, small=0)
    (span,) = spans.plan([cases.fastq(heavy)])
    with pytest.raises(
        InputError, match=r"\d+ distinct reads take [0-9.]+ (bytes|kB), and no memory is left"
    ):
        kept.add(collapse.read_table(parse(span.read().whole())))


def records(kept, size, first=0, last=None) -> list:
    """(name, letters) of reads ``first`` to ``last`` of a Collection, from spans of about ``size`` bytes."""
    found = []
    for span in kept.spans(size, Progress(quiet=True), first, last):
        chunk = span.read()
        lines = chunk.data.tobytes().decode().splitlines()
        assert (chunk.number, chunk.n_bound) == (first + len(found) + 1, len(lines) // 2)
        found += [(name[1:], letters) for name, letters in zip(lines[::2], lines[1::2], strict=True)]
    return found


HOSTILE = {
    "one": [("r_x3", "ACGT")],
    "empty": [("r", ""), ("s", "A"), ("t", "")],
    "equal": [(f"r{i}", UNIT) for i in range(100)],
    "different": [(f"r{i}", random_letters(17, f"{i}")) for i in range(120)],
    "each twice": [(f"r{i}", random_letters(17, f"{i % 50}")) for i in range(100)],
    "N": [(f"r{i}_x{i}", "N" * (i % 19)) for i in range(1, 100)],
}


@pytest.mark.parametrize(
    ("name", "n_threads", "size"), covered(itertools.product(HOSTILE, [1, 2, 5, 16], [1, 500, 1 << 20]))
)
def test_threads_and_spans_do_not_change_what_is_collected(name, n_threads, size):
    reads = HOSTILE[name]
    options = MapOptions(collapse=Trim(), n_threads=n_threads)
    kept = collapse.collect(spans.plan([cases.fastq(reads)], size), options, Progress(quiet=True))
    assert kept.total == sum(weighed(name)[1] for name, _ in reads)
    assert records(kept, 300) == records(kept, 1 << 20) == together(reads)
    assert records(kept, 60, 0, kept.n // 3) + records(kept, 60, kept.n // 3) == together(reads)


def test_reads_without_a_hit_are_fasta_with_their_weights(folder, index_of, command):
    (folder / "r.fq").write_bytes(cases.fastq([("a", "GGGGGGGGG"), ("b", "ACAC"), ("c", "ggggggggg")]))
    result = command("search", "-x", index_of(GENOME), "r.fq", "--collapse", "--un", "un.fa", "-o", "o.bam")
    assert (result.code, (folder / "un.fa").read_bytes()) == (0, b">a_x2\nGGGGGGGGG\n")
    assert "fmx: 3 reads, 2 of them distinct" in result.err
    assert "fmx: 3 reads: 1 mapped (33.33 %)" in result.err
