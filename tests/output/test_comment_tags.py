"""fmx search -C: SAM tags in the comments of reads, and those of BAM and CRAM, in the records."""

import pysam
import pytest
from naive import reverse_complement
from output_of import records_in
from texts import numbered, random_letters

GENOME = numbered([random_letters(600, "comments")] * 2)
TAGS = [
    "",
    "RX:Z:AC-GT",
    "CB:Z:a b\tBC:Z:",
    "xa:A:c\txi:i:-7\txf:f:1.5\tXB:B:C,1,255\tXH:H:0AFF",
    "NH:i:9\tBX:Z:1",
]
LETTERS = [*(GENOME[0][1][7 * i : 7 * i + 60] for i in range(60)), "ACGT" * 9]


def tags_of(i):
    return TAGS[i % len(TAGS)]


def copied(i):
    """The tags in the records of read i."""
    return [tag for tag in tags_of(i).split("\t") if tag and tag[:2] != "NH"]


def fastq(mate="", letters=LETTERS, end="\n", blank=" ", first=0):
    records = [
        (f"@r{i}{mate}{blank if tags_of(i + first) else ''}{tags_of(i + first)}", x, "+", "I" * len(x))
        for i, x in enumerate(letters)
    ]
    return "".join(f"{line}{end}" for record in records for line in record).encode()


@pytest.fixture
def search(folder, index_of, command):
    """A function: search with these arguments, in a folder that holds r.fq -> Result."""
    (folder / "r.fq").write_bytes(fastq())
    return lambda *arguments, **more: command("search", "-q", "-x", index_of(GENOME), *arguments, **more)


def with_tags(records, first=(0, 0)):
    """SAM without -C, with the tags of each read."""
    mate = lambda record: int(record[1]) >> 7 & 1  # noqa: E731
    return [[*record, *copied(int(record[0][1:]) + first[mate(record)])] for record in records]


@pytest.mark.parametrize(
    "more", [["-a"], ["--mismatches", "1", "-k", "2", "--trim5", "3"], ["--tags", "none"], ["-t", "3"]]
)
def test_tags_follow_those_of_the_record(more, search):
    expected = with_tags(search("r.fq", *more).records)
    assert len({len(record) for record in expected}) > 3
    assert search("r.fq", "-C", *more).records == expected
    for name in ("u.bam", "u.cram"):
        assert search("r.fq", "-C", *more, "-o", name).code == 0
        assert records_in(name) == expected
    for name in ("s.bam", "s.cram"):
        assert search("r.fq", "-C", *more, "-o", name, "--sort").code == 0
        assert sorted(records_in(name)) == sorted(expected)


@pytest.mark.parametrize(("end", "blank"), [("\r\n", " "), ("\n", "\t"), ("\n", " \t ")])
def test_a_comment_follows_white_space(end, blank, search, folder):
    expected = search("r.fq", "-C").records
    (folder / "other.fq").write_bytes(fastq(end=end, blank=blank))
    assert search("other.fq", "-C").records == expected
    (folder / "r.fa").write_text(
        "".join(f">r{i}{blank}{tags_of(i)}{end}{x}{end}" for i, x in enumerate(LETTERS))
    )
    assert [record[11:] for record in search("r.fa", "-C").records] == [record[11:] for record in expected]


@pytest.mark.parametrize("kind", ["sam", "bam", "cram"])
def test_each_mate_has_its_own(kind, search, folder):
    seconds = [reverse_complement(GENOME[0][1][7 * i + 90 : 7 * i + 140]) for i in range(60)] + [
        "GATTACA" * 7
    ]
    one, two = fastq("/1"), fastq("/2", seconds, first=2)
    (folder / "1.fq").write_bytes(one)
    (folder / "2.fq").write_bytes(two)
    halves = [data.decode().splitlines(keepends=True) for data in (one, two)]
    both = [line for i in range(0, len(halves[0]), 4) for half in halves for line in half[i : i + 4]]
    (folder / "both.fq").write_text("".join(both))
    pairs = ["-1", "1.fq", "-2", "2.fq", "-k", "3"]
    expected = with_tags(search(*pairs).records, (0, 2))
    for how in (pairs, ["both.fq", "--interleaved", "-k", "3"]):
        assert search(*how, "-C", "--format", kind, "-o", "out").code == 0
        found = records_in("out")
        for record in [*found, *expected]:
            record[8] = "0"  # TLEN, of which CRAM loses some
        assert found == expected


@pytest.mark.parametrize("more", [[], ["--rg", r"@RG\tID:own"]])
def test_bam_keeps_its_tags_except_those_of_its_alignment(more, search, folder):
    rows = [
        "\t".join([f"r{i}", "4", "*", "0", "0", "*", "*", "0", "0", letters, "I" * len(letters), "MD:Z:3",
                   f"RG:Z:g{i % 2 + 1}", *filter(None, tags_of(i).split("\t"))])
        for i, letters in enumerate(LETTERS)
    ]  # fmt: skip
    (folder / "in.sam").write_text("\n".join(["@RG\tID:g1", "@RG\tID:g2", *rows, ""]))
    pysam.samtools.view("-b", "-o", "in.bam", "in.sam", catch_stdout=False)
    expected = []
    for i, record in enumerate(search("r.fq").records):
        expected.append([*record, "RG:Z:own" if more else f"RG:Z:g{i % 2 + 1}", *copied(i)])
    assert search("-C", "in.bam", *more).records == expected
    assert search("-C", "-", *more, stdin=(folder / "in.bam").read_bytes()).records == expected


@pytest.mark.parametrize("tag", ["BX:Z:ACGT-1 ", "BX:B:f,1,-2.5", "BX:A:!", "BX:i:4294967295", "b0:f:-0.5"])
def test_any_tag_is_copied(tag, search, folder):
    (folder / "any.fq").write_bytes(fastq() + f"@any {tag}\nACGT\n+\nIIII\n".encode())
    assert search("-C", "any.fq", "-o", "any.bam").code == 0
    assert search("-C", "any.fq").records[-1][-1] == records_in("any.bam")[-1][-1] == tag


@pytest.mark.parametrize("comment", [
    "1:N:0:ACGT", "a comment", "BX:Z:A\t", "B:Z:A", "BX:Z", "BX:Q:1", "1X:Z:A", "BX:i:x", "BX:i:4294967296",
    "BX:f:.", "BX:A:ab", "BX:H:123", "BX:B:x,1", "BX:Z:A\t\tBY:Z:A", "BX:Z:\x7f",
])  # fmt: skip
def test_a_comment_that_is_no_tag_is_an_error(comment, search, folder):
    (folder / "bad.fq").write_bytes(fastq() + f"@bad {comment}\nACGT\n+\nIIII\n".encode())
    (folder / "mates.fq").write_bytes(fastq() + b"@bad\nACGT\n+\nIIII\n")
    for arguments in (["bad.fq"], ["bad.fq", "-o", "out.bam"], ["-1", "mates.fq", "-2", "bad.fq"]):
        done = search("-C", *arguments)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "bad.fq: record 62: its comment does not consist of SAM tags: " in done.err
        assert done.err.endswith("; map without -C\n")
    assert search("bad.fq", "-o", "out.bam").code == 0


def test_a_gpu_is_not_used(search):
    done = search("-C", "r.fq", "--engine", "cuda")
    assert (done.code, done.err) == (
        1, "fmx: error: no GPU search with -C: leave out --engine to use the CPU's cores\n"
    )  # fmt: skip
    assert search("-C", "r.fq", "--engine", "auto").records == search("-C", "r.fq").records
