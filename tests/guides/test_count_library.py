"""Libraries and sample sheets: the files that people have, and what is refused, in one line."""

from itertools import product

import hypothesis.strategies as st
import pytest
from cover import examples
from hypothesis import given

from fmx.errors import InputError
from fmx.guides.library import read_library
from fmx.guides.samples import read_sheet, samples_of

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


HEADERS = {  # of libraries that people download; what each column holds (see CELLS)
    "Brie": ("Target Gene ID\tTarget Gene Symbol\tTarget Transcript\tGenomic Sequence\tPosition of Base "
             "After Cut (1-based)\tStrand\tsgRNA Target Sequence\tTarget Context Sequence\tPAM Sequence\t"
             "Exon Number\tRule Set 2 score", "-g----sxp--"),
    "GeCKO v2": ("gene_id,UID,seq", "gis"),
    "Calabrese": ("sgRNA Sequence,Annotated Gene Symbol,Annotated Gene ID", "sg-"),
    "a CHIP file of the Broad": ("Barcode Sequence\tGene Symbol\tGene ID", "sg-"),
    "Yusa": ("gRNA ID,Gene,gRNA sequence", "igs"),
    "Sanger, as CRISPRcleanR's": (
        '"","CODE","GENES","EXONE","CHRM","STRAND","STARTpos","ENDpos","seq"', "-ig-----s"),
    "Sanger's MinLibCas9": (
        "sgRNA_ID\tLibrary\tApproved_Symbol\tHGNC_ID\tWGE_ID\tWGE_Sequence", "i-g--s"),
    "Sanger's pyCROQUET": ("#id\tsgrna_ids\tsgrna_seqs\tgene_pair_id", "i-sg"),
    "10x's feature reference": (
        "id,name,read,pattern,sequence,feature_type,target_gene_id,target_gene_name", "i--bs--g"),
    "a name of letters of IUPAC": ("id,gRNA,gene", "isg"),
    "MAGeCK's": ("s_10008\tTTCTCCCTAATTGCTTGCTG\tCCNA1", "isg"),
    "2FAST2Q's": ("sgRNA0001,TTTTTTTTACGTACGTACGT", "is"),
    "a list of sequences": ("CATCTTCTTTCACCTGAACG", "s"),
    "ids that are names of columns elsewhere": ("guide1,CATCTTCTTTCACCTGAACG,A1BG", "isg"),
}  # fmt: skip
CELLS = {
    "i": "YUSA_0001", "s": "ACATTGTTGCCCAACACCAG", "g": "Pzp", "x": "CCTCACATTGTTGCCCAACACCAGAGGTGA",
    "p": "AGG", "b": "(BC)GTTTAAGAGC", "-": "9",
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_known_libraries_are_understood(name, tmp_path):
    header, columns = HEADERS[name]
    row = ("\t" if "\t" in header else ",").join(CELLS[column] for column in columns)
    (tmp_path / "library").write_text(f"{header}\n{row}\n")
    library, has_ids, has_genes = read_library(tmp_path / "library"), "i" in columns, "g" in columns
    guide_id = CELLS["i"] if has_ids else CELLS["s"]
    expected = guide_id, CELLS["s"], CELLS["g"] if has_genes else guide_id
    assert (library.ids[-1], library.sequences[-1], library.genes[-1]) == expected
    assert len(library) == 1 + (list(HEADERS).index(name) > 9)  # those without a header


def test_a_pam_in_all_guides_is_told(tmp_path):
    path, told = tmp_path / "library", []
    path.write_text("id,seq,gene\na,CATCTTCTTTCACCTGAACGCGG,A1BG\n")
    read_library(path, say=told.append)
    assert told == [f"{path}: all guides have 23 bases and end with GG: remove the PAM, if it is one"]


SEQUENCES = {
    "20 bases": ["CATCTTCTTTCACCTGAACG", "GGACAACTAGAGCCAAGACG", "ACATTGTTGCCCAACACCAG"],
    "six bases": ["GATTAC", "CCATGA", "uttgac"],
    "several lengths": ["GATTACA", "CCATGACCA", "TTGACCATTA"],
    "IUPAC codes": ["CATCTTCTTTCACCTNRACG", "GGACAACTAGAGCCAAGACG", "ACATTGTTGCCCAACACYAG"],
}
NAMES = {
    "plain": ["g1", "g2", "g3"],
    "words of IUPAC codes": ["BRCA", "CASK", "RANK"],
    "words of bases, some": ["GATA", "CD3", "CD4"],
    "numbers": ["1", "2", "3"],
    "a column's name": ["guide", "gene", "name"],
}
HEADINGS = {  # of sequences, ids and genes; None: no header line
    "none": None,
    "known": ("sequence", "id", "gene"),
    "unknown": ("oligo", "what", "locus"),
    "IUPAC codes": ("data", "gRNA", "gene"),
    "of CITE-seq-Count": ("sequence", "feature_name", "gene"),
}


@pytest.mark.parametrize("headings", HEADINGS)
@pytest.mark.parametrize("order", ["si", "is", "sig", "isg", "gis", "igs", "sgi"])
def test_columns_are_recognized_by_content(order, headings, tmp_path):
    heading = HEADINGS[headings] and dict(zip("sig", HEADINGS[headings], strict=True))
    for sequences, ids in product(SEQUENCES.values(), NAMES.values()):
        columns = {"s": sequences, "i": ids, "g": ["TP53", "TP53", "KRAS"]}
        lines = [[heading[key] for key in order]] if heading else []
        lines += [[columns[key][i] for key in order] for i in range(3)]
        (tmp_path / "library").write_text("".join(",".join(line) + "\n" for line in lines))
        library = read_library(tmp_path / "library")
        expected = [x.upper().replace("U", "T") for x in sequences]
        assert (library.ids, library.sequences) == (ids, expected), lines
        assert library.genes == columns["g" if "g" in order else "i"], lines


@pytest.mark.parametrize(
    ("text", "columns", "wanted"),
    [
        ("locus,oligo,nr\nG,ACGTA,x\n", "id=nr,sequence=Oligo,gene=locus", ("x", "ACGTA", "G")),
        ("G,x,ACGTA\n", "id=2,sequence=3,gene=1", ("x", "ACGTA", "G")),
        ("id,seq,gene,symbol\nx,ACGTA,1,G\n", "gene=symbol", ("x", "ACGTA", "G")),
        ("id,seq,gene,cut\nx,CCCCC,G,ACGTA\n", "sequence=cut", ("x", "ACGTA", "G")),
        ("x,ACGTA,G\n", "sequence=2", ("ACGTA", "ACGTA", "ACGTA")),
        ("which,ever\nACGTA,x\n", "sequence=1,id=2", ("x", "ACGTA", "x")),
    ],
)
def test_columns_may_be_said(text, columns, wanted, tmp_path):
    (tmp_path / "library").write_text(text)
    asked = tuple(tuple(pair.split("=")) for pair in columns.split(","))
    library = read_library(tmp_path / "library", asked)
    assert [(library.ids, library.sequences, library.genes)] == [tuple([x] for x in wanted)]


def test_a_sequence_that_is_said_is_that_of_single_guides(tmp_path):
    (tmp_path / "library").write_text("id,sequence1,sequence2\na,ACGTA,CCCCA\n")
    for asked, seconds in (((("sequence", "sequence2"),), []), ((("id", "id"),), ["CCCCA"])):
        library = read_library(tmp_path / "library", asked)
        assert (library.ids, library.seconds) == (["a"], seconds)
    assert library.sequences == ["ACGTA"]


@pytest.mark.parametrize(
    "text", ["AAACCCAAGAAACACT-1\nAAACCCAAGAAACCAT-1\n", "AAACCCAAGAAACACT-1,a\nAAACCCAAGAAACCAT-12,b\n",
             ">a\nAAACCCAAGAAACACT-1\n>b\nAAACCCAAGAAACCAT-1\n", "id,seq\na,aaac-1\nb,ccca-1\n"],
)  # fmt: skip
def test_barcodes_of_10x_are_understood(text, tmp_path):
    (tmp_path / "library").write_text(text)
    library = read_library(tmp_path / "library")
    assert library.ids == (["a", "b"] if "a" in text else text.split())
    short = ["AAAC", "CCCA"]
    assert library.sequences == (short if "aaac" in text else ["AAACCCAAGAAACACT", "AAACCCAAGAAACCAT"])


UNCLEAR = (
    "line 1: cannot tell which of the columns {} has the sequences of guides: name it, as in --columns "
    "id=2,sequence=1, by name or number"
)
EMPTY = "no guides: give a table of id, sequence and gene, or FASTA"
UNEQUAL = "give every line the same number of columns, separated by ','"


@pytest.mark.parametrize(
    ("data", "asked", "said"),
    [
        (b"id,gene,oligo\na,G,ACXTA\n", (), UNCLEAR.format("'id', 'gene', 'oligo'")),
        (b"ACGTACGA,GATTACAC\nCCGTACGA,CATTACAC\n", (), UNCLEAR.format("'ACGTACGA', 'GATTACAC'")),
        (b"id,left,right\na,ACGTACGA,GATTACAC\n", (), UNCLEAR.format("'id', 'left', 'right'")),
        (b"id,seq\na,ACGTA\n", (("gene", "locus"),),
         "line 1: no column is called 'locus' (--columns gene=...); the columns are 'id', 'seq'"),
        (b"id,seq\na,ACGTA\n", (("gene", "3"),),
         "line 1: there is no column 3 (--columns gene=...), only 2 columns"),
        (b">a\nACGTA\n", (("id", "1"),), "FASTA has no columns: leave out --columns"),
        (b"", (), EMPTY),
        (b"id,sequence,gene\n", (), EMPTY),
        (b"a,ACGTA\nb,CCCTA\na,GGGTA\n", (),
         "line 3: the id 'a' is also that of line 1: make ids unique"),
        (b"a,ACGTA\nb,CCXTA\n", (), "line 2: the sequence of b contains 'X', which is not a base"),
        (b"a\x07,ACGTA,G\n", (), "line 1: the id a\\x07 contains unprintable characters"),
        (b"@r\nACGTA\n+\nIIIII\n", (),
         "this is FASTQ, not a library of guides: give -l a table or FASTA"),
        (b"a,ACGTA,G\x071\n", (), "line 1: the gene G\\x071 contains unprintable characters"),
        (b"a,ACGTA\n,CCTTA\n", (), "line 2: guide without an id"),
        (b"a,ACGTA\nb,CC\n", (), "line 2: the sequence of b has 2 bases; a guide has 4 to 32"),
        (b"a,ACGTA\nb," + 33 * b"A", (), "line 2: the sequence of b has 33 bases; a guide has 4 to 32: give "
         "longer ones as FASTA to fmx index, and count with fmx search --length N --counts FILE"),
        (b"a,NNNNNNN\n", (),
         "line 1: the sequence of a matches more than 4,096 sequences: use fewer IUPAC codes"),
        (b"a ACGTA G\n", (), "line 1: only one column: separate id, sequence and gene by tabs or commas"),
        (b"a,ACGTA,x\nb\tCCCTA\tx\n", (), f"line 2: it has 1 column, but line 1 has 3: {UNEQUAL}"),
        (b"a,ACGTA\nb,CCCTA,G\n", (), f"line 2: it has 3 columns, but line 1 has 2: {UNEQUAL}"),
        (b'a,"ACGTA\n', (), "line 1: not a line of a table: unexpected end of data"),
        (b"PK\x03\x04...", (), "this is an Excel workbook or another zip file: save the table as CSV"),
        ("a,ACGTA\n".encode("utf-16"), (), "this is text in UTF-16: save it as UTF-8"),
        (b"a,ACGTA\n\xe9,CCCTA\n", (), "line 2: not UTF-8 text: save the file as UTF-8"),
        (b">a\nACGTA\n>\nCCCTA\n", (), "record 2: guide without an id"),
        (b">a\nACGTA\n>b\nAC-TA\n", (), "record 2: the sequence of b contains '-', which is not a base"),
    ],
)  # fmt: skip
def test_what_is_no_library_is_refused(data, asked, said, tmp_path):
    (tmp_path / "library").write_bytes(data)
    with pytest.raises(InputError) as error:
        read_library(tmp_path / "library", asked)
    assert str(error.value) == f"{tmp_path / 'library'}: {said}"


def test_samples_are_files_with_commas_between_their_own(folder):
    (folder / "odd,name.fq").touch()
    found = samples_of(["x/a_L1.fastq.gz,a_L2.fq", "odd,name.fq", "-"])
    assert [(sample.name, sample.paths) for sample in found] == [
        ("a_L1", ("x/a_L1.fastq.gz", "a_L2.fq")), ("odd,name", ("odd,name.fq",)), ("stdin", ("-",)),
    ]  # fmt: skip
    assert [sample.name for sample in samples_of(["a.fq", "b.fq"], ["day0", "day14"])] == ["day0", "day14"]
    with pytest.raises(ValueError, match="1 name, but 2 samples are given"):
        samples_of(["a.fq", "b.fq"], ["day0"])
    with pytest.raises(ValueError, match="cannot be the name of a column"):
        samples_of(["a.fq"], ["x\ty"])
    with pytest.raises(ValueError, match="two samples are named a"):
        samples_of(["x/a.fq", "y/a.fq.gz"])


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["x/day0_R1.fq.gz"], ["day0"]),
        (
            ["day0_S1_L001_R1_001.fastq.gz", "day14_S2_L001_R1_001.fastq.gz"],
            ["day0_S1_L001", "day14_S2_L001"],
        ),
        (["SRR1_1.fastq", "SRR2_1.fastq"], ["SRR1", "SRR2"]),
        (["day0_R2.fq", "day14_R2.fq"], ["day0", "day14"]),
        (["rep_1.fq", "rep_2.fq"], ["rep_1", "rep_2"]),  # of which the numbers are all that differs
        (["day0_R1.fq", "day0_R2.fq"], ["day0_R1", "day0_R2"]),
        (["a_R1.fq", "b.fq"], ["a_R1", "b"]),
        (["x/a_R1.fq", "y/a_R1.fq", "b_R1.fq"], None),
        (["/dev/stdin"], ["stdin"]),
        (["_1.fq"], ["_1"]),
    ],
)
def test_samples_are_called_without_the_number_of_mates(files, names):
    if names is None:
        with pytest.raises(ValueError, match="two samples are named a_R1: give all names"):
            samples_of(files)
        return
    assert [sample.name for sample in samples_of(files)] == names


def test_a_sheet_has_a_line_for_each_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sheet = tmp_path / "sheet.csv"
    for name in ("a_L1.fq", "a_L2.fq", "b.fq"):
        (tmp_path / name).touch()
    sheet.write_text("sample,fastq_1,condition\nday0,a_L1.fq,x\nday14,b.fq,y\nday0,a_L2.fq,x\n")
    found = [(sample.name, sample.paths) for sample in read_sheet(sheet)]
    assert found == [("day0", ("a_L1.fq", "a_L2.fq")), ("day14", ("b.fq",))]
    for text, said in (
        ("a.fq,b.fq\n", "line 1: a sample sheet needs a header with columns sample and reads"),
        ("sample,reads\n", "the sample sheet has no samples"),
        ("sample,reads\nx,\n", "line 2: sample without a name or a file of reads"),
        ("sample,reads\nx,b.fq\ny,c.fq\n", "line 3: c.fq: No such file or directory"),
        ("sample,reads,reads2\nx,b.fq,c.fq\n", "line 2: c.fq: No such file or directory"),
    ):
        sheet.write_text(text)
        with pytest.raises(InputError) as error:
            read_sheet(sheet)
        assert str(error.value) == f"{sheet}: {said}"


@examples(150)
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
