"""Libraries and sample sheets: the files that people have, and what is refused, in one line."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from fmx.count.library import read_library
from fmx.count.samples import read_sheet, samples_of
from fmx.errors import InputError

IUPAC = "ACGTRYSWKMBDHVN"
GUIDES = [("a", "ACGTA", "G1"), ("b", "CCCTA", "G1"), ("c", "GGGTA", "G2")]
FILES = {
    "MAGeCK's": "a\tACGTA\tG1\nb\tCCCTA\tG1\nc\tGGGTA\tG2\n",
    "with names": "sgRNA,Gene,Sequence\na,G1,ACGTA\nb,G1,CCCTA\nc,G2,GGGTA\n",
    "names of others": "gRNA.id\tgRNA Sequence\tGene Symbol\na\tacgta\tG1\nb\tCCCUA\tG1\nc\tGG GTA\tG2\n",
    "names nobody knows": "nr;oligo;locus\na;ACGTA;G1\nb;CCCTA;G1\nc;GGGTA;G2\n",
    "a mark, CR LF and quotes": '\ufeffid,seq,gene\r\n"a","ACGTA","G1"\r\n\r\nb,CCCTA,G1\r\nc,GGGTA,G2\r\n',
    "CR alone": "a,ACGTA,G1\rb,CCCTA,G1\rc,GGGTA,G2",
    "more columns": "exon,gene,id,seq\n1,G1,a,ACGTA\n,G1,b,CCCTA\n3,G2,c,GGGTA\n",
    "FASTA": ">a G1\nACG\nTA\n>b gene=G1\nCCCTA\n>c G2 more\nGGGTA\n",
}


@pytest.mark.parametrize("name", FILES)
def test_libraries_are_read_as_people_have_them(name, tmp_path):
    path = tmp_path / "library"
    path.write_bytes(FILES[name].encode())
    library = read_library(path)
    assert list(zip(library.ids, library.sequences, library.genes, strict=True)) == [
        (name, sequence, gene) for name, sequence, gene in GUIDES
    ]


def test_without_genes_a_guide_is_its_own(tmp_path):
    (tmp_path / "library").write_text("a,ACGTA\nb,CCCTA\n")  # as 2FAST2Q's
    assert read_library(tmp_path / "library").genes == ["a", "b"]


def test_of_guides_of_one_sequence_the_first_stays(tmp_path):
    (tmp_path / "library").write_text("a,ACGTA\nb,CCCTA\nc,acgta\n")
    library, left = read_library(tmp_path / "library").unique()
    assert (library.ids, left) == (["a", "b"], [("c", "a")])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it holds no guide: give a table of id, sequence and gene, or FASTA"),
        (b"id,sequence,gene\n", "it holds no guide: give a table of id, sequence and gene, or FASTA"),
        (b"a,ACGTA\nb,CCCTA\na,GGGTA\n", "line 3: the id 'a' is that of line 1 too: ids differ"),
        (b"a,ACGTA\nb,CCXTA\n", "line 2: the sequence of b holds 'X', no letter of DNA"),
        (b"a,ACGTA,G\x071\n", "line 1: the gene G\\x071 holds what cannot be printed"),
        (b"a,ACGTA\n,CCTTA\n", "line 2: a guide without an id"),
        (b"a,ACGTA\nb,CC\n", "line 2: the sequence of b has 2 letters; a guide has 4 to 32"),
        (b"a,ACGTA\nb," + 33 * b"A", "line 2: the sequence of b has 33 letters; a guide has 4 to 32"),
        (b"a,NNNNNNN\n", "line 1: the sequence of a stands for more than 4,096 others"),
        (b"ACGTA\nCCCTA\n", "line 1: it has one column: id, sequence and gene stand apart by tab or comma"),
        (b"a,ACGTA,x\nb\tCCCTA\tx\n", "line 2: it has 1 column and line 1 has 3: is ',' between all?"),
        (b"a,ACGTA\nb,CCCTA,G\n", "line 2: it has 3 columns and line 1 has 2: is ',' between all?"),
        (b"gene,sequence\nG,ACGTA\n", "line 1: no column is named id: name them id, sequence and gene"),
        (b'a,"ACGTA\n', "line 1: no line of a table: unexpected end of data"),
        (b"PK\x03\x04...", "this is an Excel workbook or another zip file: save the table as CSV"),
        ("a,ACGTA\n".encode("utf-16"), "this is text in UTF-16: save it as UTF-8"),
        (b"a,ACGTA\n\xe9,CCCTA\n", "line 2: this is no text in UTF-8: save it as such"),
        (b">a\nACGTA\n>\nCCCTA\n", "record 2: a guide without an id"),
        (b">a\nACGTA\n>b\nAC-TA\n", "record 2: the sequence of b holds '-', no letter of DNA"),
    ],
)
def test_what_no_library_may_hold_is_told(data, said, tmp_path):
    (tmp_path / "library").write_bytes(data)
    with pytest.raises(InputError) as error:
        read_library(tmp_path / "library")
    assert str(error.value) == f"{tmp_path / 'library'}: {said}"


def test_samples_are_files_with_commas_between_their_own(folder):
    (folder / "odd,name.fq").touch()
    found = samples_of(["x/a_L1.fastq.gz,a_L2.fq", "odd,name.fq", "-"])
    assert [(sample.name, sample.paths) for sample in found] == [
        ("a_L1", ("x/a_L1.fastq.gz", "a_L2.fq")), ("odd,name", ("odd,name.fq",)), ("-", ("-",)),
    ]  # fmt: skip
    assert [sample.name for sample in samples_of(["a.fq", "b.fq"], ["day0", "day14"])] == ["day0", "day14"]
    with pytest.raises(ValueError, match="1 name for 2 samples"):
        samples_of(["a.fq", "b.fq"], ["day0"])
    with pytest.raises(ValueError, match="cannot head a column"):
        samples_of(["a.fq"], ["x\ty"])
    with pytest.raises(ValueError, match="two samples are called a"):
        samples_of(["x/a.fq", "y/a.fq.gz"])


def test_a_sheet_has_a_line_for_each_file(tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("sample,fastq_1,condition\nday0,a_L1.fq,x\nday14,b.fq,y\nday0,a_L2.fq,x\n")
    found = [(sample.name, sample.paths) for sample in read_sheet(sheet)]
    assert found == [("day0", ("a_L1.fq", "a_L2.fq")), ("day14", ("b.fq",))]
    for text, said in (
        ("a.fq,b.fq\n", "line 1: a sample sheet begins with names of columns: sample and reads"),
        ("sample,reads\n", "this sample sheet holds no sample"),
        ("sample,reads\nx,\n", "line 2: a sample without a name, or without a file of reads"),
    ):
        sheet.write_text(text)
        with pytest.raises(InputError) as error:
            read_sheet(sheet)
        assert str(error.value) == f"{sheet}: {said}"


@settings(max_examples=150)
@given(
    st.sampled_from(sorted(FILES)),
    st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=4)), max_size=4),
)
def test_a_damaged_library_is_read_or_refused(name, changes):
    data = FILES[name].encode()
    for at, piece in changes:
        data = data[:at] + piece + data[at + len(piece) // 2 :]
    try:
        library = read_library(data)
    except InputError as error:
        said = str(error)
    else:
        said = ""
        assert len(set(library.ids)) == len(library.ids) == len(library.sequences) == len(library.genes) > 0
        assert all(4 <= len(sequence) <= 32 and not sequence.strip(IUPAC) for sequence in library.sequences)
    assert "\n" not in said
