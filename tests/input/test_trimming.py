"""Letters cut off reads before they are searched: what is searched, and what is written of it."""

import cases
import naive
import pytest
from texts import numbered, random_letters

GENOME = numbered([random_letters(600, "trimmed")])
LETTERS = GENOME[0][1]
SEQUENCES = [
    "NN" + LETTERS[10:40] + "GGN", "TTT" + naive.reverse_complement(LETTERS[50:81]).lower(), LETTERS[100:109],
    "ACGTN", "", LETTERS[200:206], LETTERS[300:400], "NNN" + LETTERS[7:9],
]  # fmt: skip
RECORDS = [(f"r{i}", sequence) for i, sequence in enumerate(SEQUENCES)]
CASES = {
    "--trim5 2 --trim3 3": (lambda x: x[2 : max(2, len(x) - 3)], 0),
    "--start 4 --length 20": (lambda x: x[3:23], 0),
    "--trim3 1 --length 6 --min-length 6": (lambda x: x[: max(0, len(x) - 1)][:6], 6),
    "--min-length 9": (lambda x: x, 9),
    "--trim5 1000": (lambda x: "", 0),
}


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("kind", ["FASTQ", "FASTA"])
def test_reads_are_written_as_they_were_cut(options, kind, folder, index_of, command):
    (folder / "r").write_bytes(cases.fastq(RECORDS) if kind == "FASTQ" else cases.fasta(RECORDS, 13))
    kept, least = CASES[options]
    result = command("search", "-q", "-a", "-x", index_of(GENOME), "r", *options.split())
    assert (result.code, result.err) == (0, "")
    qualities = [line.decode() for line in cases.fastq(RECORDS).splitlines()[3::4]]
    expected = []
    for (name, sequence), quality in zip(RECORDS, qualities, strict=True):
        letters, quality = kept(sequence), kept(quality)
        hits = naive.locate(GENOME, letters) if letters and len(letters) >= least else []
        for number, (_, position, reverse) in enumerate(hits):
            spelled = naive.reverse_complement(letters) if reverse else letters.upper()
            quality_here = quality[::-1] if reverse else quality
            read = (spelled, quality_here) if number == 0 else ("*", "*")
            expected.append([name, str(position + 1), *read, f"NH:i:{len(hits)}"])
        if not hits:
            expected.append([name, "0", letters.upper() or "*", quality or "*", "NH:i:0"])
    if kind == "FASTA":
        expected = [[*row[:3], "*", row[4]] for row in expected]
    assert [[row[0], row[3], *row[9:12]] for row in result.records] == expected


def test_what_is_cut_off_is_looked_at_all_the_same(folder, index_of, command):
    (folder / "r.fa").write_bytes(b">a\nACGT\n>b\nAC-GTTTTT\n")
    result = command("search", "-x", index_of(GENOME), "r.fa", "--trim5", "5", "-o", "out.sam")
    assert (result.code, sorted(path.name for path in folder.iterdir())) == (1, ["r.fa"])
    assert "r.fa: record 2: the sequence contains a character that is not a base" in result.err


def test_too_short_reads_are_told(folder, index_of, command):
    (folder / "r.fa").write_text(f">a\n{LETTERS[:30]}\n>b\n{LETTERS[:10]}\n")
    result = command("search", "-x", index_of(GENOME), "r.fa", "--min-length", "11")
    why = "shorter than --min-length, empty, or with characters other than A, C, G, T and U"
    assert f"; 1 not searched ({why})" in result.err


def test_two_starts_are_refused(folder, index_of, command):
    (folder / "r.fa").write_bytes(b">a\nACGT\n")
    result = command("search", "-x", index_of(GENOME), "r.fa", "--start", "2", "--trim5", "1")
    line = "fmx: error: give only one of --start and --trim5"
    assert (result.code, result.err.splitlines()[-1]) == (2, line)
