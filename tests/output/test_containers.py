"""Sorted BAM and CRAM with their indexes, CRAM, and Parquet: the records of SAM and TSV in other files."""

import os
import resource
import sys
from types import SimpleNamespace

import cases
import naive
import pysam
import pytest
from output_of import records_in
from texts import numbered, random_letters

from fmx.errors import OutputError
from fmx.output.formats import bam
from fmx.output.search_output import SearchOutput

UNIT = random_letters(400, "containers")
GENOME = numbered([UNIT, random_letters(300, "other") + UNIT[100:160]])
READS = [(f"r{i}", UNIT[(i * 37) % 360 :][:30]) for i in range(50)]
READS += [(f"n{i}", random_letters(33, f"n{i}")) for i in range(5)]
READS += [(f"m{i}", naive.reverse_complement(letters)) for i, (_, letters) in enumerate(READS[:9])]
READS += [(f"p{i}", letters) for i, (_, letters) in enumerate(READS[:9])]


@pytest.fixture
def search(folder, index_of, command):
    """A function: search with these arguments, in a folder that holds r.fq -> Result."""
    (folder / "r.fq").write_bytes(cases.fastq(READS))

    def search(*arguments, reads="r.fq"):
        return command("search", "-q", "-x", index_of(GENOME), "-a", reads, *arguments)

    return search


def place(columns):
    """What a sorted file is sorted by: contigs are named in their order, * comes last, - after +."""
    return columns[2] == "*", columns[2], int(columns[3]), int(columns[1]) & 16


def names(folder) -> list:
    return sorted(path.name for path in folder.iterdir() if path.name != "r.fq")


@pytest.mark.parametrize(("name", "index"), [("s.bam", "bai"), ("s.cram", "crai")])
def test_sorted_with_its_index(name, index, search, folder):
    (folder / f"{name}.csi").write_bytes(b"of a file that stood there")
    expected = sorted(search("-o", "-").records, key=place)
    for threads in (1, 3):
        result = search("-o", name, "--sort", "-t", threads)
        assert (result.code, result.err) == (0, "")
        found = records_in(name)
        assert found == expected  # of one place in the order of SAM
        assert names(folder) == [name, f"{name}.{index}"]
    with pysam.AlignmentFile(name) as file:
        assert file.header["HD"]["SO"] == "coordinate"
        assert [line["ID"] for line in file.header["PG"]] == ["fmx"]
    there = [record for record in expected if record[2] == GENOME[1][0]]
    assert len(there) > 3
    assert records_in(name, GENOME[1][0]) == there
    assert search("-o", name).code == 0  # without an index of the file that was there
    assert names(folder) == [name]


def test_a_sorted_file_goes_to_a_pipe(search, folder):
    result = search("-o", "-", "--sort", "--format", "bam")
    (folder / "piped").write_bytes(result.out)
    assert (result.code, result.err, len(records_in("piped"))) == (0, "", len(search("-o", "-").records))


def test_long_contigs_get_the_index_that_holds_them(search, folder):
    output = SearchOutput("s.bam", "bam", sort=True)
    given = [SimpleNamespace(lengths=[9, length]) for length in (2**29, 2**29 + 1)]
    kinds = [bam.container(reference, output) for reference in given]
    assert [kind.index for kind in kinds] == [".bai", ".csi"]
    with cases.opened_output("s.bam", kinds[1]) as file:
        file.write(search("-o", "-", "--format", "bam").out)
    assert names(folder) == ["s.bam", "s.bam.csi"]
    assert len(records_in("s.bam", GENOME[0][0])) > 40


def test_a_run_that_fails_leaves_what_was_there(search, folder):
    (folder / "bad.fq").write_bytes(cases.fastq(READS) + b"@bad\nA!\n+\nII\n")
    (folder / "s.bam").write_bytes(b"old")
    (folder / "s.bam.bai").write_bytes(b"its index")
    result = search("-o", "s.bam", "--sort", reads="bad.fq")
    assert (result.code, f"bad.fq: record {len(READS) + 1}: " in result.err) == (1, True)
    assert (folder / "s.bam").read_bytes() == b"old"
    assert names(folder) == ["bad.fq", "s.bam", "s.bam.bai"]


@pytest.mark.parametrize(("kind", "index"), [("bam", ".bai"), ("cram", None), ("cram", ".crai")])
def test_the_reason_why_a_file_cannot_be_written_is_told(kind, index, search, folder):
    data, made = search("-o", "-", "--format", "bam").out, bam.Samtools(kind, index, None)
    with pytest.raises(OutputError, match=r"^/dev/full: cannot write: No space left on device$"):
        write(made, "/dev/full", data)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (99, hard))
    try:
        with pytest.raises(OutputError, match=r"^new: cannot write: File too large$"):
            write(made, "new", data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(folder) == []
    from_it, to_it = os.pipe()
    os.close(from_it)
    with pytest.raises(BrokenPipeError):
        write(made, f"/dev/fd/{to_it}", data)
    os.close(to_it)


def write(container, path, data):
    with cases.opened_output(path, container) as file:
        file.write(data)


@pytest.mark.parametrize("options", [[], ["--sort"]])
def test_the_wrong_reference_is_named(options, search, folder):
    name, letters = GENOME[0]
    (folder / "w.fa").write_text(f">{name}\n{letters[::-1]}\n")
    told = search("-o", "w.cram", "--reference", "w.fa", *options).err
    assert told == (
        f"fmx: error: samtools could not write: contig {name} of --reference differs from that of the index; "
        "use the indexed FASTA\n"
    )
    assert sorted(names(folder)) == ["w.fa", "w.fa.fai"]


@pytest.mark.parametrize(
    ("package", "to_install"), [("pysam", "pysam"), ("pyarrow", "'.[parquet]' in a clone of fmx")]
)
def test_a_package_that_is_missing_is_named(package, to_install, search, folder, monkeypatch):
    for module in [
        module for module in sys.modules if module.startswith((package, "fmx.output.formats.parquet"))
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    result = search("-o", "x.cram" if package == "pysam" else "x.parquet")
    assert (result.code, names(folder)) == (1, [])
    assert f"{package} cannot be used" in result.err
    assert f"pip install {to_install}" in result.err


@pytest.mark.usefixtures("search")  # which writes r.fq
@pytest.mark.parametrize("reads", ["r.fq", "r.fq --mismatches 2", "-1 r.fq -2 mates.fq"])
def test_parquet_holds_the_table_of_tsv(reads, folder, index_of, command, chunks_of, monkeypatch):
    """Whatever chunks are; row groups end within them, and their contigs have other numbers."""
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("fmx.output.formats.parquet.ROWS", 7)
    (folder / "mates.fq").write_bytes((folder / "r.fq").read_bytes())
    run = ["search", "-q", "-x", index_of(GENOME), "-a", *reads.split()]
    assert command(*run, "-o", "t.tsv").code == 0
    header, *rows = [line.split("\t") for line in (folder / "t.tsv").read_text().splitlines()]
    assert len(rows) > 50
    found = set()
    for threads, size in ((1, 100_000), (3, 200), (1, 1000)):
        chunks_of(size)
        assert command(*run, "-o", "t.parquet", "-t", threads).code == 0
        found.add((folder / "t.parquet").read_bytes())
    assert len(found) == 1
    table, schema = parquet.read_table("t.parquet"), parquet.read_schema("t.parquet")
    assert table.column_names == header
    assert [[str(value) for value in row.values()] for row in table.to_pylist()] == rows
    assert parquet.read_metadata("t.parquet").row_group(0).num_rows == 7
    kinds = {name: str(schema.field(name).type) for name in header}
    texts = ["pattern", "contig", "strand"]
    assert kinds == {name: "string" if name in texts else "int64" for name in header}
