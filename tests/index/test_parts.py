"""An index in parts gives the bytes of an index in one piece: every output, way to search and option."""

import json

import cases
import pytest
import workflow
from conftest import LAYOUTS
from cover import nightly
from output_of import records_in, without_program
from several import SEVERAL, far_apart, part_size_of
from texts import TEXTS, numbered, random_letters, reads_of

import fmx
from fmx.errors import IndexFileError, UnsupportedError
from fmx.index import disk, fm_index, plan
from fmx.output.search_output import SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mappers import make_mapper
from fmx.search.mapping import MapOptions, RunSizes

UNIT = random_letters(400, "unit")
REPEATS = numbered(
    [UNIT, UNIT[:150] + "N" + UNIT, "NNN", random_letters(300, 1), UNIT[200:], "ACGT" * 30, "A"]
)
COMMANDS = {
    "first": ["search"],
    "all": ["search", "-a"],
    "limited": ["search", "-k", "2", "-m", "5"],
    "drawn": ["search", "-k", "2", "--seed", "7"],
    "reverse": ["search", "-a", "--reverse-only", "--no-unmapped"],
    "tsv": ["locate"],
    "bed": ["locate", "--format", "bed"],
    "sam": ["locate", "--format", "sam"],
}


def build_both(folder, contigs, layout, sa_rate, part_size):
    """(index in one piece, index in parts) of contigs."""
    paths = folder / "one.fmx", folder / "parts.fmx"
    workflow.build_index(cases.fasta(contigs), paths[0], workflow.IndexOptions([layout], sa_rate))
    workflow.build_index(
        cases.fasta(contigs), paths[1], workflow.IndexOptions([layout], sa_rate, part_size=part_size)
    )
    return paths


def outputs(path, reads, command, folder, *options) -> dict:
    """What every command writes."""
    found = {}
    for name, (verb, *arguments) in COMMANDS.items():
        result = command(verb, "-q", "-x", path, "-t", 2, *arguments, *options, reads)
        assert (result.code, result.err) == (0, "")
        found[name] = without_program(result.out)
    arguments = ["-q", "-x", path, "-m", 40, "--counts", folder / "counts", "-o", folder / "x.bam", *options]
    assert command("search", *arguments, reads).code == 0
    found["counts"] = (folder / "counts").read_bytes()
    found["bam"] = records_in(folder / "x.bam")
    return found


@pytest.mark.parametrize("name", [*SEVERAL[::3], *(nightly(x) for x in SEVERAL if x not in SEVERAL[::3])])
def test_awkward_references_in_parts(name, folder, command):
    contigs = TEXTS[name]
    one, several = build_both(folder, contigs, LAYOUTS[0], 1, part_size_of(contigs))
    assert len(disk.part_sizes(disk.read_meta(several))) > 1
    (folder / "reads.fa").write_bytes(
        b"".join(b">r%d\n%s\n" % (i, read.encode()) for i, read in enumerate(reads_of(contigs)))
    )
    expected = outputs(one, "reads.fa", command, folder)
    assert outputs(several, "reads.fa", command, folder) == expected


@pytest.mark.parametrize(
    ("layout", "sa_rate"), [("verify", 1), (LAYOUTS[0], 7), *(nightly(name, 7) for name in LAYOUTS[1:])]
)
def test_every_way_to_search_parts(layout, sa_rate, folder, command):
    built, way = (LAYOUTS[0], []) if layout == "verify" else (layout, ["--layout", layout])
    one, several = build_both(folder, REPEATS, built, sa_rate, 600)
    assert len(disk.part_sizes(disk.read_meta(several))) == 4
    (folder / "reads.fq").write_bytes(cases.fastq(enumerate(reads_of(REPEATS))))
    expected = outputs(one, "reads.fq", command, folder, *way)
    assert outputs(several, "reads.fq", command, folder, *way) == expected
    opened = fm_index.load(several, *way[1:])
    for name, sizes in (
        ("a", RunSizes()),
        ("b", RunSizes(hits=3)),
    ):  # hits of a few reads are located at a time
        options = MapOptions(SelectionPolicy(ALL), n_threads=2, sizes=sizes)
        workflow.search(opened, ["reads.fq"], options, SearchOutput(name, "sam"))
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_the_library_opens_parts(folder):
    reads = [read for read in reads_of(REPEATS) if "-" not in read]
    opened = [fmx.open(path, threads=2) for path in build_both(folder, REPEATS, LAYOUTS[0], 1, 600)]
    for ask in (
        lambda library: library.search(reads),
        lambda library: library.search(reads, k=3, seed=1),
        lambda library: library.locate(reads, strands="reverse"),
        lambda library: library.count(reads),
        lambda library: library.lengths,
    ):
        assert ask(opened[1]).tolist() == ask(opened[0]).tolist()
    assert opened[1].contigs == opened[0].contigs


def test_positions_beyond_32_bits_are_kept(folder):
    """What is written stays the same."""
    _, path = build_both(folder, REPEATS, LAYOUTS[0], 1, 600)
    near = fm_index.load(path)
    far = far_apart(near)
    assert far.reference.blocks.text_start[-1] > 3 * 2**33
    (folder / "reads.fa").write_bytes(cases.fasta(numbered([UNIT[:40], REPEATS[5][1][:30], "A", "C"])))
    for kind in ("sam", "bed", "tsv"):
        for policy in (SelectionPolicy(), SelectionPolicy(ALL), SelectionPolicy(3, seed=1)):
            written = []
            for name, opened in (("near", near), ("far", far)):
                workflow.search(opened, ["reads.fa"], MapOptions(policy), SearchOutput(name, kind))
                written.append(without_program((folder / name).read_bytes()))
            assert written[0] == written[1]
    far_mapper = make_mapper(far, MapOptions(SelectionPolicy(ALL)))
    found = far_mapper.search(cases.chunk_of([REPEATS[5][1][:30]]))
    ((_, hits),) = far_mapper.hits_of(found)
    assert hits.position.min() > 3 * 2**33


def test_layouts_are_added_to_every_part(folder, command):
    one, several = build_both(folder, REPEATS, LAYOUTS[0], 1, 600)
    workflow.build_index(
        cases.fasta(REPEATS), "both.fmx", workflow.IndexOptions([LAYOUTS[0], "cofi"], part_size=600)
    )
    assert command("index", "--add", "--layout", "cofi", several).code == 0
    found, expected = (workflow.inspect(path, verify=True) for path in (several, "both.fmx"))
    assert found["arrays"] == expected["arrays"]
    assert found["layouts"] == expected["layouts"]
    result = command("locate", "-q", "-x", several, "--layout", "cofi", "-p", UNIT[:40])
    assert result.out == command("locate", "-q", "-x", one, "-p", UNIT[:40]).out
    assert len(result.out.splitlines()) == 1 + 3


def test_a_contig_that_is_larger_than_a_part_is_refused(folder):
    options = workflow.IndexOptions(part_size=551)
    with pytest.raises(
        UnsupportedError, match="contig c1 takes 552 symbols, but a contig may take at most 551"
    ):
        workflow.build_index(cases.fasta(REPEATS), "x.fmx", options)


def test_inspect_shows_the_parts_and_verify_finds_damage_in_any(folder, command):
    one, several = build_both(folder, REPEATS, LAYOUTS[0], 1, 600)
    assert "  parts  " not in command("inspect", one).out.decode()
    shown = command("inspect", "--verify", several)
    assert "parts          4 (401, 552, 502, 123 symbols)" in shown.out.decode()
    found = json.loads(command("inspect", "--json", several).out)
    assert found["n_text"] == json.loads(command("inspect", "--json", one).out)["n_text"]
    assert plan.ways_to_search(found)["verify"] == found["search"]["bytes"]["verify"]
    file = several / "part2" / "text_words.npy"
    data = bytearray(file.read_bytes())
    data[-9] ^= 1
    file.write_bytes(data)
    with pytest.raises(IndexFileError, match=r"part2/text_words\.npy: damaged"):
        fm_index.load(several)
    assert "part2/text_words.npy: damaged" in command("inspect", "--verify", several).err
