"""Properties of texts and reads that hypothesis draws: separators everywhere, reads from the text and not."""

import cases
import hypothesis.strategies as st
import naive
import pytest
import workflow
from cover import examples
from hypothesis import example, given
from texts import numbered

from fmx.index import fm_index
from fmx.input.chunks import literal_fasta
from fmx.output.search_output import SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions

LETTERS = st.sampled_from(["ACGT", "ACGTN", "AC", "A", "ACGTacgtuN", "ANNNN", "ACGTRYSWKMBDHVN."])


@st.composite
def genomes(draw):
    """1 to 12 contigs, mostly tiny, sometimes repeats of each other; each holds a letter, one of all an A."""
    alphabet = draw(LETTERS)
    contigs = draw(st.lists(st.text(alphabet, min_size=1, max_size=40), min_size=1, max_size=12))
    repeated = draw(st.lists(st.sampled_from(contigs), max_size=4))
    return numbered(
        [*contigs, *repeated, "".join(repeated) + draw(st.text(alphabet, max_size=120)), "GA"][:16]
    )


@st.composite
def questions(draw):
    """(contigs, reads)."""
    contigs = [(name, sequence) for name, sequence in draw(genomes()) if sequence]
    joined = "".join(sequence for _, sequence in contigs)
    reads = []
    for _ in range(draw(st.integers(1, 12))):
        start = draw(st.integers(0, len(joined) - 1))
        read = joined[start : start + draw(st.integers(1, 45))].replace(".", "N")
        kind = draw(st.sampled_from(["as it is", "reversed", "changed", "free"]))
        if kind == "reversed":
            read = naive.reverse_complement(read)
        elif kind == "changed":
            place = draw(st.integers(0, len(read) - 1))
            read = read[:place] + draw(st.sampled_from("ACGTN")) + read[place + 1 :]
        elif kind == "free":
            read = draw(st.text("ACGT", min_size=1, max_size=20))
        reads.append(read)
    return contigs, reads


@pytest.fixture(scope="module")
def folder_of_this(tmp_path_factory):
    return tmp_path_factory.mktemp("properties")


def built(folder, contigs, sa_rate=1):
    return cases.build(folder / "ref.fmx", contigs, ["bvsfm-k2-d96"], sa_rate)


@given(questions(), st.sampled_from(["verify", "bvsfm-k2-d96"]), st.sampled_from([1, 2, 3, 9]))
@examples(120)
def test_a_search_finds_what_a_scan_finds(folder_of_this, question, way, sa_rate):
    contigs, reads = question
    opened = cases.load(built(folder_of_this, contigs, sa_rate=1 if way == "verify" else sa_rate), way)
    assert cases.ask(opened, reads) == cases.expect(contigs, reads)


@given(questions(), st.integers(1, 40), st.integers(1, 4))
@examples(60)
@example((numbered(["ACGT"]), ["ACGT"] * 3), 1, 1)
def test_chunks_and_threads_never_change_the_bytes(folder_of_this, question, chunk_size, n_threads):
    contigs, reads = question
    opened = fm_index.load(built(folder_of_this, contigs))
    output = SearchOutput(folder_of_this / "out.sam", "sam")
    texts = []
    for size, threads in ((1 << 20, 1), (chunk_size, n_threads)):
        options = MapOptions(SelectionPolicy(ALL), n_threads=threads, chunk_size=size)
        workflow.search(opened, [literal_fasta(reads), cases.fastq(enumerate(reads))], options, output)
        texts.append((folder_of_this / "out.sam").read_bytes())
    assert texts[0] == texts[1]
