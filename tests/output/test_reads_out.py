"""--al and --un: every read as it came, in one of the two, in order."""

import gzip

import journeys
import naive
import pytest
from texts import numbered, random_letters

from fmx import workflow
from fmx.index import fm_index
from fmx.input.trimming import WHOLE, Trim
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapper import MapOptions

UNIT = random_letters(300, "reads out")
GENOME = numbered([UNIT, UNIT[50:150], random_letters(200, "more")])
SEQUENCES = [UNIT[i : i + 30] if i % 3 else random_letters(25 + i, f"none {i}") for i in range(40)] + [
    "",
    "NNAC",
]
RECORDS = [
    (f"r{i} comment {i}", sequence.lower() if i % 5 == 0 else sequence)
    for i, sequence in enumerate(SEQUENCES)
]
FORMS = {
    "FASTQ": (journeys.fastq, b"\n"), "FASTQ, CR LF": (journeys.fastq, b"\r\n"),
    "FASTA": (journeys.fasta, b"\n"),
    "FASTA in lines": (lambda records: journeys.fasta(records, 11), b"\n"),
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
    output = workflow.Output("out.sam", mapped_to="al.gz", unmapped_to="un")
    make_again = journeys.fasta if "FASTA" in form else make
    for threads, size in ((1, 1 << 20), (3, 200)):
        options = MapOptions(policy, n_threads=threads, chunk_size=size, trim=trim)
        workflow.search(opened, ["r"], options, output)
        for name, wanted in (("al.gz", True), ("un", False)):
            found = (folder / name).read_bytes()
            expected = [record for record in RECORDS if is_hit(record[1], trim, at_most) == wanted]
            assert len(expected) > 5
            text = make_again(expected).replace(b"\n", line_end)
            assert (gzip.decompress(found) if wanted else found) == text


def test_a_run_that_fails_leaves_none(folder, index_of, command):
    (folder / "r.fq").write_bytes(journeys.fastq(RECORDS) + b"@bad\nA!\n+\nII\n")
    result = command(
        "search", "-q", "-x", index_of(GENOME), "r.fq", "-o", "o.sam", "--al", "a.fq", "--un", "u.fq.gz"
    )
    assert (result.code, [path.name for path in folder.iterdir()]) == (1, ["r.fq"])


REFUSED = {
    "--un r.fq": "--un r.fq is the same file as the input r.fq",
    "--un x.fq --al ./x.fq": "is the same file as --al ./x.fq",
    "--un -": "--un - is the same file as -o -",
    "--al x.sam": "--al x.sam: the output is FASTA or FASTQ, not .sam",
    "--al x.sam.gz": "--al x.sam.gz: the output is FASTA or FASTQ, not .sam",
    "--al x.fq.bz2": "--al x.fq.bz2: the output is FASTA or FASTQ, not .bz2",
    "--al x.fq -o out.d --shard 1/2": "--al is for all of the inputs together: not with shards of them",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wrong_places_are_refused(options, folder, index_of, command):
    (folder / "r.fq").write_bytes(journeys.fastq(RECORDS))
    result = command("search", "-x", index_of(GENOME), "r.fq", *options.split())
    assert (result.code, result.out, sorted(path.name for path in folder.iterdir())) == (2, b"", ["r.fq"])
    assert REFUSED[options] in result.err
