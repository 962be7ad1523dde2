"""--al and --un: every read as it came, in one of the two, in order."""

import gzip

import cases
import naive
import pytest
import workflow
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.input.reads import WHOLE, Trim
from fmx.output.files import ReadsOutput
from fmx.output.search_output import SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions

UNIT = random_letters(300, "reads out")
GENOME = numbered([UNIT, UNIT[50:150], random_letters(200, "more")])
SEQUENCES = [UNIT[i : i + 30] if i % 3 else random_letters(25 + i, f"none {i}") for i in range(40)] + [
    "",
    "NNAC",
]
RECORDS = [
    (f"{' ' * (i % 3)}r{i} comment {i}", sequence.lower() if i % 5 == 0 else sequence)
    for i, sequence in enumerate(SEQUENCES)
]
FORMS = {
    "FASTQ": (cases.fastq, b"\n"), "FASTQ, CR LF": (cases.fastq, b"\r\n"),
    "FASTA": (cases.fasta, b"\n"),
    "FASTA in lines": (lambda records: cases.fasta(records, 11), b"\n"),
}  # fmt: skip
RULES = {
    "as they are": (SelectionPolicy(), WHOLE, ALL),
    "with too many": (SelectionPolicy(ALL, 1), WHOLE, 1),
    "trimmed": (SelectionPolicy(2), Trim(2, 4), ALL),
}


def is_hit(sequence, trim, at_most) -> bool:
    return 0 < len(naive.locate(GENOME, sequence[trim.begin : max(0, len(sequence) - trim.end)])) <= at_most


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_each_read_is_in_one_of_them(form, rule, folder, index_of):
    make, line_end = FORMS[form]
    (folder / "r").write_bytes(make(RECORDS).replace(b"\n", line_end))
    policy, trim, at_most = RULES[rule]
    opened = fm_index.load(index_of(GENOME))
    output = SearchOutput("out.sam", reads=ReadsOutput("al.gz", "un"))
    make_again = cases.fasta if "FASTA" in form else make
    for threads, size in ((1, 1 << 20), (3, 200)):
        options = MapOptions(policy, n_threads=threads, chunk_size=size, trim=trim)
        workflow.search(opened, ["r"], options, output)
        for name, wanted in (("al.gz", True), ("un", False)):
            found = (folder / name).read_bytes()
            expected = [record for record in RECORDS if is_hit(record[1], trim, at_most) == wanted]
            assert len(expected) > 5
            text = make_again(expected).replace(b"\n", line_end)
            assert (gzip.decompress(found) if wanted else found) == text


@pytest.mark.parametrize("threads", [1, 3])
def test_pairs_stay_together(threads, folder, index_of, command, chunks_of):
    chunks_of(500)
    sequences = [sequence or "A" for _, sequence in RECORDS]
    pairs = list(zip(sequences, sequences[3:] + sequences[:3], strict=True))
    mates = [[(f"p{r}/{i + 1} x", pair[i]) for r, pair in enumerate(pairs)] for i in (0, 1)]
    (folder / "1.fq").write_bytes(cases.fastq(mates[0]))
    (folder / "2.fa").write_bytes(cases.fasta(mates[1], 13))
    (folder / "both.fq").write_bytes(cases.fastq(in_turn(mates)))
    run = ["search", "-q", "-x", index_of(GENOME), "-t", threads, "-o", "out.sam"]
    assert command(*run, "-1", "1.fq", "-2", "2.fa", "--al", "al.v1.gz", "--un", "un").code == 0
    assert command(*run, "--interleaved", "both.fq", "--al", "al", "--un", "un.gz").code == 0
    hit = [any(is_hit(mate, WHOLE, ALL) for mate in pair) for pair in pairs]
    assert 5 < sum(hit) < len(hit) - 5
    for name, wanted in (("al", True), ("un", False)):
        some = [[mate for mate, its in zip(each, hit, strict=True) if its == wanted] for each in mates]
        one, two, both = (f"{name}_1.v1.gz", f"{name}_2.v1.gz", name) if wanted else ("un_1", "un_2", "un.gz")
        assert plain(folder / one) == cases.fastq(some[0])
        assert plain(folder / two) == cases.fasta(some[1])
        assert plain(folder / both) == cases.fastq(in_turn(some))


def in_turn(mates) -> list:
    return [mate for pair in zip(*mates, strict=True) for mate in pair]


def plain(path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data
