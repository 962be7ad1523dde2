"""fmx mem as it is used: its formats against golden files, kinds of input, and what it refuses."""

import gzip
import json
import re
import subprocess

import cases
import naive
import pytest
import workflow
from bad_reads import complaint
from conftest import ROOT
from output_of import without_program
from texts import numbered, random_letters

GOLDEN = ROOT / "tests" / "data" / "golden_mem"
READS = ROOT / "tests" / "data" / "reads.fq"
COMMANDS = {
    "both.txt": ["-b", "-l", "15"],
    "reverse.txt": ["-r", "-l", "12", "-c", "-L", "-F"],
    "mum.txt": ["--mum", "-b", "-l", "14", "-c"],
    "all.paf": ["-b", "-l", "18", "--format", "paf"],
    "all.bed": ["-b", "-l", "18", "--format", "bed"],
    "all.tsv": ["-b", "-l", "18", "--format", "tsv"],
    "all.sam": ["-b", "-l", "18", "--format", "sam"],
}
CONTIGS = numbered([random_letters(900, "c0"), random_letters(400, "c1") + "NNNN" + random_letters(90, "c2")])


@pytest.fixture(scope="module")
def phage(tmp_path_factory):
    """An index of lambda."""
    path = tmp_path_factory.mktemp("lambda") / "lambda.fmx"
    workflow.build_index(ROOT / "fmx" / "data" / "lambda.fa.gz", path)
    return path


@pytest.fixture
def indexed(folder, index_of):
    """A folder that holds ref.fmx."""
    (folder / "ref.fmx").symlink_to(index_of(CONTIGS))
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_it_was(name, phage, command, request):
    for threads in (1, 3):
        result = command("mem", "-q", "-x", phage, "-t", threads, *COMMANDS[name], READS)
        assert (result.code, result.err) == (0, "")
        found = without_program(result.out)
        if request.config.getoption("--update-golden") and threads == 1:
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / name).write_bytes(found)
        assert found == (GOLDEN / name).read_bytes()


def test_the_formats_tell_the_same_matches_and_they_are_right():
    packed = (ROOT / "fmx" / "data" / "lambda.fa.gz").read_bytes()
    letters = "".join(gzip.decompress(packed).decode().split("\n")[1:])
    lines = READS.read_text().split("\n")
    reads = {lines[i][1:].split()[0]: lines[i + 1] for i in range(0, len(lines) - 1, 4)}
    table = [line.split("\t") for line in (GOLDEN / "all.tsv").read_text().splitlines()[1:]]
    assert {row[3] for row in table} == {"+", "-"}
    paf = [line.split("\t") for line in (GOLDEN / "all.paf").read_text().splitlines()]
    bed = [line.split("\t") for line in (GOLDEN / "all.bed").read_text().splitlines()]
    sam = (GOLDEN / "all.sam").read_text().splitlines()
    sam = [line.split("\t") for line in sam if not line.startswith("@")]
    for row, in_paf, in_bed, in_sam in zip(table, paf, bed, sam, strict=True):
        query, begin, end, strand, contig, start, stop, length = row
        read, there = reads[query], letters[int(start) : int(stop)]
        here = read[int(begin) : int(end)]
        assert there == (naive.plain(here) if strand == "+" else naive.reverse_complement(here))
        assert in_paf == [
            query, str(len(read)), begin, end, strand, contig, "48502", start, stop, length, length, "255",
            f"cg:Z:{length}=",
        ]  # fmt: skip
        assert in_bed == [contig, start, stop, query, "0", strand]
        head, tail = int(begin), len(read) - int(end)
        head, tail = (head, tail) if strand == "+" else (tail, head)
        cigar = (f"{head}H" if head else "") + f"{length}M" + (f"{tail}H" if tail else "")
        flag = "0" if strand == "+" else "16"
        assert in_sam[:6] == [query, flag, contig, str(int(start) + 1), "255", cigar]
        assert in_sam[6:] == ["*", "0", "0", there, "*", "NM:i:0", f"MD:Z:{length}"]


def test_sam_is_accepted_by_samtools(peer, tmp_path, phage, command):
    assert command("mem", "-q", "-x", phage, *COMMANDS["all.sam"], READS, "-o", tmp_path / "a.sam").code == 0
    view = [peer("samtools"), "view", "-c", tmp_path / "a.sam"]
    done = subprocess.run(view, capture_output=True, check=True)
    assert done.stderr == b""
    assert int(done.stdout) == len((GOLDEN / "all.bed").read_text().splitlines())


def test_no_query_and_no_match(indexed, command):
    (indexed / "none.fa").write_text("")
    result = command("mem", "none.fa")
    assert (result.code, result.out) == (0, b"")
    assert "no queries to process in none.fa" in result.err
    (indexed / "q.fa").write_text(f">q\n{CONTIGS[0][1]}\n>empty\n")
    assert command("mem", "-q", "-l", 901, "q.fa").out == b"> q\n> empty\n"
    assert command("mem", "-q", "-l", 901, "q.fa", "--format", "paf").out == b""


def test_a_long_query_is_shared_out(command, tmp_path):
    """A sequence longer than a task in lines of 70, against itself: the same for any number of threads."""
    unit = random_letters(40_000, "long")
    query = "".join(unit[i:] + unit[:i] + "N" for i in range(0, 40_000, 290))
    assert len(query) > 2 * (1 << 21)
    reference = tmp_path / "ref.fa"
    reference.write_text(f">r\n{unit}\n")
    workflow.build_index(reference, tmp_path / "ref.fmx")
    (tmp_path / "q.fa").write_bytes(cases.fasta([("long", query)], 70))
    given = ["mem", "-q", "-x", tmp_path / "ref.fmx", "-b", "-l", 30, tmp_path / "q.fa", "-t"]
    found = [command(*given, n_threads).out for n_threads in (1, 3)]
    assert found[0] == found[1]
    lengths = [int(line.split()[2]) for line in found[0].splitlines() if line[0] != 62]
    assert sum(lengths) == query.count("N") * 40_000
    assert len(lengths) == 2 * query.count("N") - 1


def test_an_index_without_a_whole_suffix_array(folder, index_of, command):
    (folder / "q.fa").write_text(">q\nACGT\n")
    line = complaint(command("mem", "-x", index_of(CONTIGS, sa_rate=4), "q.fa"))
    assert "no whole suffix array" in line
    assert "without --sa-rate" in line


def test_several_indexes_are_one(folder, command):
    one, two = numbered([random_letters(500, "x0")]), [("other", random_letters(400, "x1"))]
    for name, contigs in (("one", one), ("two", two), ("both", one + two)):
        cases.build(folder / f"{name}.fmx", contigs)
    (folder / "q.fa").write_bytes(cases.fasta([("q", one[0][1][50:120] + two[0][1][9:90])]))
    whole = command("mem", "-q", "-x", "both.fmx", "-l", "12", "-b", "q.fa")
    assert {b"other", one[0][0].encode()} <= set(whole.out.split())
    joined = command("mem", "-q", "-x", "one.fmx", "-x", "two.fmx", "-l", "12", "-b", "q.fa")
    assert (joined.code, joined.out) == (0, whole.out)
    report = command("mem", "-q", "-x", "one.fmx", "-x", "two.fmx", "q.fa", "--report", "r.json")
    assert report.code == 0
    assert [each["index"] for each in json.loads((folder / "r.json").read_text())["references"]] == [
        "one.fmx", "two.fmx",
    ]  # fmt: skip
    both = ("-x", "one.fmx", "-x", "two.fmx", "-l", "12", "-b", "q.fa")
    for shard in ("1/2", "2/2"):
        assert command("mem", "-q", *both, "--shard", shard, "-o", "shards").code == 0
    assert command("merge", "-q", "shards", "-o", "merged").code == 0
    assert (folder / "merged").read_bytes() == whole.out


def test_contigs_of_one_name_in_several_indexes_are_refused(folder, command):
    for name in ("one", "two"):
        cases.build(folder / f"{name}.fmx", [("chr", random_letters(300, name))])
    (folder / "q.fa").write_bytes(b">q\nACGT\n")
    message = complaint(command("mem", "-q", "-x", "one.fmx", "-x", "two.fmx", "q.fa"))
    assert message.endswith(
        "contig chr is in both one and two: rebuild one of them with 'fmx index --prefix-names'"
    )


def test_a_flood_of_matches_is_told_once(folder, command):
    letters = random_letters(30_000, "flood")
    cases.build(folder / "ref.fmx", [("ref", letters)])
    (folder / "q.fa").write_bytes(cases.fasta([("q", letters)]))
    result = command("mem", "-l", "3", "q.fa", "-o", "out.txt")
    (line,) = [line for line in result.err.splitlines() if "warning" in line]
    found = re.fullmatch(
        r"fmx: warning: (\d+) matches per base of the queries: expect about "
        r"([\d,.]+) (GB|MB) of output per million bases; for fewer matches, raise -l \(now 3\)",
        line,
    )
    lines = (folder / "out.txt").read_bytes().count(b"\n")
    assert abs(int(found[1]) / (lines / 30_000) - 1) < 0.1
    size = (folder / "out.txt").stat().st_size / 30_000 * 1e6
    assert abs(float(found[2].replace(",", "")) * {"GB": 1e9, "MB": 1e6}[found[3]] / size - 1) < 0.1
    assert "warning" not in command("mem", "-q", "-l", "3", "q.fa", "-o", "out.txt").err
    assert "warning" not in command("mem", "-l", "12", "q.fa", "-o", "out.txt").err
