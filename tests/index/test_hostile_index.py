"""An index whose checksums are right and whose contents are not: refused in one line, never a crash."""

import json
import os
import shutil

import cases
import numpy as np
import pytest
import workflow
from fuzz.runner import Runner
from hostile import edit, put, say
from texts import numbered, random_letters

from fmx.index import disk

CONTIGS = numbered([random_letters(700, "g1"), random_letters(300, "g2") + "NNN" + random_letters(50, "g3")])
READS = cases.fastq([(f"r{i}", CONTIGS[0][1][7 * i : 7 * i + 40]) for i in range(50)])
LAYOUTS = ["bvsfm-k2-d96", "cofi-k4", "kstep-k3-d63", "alternate-k1-d64"]
N = 700 + 300 + 50 + 3  # symbols
HUGE = 2**40


def entry(name, **values):
    return lambda meta: meta["arrays"][name].update(values)


def moved(name, to):
    return lambda meta: meta["arrays"].update({to: meta["arrays"].pop(name)})


def transposed(array):
    return np.asfortranarray(array)


def swapped(array):
    array = array.copy()
    array[:2] = array[1::-1]
    return array


def names(text):
    return lambda array: np.frombuffer(text, np.uint8)


ALL = slice(None)
WHOLE = {  # of an index with the whole suffix array, LCP arrays and layouts
    "position at the end": {"sa_positions": put(5, N)},
    "positions of 64 bits": {"sa_positions": lambda a: a.astype(np.uint64)},
    "digests by columns": {"contig_md5": transposed},
    "seeds beyond": {"seed_starts": put(-1, 2**32 - 1)},
    "seeds out of order": {"seed_starts": put(3, N)},
    "large LCP values without rows": {"lcp__values": lambda a: np.zeros(a.size + 1, np.uint32)},
    "LCP of the first row": {"lcp__small": put(0, 30)},
    "large LCP values that are not there": {"lcp__small": put(slice(1, None), 255)},
    "missing: no shift": {"kstep-k3-d63__missing": put(0, 2**32 - 1)},
    "block beyond the text": {"block_length": put(1, HUGE)},
    "blocks over each other": {"block_text_start": put(1, 5)},
    "blocks out of order": {"block_text_start": swapped},
    "block beyond its contig": {"block_contig_start": put(2, 320)},
    "block of no contig": {"block_contig": put(2, 2)},
    "blocks of a contig over each other": {"block_contig_start": put(2, 299)},
    "contig of length 0": {"contig_lengths": put(0, 0)},
    "three names": {"contig_names": names(b"x\ny\nz")},
    "the same name twice": {"contig_names": names(b"x\nx")},
    "name with an escape": {"contig_names": names(b"x\x1b\nz")},
    "n_text larger": {"change": say(n_text=N + 1)},
    "n_text beyond 64 bits": {"change": say(n_text=2**70)},
    "seed_length 0": {"change": say(seed_length=0)},
    "sa_rate 0": {"change": say(sa_rate=0)},
    "layouts empty": {"change": say(layouts=[])},
    "a layout that leads out": {"change": say(layouts=["../bvsfm-k2-d96"])},
    "a layout without arrays": {"change": say(layouts=[*LAYOUTS, "bvsfm-k1-d96"])},
    "a layout twice": {"change": say(layouts=[*LAYOUTS, LAYOUTS[0]])},
    "parts that do not add up": {"change": say(parts=[5, 6])},
    "arrays a list": {"change": say(arrays=[])},
    "an array not listed": {"change": lambda meta: meta["arrays"].pop("sa_positions")},
    "an array too many": {"change": lambda meta: meta["arrays"].update(x=meta["arrays"]["contig_names"])},
    "an entry null": {"change": lambda meta: meta["arrays"].update(sa_positions=None)},
    "an LCP entry odd": {"change": lambda meta: meta["arrays"].update({"lcp.rows": {"shape": {"a": 1}}})},
    "shape huge": {"change": entry("contig_names", shape=[2**61], bytes=2**61)},
    "bytes wrong": {"change": entry("sa_positions", bytes=-1)},
    "checksums of numbers": {"change": entry("sa_positions", checksums=[5])},
    "version with an escape": {"change": say(fmx_version="\x1b[2J")},
    "a list": {"change": lambda meta: [meta]},
}
SAMPLED = {
    "kept positions beyond": {"sa_positions": put(0, N)},
    "sa_rate 1": {"change": say(sa_rate=1)},
}
SPARSE = {  # of an index with a sparse suffix array alone
    "rows beyond": {"sparse-k7-w4__rows": put(ALL, 2**64 - 1)},
    "starts beyond": {"sparse-k7-w4__starts": put(-1, 2**32 - 1)},
    "another layout": {"change": say(sparse="bvsfm-k2-d96")},
    "sparse in format 1": {"change": say(format=1)},
    "a suffix array that is not there": {"change": say(sa_rate=1, seed_length=4, prefix_length=4)},
}
JOINED = {
    "parts swapped": {"change": lambda meta: meta["parts"].reverse()},
    "parts that end within a contig": {"change": say(parts=[N - 51, 51])},
    "an array of the whole": {"change": moved("part1/sa_positions", "sa_positions")},
    "contig of no group": {"group_of_contig": put(1, 2)},
    "n_groups wrong": {"change": say(n_groups=1)},
    "groups in another format": {"change": say(format=1)},
}


def refused(done, path):
    assert done.code == 1, (done, done.broken)
    (line,) = [line for line in done.message.splitlines() if "compiling" not in line]
    assert line.startswith(f"fmx: error: {path}")
    assert "build the index again" in line


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder of whole.fmx, sampled.fmx and joined.fmx, and r.fq."""
    folder = tmp_path_factory.mktemp("good")
    cases.build(folder / "whole.fmx", CONTIGS, LAYOUTS, with_lcp=True)
    cases.build(folder / "sampled.fmx", CONTIGS, LAYOUTS, sa_rate=4)
    cases.build(folder / "sparse.fmx", CONTIGS, ["sparse-k7-w4"])
    (folder / "groups.tsv").write_text("c0\tgut\nc1\tskin\n")
    options = workflow.IndexOptions(part_size=800, groups=folder / "groups.tsv")
    workflow.build_index(cases.fasta(CONTIGS), folder / "joined.fmx", options)
    (folder / "r.fq").write_bytes(READS)
    return folder


@pytest.fixture(scope="module")
def run(good):
    with Runner(good / "standard") as runner:
        yield lambda *words: runner.run(good, [str(word) for word in words])


@pytest.fixture
def copies(good, tmp_path):
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    return tmp_path


def ways(path):
    """Commands that read every array between them."""
    reads = path.parent / "r.fq"
    yield "search", "-q", "-a", "-x", path, reads
    if path.name == "whole.fmx":
        yield "mem", "-q", "-l", "20", "--algorithm", "mummergpu", "-x", path, reads
    if path.name == "sparse.fmx":
        yield "search", "-q", "-a", "--layout", "sparse-k7-w4", "-x", path, reads
    elif path.name != "joined.fmx":
        for layout in LAYOUTS:
            yield "search", "-q", "-a", "--layout", layout, "-x", path, reads


def readers(path, name):
    """The commands that must see what is wrong with an array, or with meta.json."""
    layout = name.partition("__")[0] if "__" in name and "___" not in name else None
    if layout == "lcp":
        return [way for way in ways(path) if way[0] == "mem"]
    if layout:
        return [way for way in ways(path) if layout in way]
    return [next(ways(path)), ("inspect", "--verify", path)]


@pytest.mark.parametrize(("index", "case"), [
    *(("whole", case) for case in WHOLE), *(("sampled", case) for case in SAMPLED),
    *(("joined", case) for case in JOINED), *(("sparse", case) for case in SPARSE),
])  # fmt: skip
def test_what_no_index_can_hold_is_refused(index, case, copies, run):
    changes = {"whole": WHOLE, "sampled": SAMPLED, "joined": JOINED, "sparse": SPARSE}[index][case]
    path = copies / f"{index}.fmx"
    edit(path, **changes)
    for way in readers(path, next(iter(changes))):
        refused(run(*way), path)


def test_the_indexes_are_good(copies, run):
    for name in ("whole", "sampled", "joined", "sparse"):
        path = copies / f"{name}.fmx"
        edit(path)
        for way in [*ways(path), ("inspect", "--verify", path)]:
            done = run(*way)
            assert (done.code, done.message) == (0, ""), way
    assert disk.part_sizes(json.loads((copies / "joined.fmx" / "meta.json").read_text())) == [701, N - 701]


def test_json_that_is_nested_too_deeply(copies, run):
    path = copies / "whole.fmx"
    for text in ("[" * 10**6, '{"a":' * 10**6, "9" * 10**5):
        (path / "meta.json").write_text(text)
        refused(run("inspect", path), path / "meta.json")


def flip(place):
    def flip(array):
        array = array.copy()
        array[place] ^= 1 << 7
        return array

    return flip


CONTENTS = {
    "a position twice": ("whole", {"sa_positions": put(5, 9)}),
    "a rank of another": ("whole", {"lcp__rank": put(5, 9)}),
    "prefixes of others": ("whole", {"prefix_pairs": swapped}),
    "seeds one row off": ("whole", {"seed_starts": lambda a: np.minimum(a + 1, N).astype(np.uint32)}),
    "an LCP value of another": ("whole", {"lcp__small": put(9, 7)}),
    **{
        f"counters of {name}": ("whole", {f"{name}__entries": put(8, 2**64 - 1)})
        for name in LAYOUTS if name != "cofi-k4"
    },
    **{
        f"a bit of {name}": ("whole", {f"{name}__entries": flip(place)})
        for name, place in (("bvsfm-k2-d96", 41), ("kstep-k3-d63", 34), ("alternate-k1-d64", 2))
    },
    "changes beyond": ("whole", {"cofi-k4__changes": put(700, N)}),
    "all changes the same": ("whole", {"cofi-k4__changes": put(ALL, 5)}),
    "marks without positions": ("sampled", {"sa_marks": put(ALL, 2**64 - 1)}),
    "too few kept positions": ("sampled", {"sa_positions": lambda a: a[:1].copy()}),
    "changes that lead nowhere": ("sampled", {"cofi-k4__changes": put(ALL, 2**32 - 16)}),
    **{
        f"entries of {name} all {value}": ("sampled", {f"{name}__entries": put(ALL, value)})
        for name in LAYOUTS if name != "cofi-k4" for value in (2**64 - 1, 2**31)
    },
    **{
        f"rows of {row:x}": ("sparse", {"sparse-k7-w4__rows": put(ALL, row)})
        for row in (0, 3 << 30, (N - 9) << 32, (N - 9) << 32 | 3 << 30, 30 << 32 | 1 << 31, (N // 2) << 32)
    },
    "a row of another": ("sparse", {"sparse-k7-w4__rows": swapped}),
    "the text of another": ("sparse", {"text_words": put(2, 12345)}),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTENTS)
def test_answers_of_wrong_contents_may_be_wrong_and_that_is_all(case, copies, run):
    name, changes = CONTENTS[case]
    path = copies / f"{name}.fmx"
    edit(path, **changes)
    for way in ways(path):
        done = run(*way)
        assert done.code == 0 or refused(done, path) is None


def test_nothing_is_added_to_a_lying_index(copies, run):
    path = copies / "whole.fmx"
    for changes in ({"change": say(n_text=N + 1)}, {"sa_positions": put(ALL, 2**32 - 1)},
                    {"block_length": put(1, HUGE)}, {"change": say(n_text=N)}):  # fmt: skip
        edit(path, **changes)
        refused(run("index", "-q", "--add", "--layout", "sampled", path), path)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(copies, run):
    path = copies / "whole.fmx"
    for name in ("sa_positions.npy", "meta.json"):
        (path / name).rename(path / "kept")
        os.mkfifo(path / name)
        done = run("inspect", path)
        assert (done.code, done.message.count("\n")) == (1, 1)
        assert str(path / name) in done.message
        (path / name).unlink()
        (path / "kept").rename(path / name)
