"""Files of reads by the guide that they count for: as the oracle tells, in the order of the input."""

import gzip
import random

import cases
import guides
import pytest
from output_of import bgzf
from texts import random_letters

OFFSET = 3
GUIDES = [random_letters(8 + i % 2, f"guide {i}") for i in range(12)]
GUIDES += [f"{GUIDES[0][:4]}{'C' if GUIDES[0][4] == 'A' else 'A'}{GUIDES[0][5:]}", GUIDES[1][1:-1] + "GT"]
NAMES = [f"g{i}" for i in range(12)] + ["a/b", ".c"]
FITTING = [*NAMES[:12], "a_b", "_c"]
GOOD, BAD = "I", "+"


def reads_of(seed, n) -> list:
    """(name, sequence) of reads with a guide, exactly or not, or without."""
    rng, records = random.Random(seed), []
    for i in range(n):
        guide = list(rng.choice([*GUIDES, random_letters(8, i)]))
        for _ in range(rng.choice([0, 0, 1, 2])):
            guide[rng.randrange(len(guide))] = rng.choice("ACGTN")
        letters = f"{random_letters(OFFSET, i)}{''.join(guide)}{random_letters(9, -i)}"
        records.append((f"{seed}{i} x", letters))
    return records


def fastq(records) -> bytes:
    """Records as FASTQ, every fifth with a base of low quality in the guide."""
    lines = []
    for i, (name, letters) in enumerate(records):
        quality = GOOD * len(letters)
        if i % 5 == 0:
            quality = GOOD * (OFFSET + 2) + BAD + GOOD * (len(letters) - OFFSET - 3)
        lines.append(f"@{name}\n{letters}\n+\n{quality}\n")
    return "".join(lines).encode()


SAMPLES = {"one.fq": reads_of("a", 250), "two.fq.gz": reads_of("b", 150), "three.fq.gz": reads_of("c", 120)}


@pytest.fixture
def home(folder):
    """A library, two files of one sample, and one of another."""
    library = "".join(f"{name},{guide}\n" for name, guide in zip(NAMES, GUIDES, strict=True))
    (folder / "l.csv").write_text(f"id,sequence\n{library}")
    one, two, three = map(fastq, SAMPLES.values())
    (folder / "one.fq").write_bytes(one)
    (folder / "two.fq.gz").write_bytes(gzip.compress(two))
    (folder / "three.fq.gz").write_bytes(bgzf(three, 2000))
    (folder / "out").mkdir()
    return folder


def file_of(i, letters, mismatches, quality) -> str:
    """Name of the file of read i of a sample."""
    windows = guides.windows(letters, {8, 9}, (0,), [OFFSET])
    guide = guides.guide_of(GUIDES, windows, mismatches)
    if guide is None or guide == guides.MANY:
        return "un" if guide is None else "ambiguous"
    return "un" if quality and i % 5 == 0 else FITTING[guide]


def written(folder) -> dict:
    files = {path.name.split(".fq")[0]: path.read_bytes() for path in folder.iterdir()}
    return {name: gzip.decompress(data) if data[:1] == b"\x1f" else data for name, data in files.items()}


@pytest.mark.parametrize(("mismatches", "quality"), [(0, 0), (1, 0), (1, 30)])
@pytest.mark.parametrize("threads", [1, 3])
def test_reads_are_in_the_file_of_their_guide(mismatches, quality, threads, home, command, chunks_of):
    chunks_of(1500)
    line = f"count -q -l l.csv one.fq,two.fq.gz three.fq.gz --offset {OFFSET} -t {threads} --forward-only"
    words = f"{line} --mismatches {mismatches} --min-quality {quality} -o counts.tsv".split()
    result = command(*words, "--al", "out/{target}.fq.gz", "--un", "out/un.fq")
    assert (result.code, result.err) == (0, "")
    expected = {name: b"" for name in [*FITTING, "ambiguous", "un"]}
    for records in SAMPLES.values():
        texts = fastq(records).splitlines(keepends=True)
        for i, (_, letters) in enumerate(records):
            expected[file_of(i, letters, mismatches, quality)] += b"".join(texts[4 * i : 4 * i + 4])
    found = written(home / "out")
    assert found == expected
    assert sum(map(bool, found.values())) >= (len(found) if mismatches and not quality else 12)
    columns = [line.split("\t") for line in (home / "counts.tsv").read_text().splitlines()[1:]]
    of_guides = {row[0]: int(row[2]) + int(row[3]) for row in columns}
    assert of_guides == {name: found[fit].count(b"\n") // 4 for name, fit in zip(NAMES, FITTING, strict=True)}
    whole = command(*words, "--al", "al.fq", "--un", "rest.fq")
    assert (whole.code, whole.err) == (0, "")
    numbers = [(home / name).read_bytes().count(b"\n") for name in ("al.fq", "rest.fq")]
    assert numbers == [4 * sum(of_guides.values()), 4 * (520 - sum(of_guides.values()))]


@pytest.mark.parametrize("library", ["pairs", "single"])
def test_mates_are_in_two_files_of_their_guide(library, home, command, chunks_of):
    chunks_of(1500)
    rng = random.Random(2)
    pairs = [(i, (3 * i + 1) % 12) for i in range(12)]
    rows = [f"p{k},{GUIDES[i]},{GUIDES[j]}\n" for k, (i, j) in enumerate(pairs)]
    (home / "pairs.csv").write_text("".join(["id,sequence1,sequence2\n", *rows]))
    mates: tuple = ([], [])
    files = []
    for k in range(300):
        i, j = rng.choice([*pairs, (k % 12, None), (None, None), (k % 12, k % 12), (2, 3)])
        for mate, guide in zip(mates, (i, j), strict=True):
            letters = random_letters(9, f"none {k}") if guide is None else GUIDES[guide]
            mate.append((f"{k}", f"{random_letters(OFFSET, k)}{letters}{'T' * 9}"))
        counted = {i, j} - {None}
        if library == "pairs":
            files.append(f"p{pairs.index((i, j))}" if (i, j) in pairs else "un")
        else:
            files.append(f"g{counted.pop()}" if len(counted) == 1 else "ambiguous" if counted else "un")
    for mate, name in zip(mates, ("1.fq", "2.fq"), strict=True):
        (home / name).write_bytes(cases.fastq(mate))
    words = ["count", "-q", "-l", "pairs.csv" if library == "pairs" else "l.csv", "-1", "1.fq", "-2", "2.fq"]
    words += ["--offset", OFFSET, "--forward-only", "-o", "counts.tsv", "--al", "out/{target}.fq"]
    result = command(*words, "--un", "out/un.fq", "-t", 2)
    assert (result.code, result.err) == (0, "")
    found = written(home / "out")
    assert len(found) == 2 * ((12 if library == "pairs" else 14) + 2)
    assert len(set(files)) > 12
    for name, text in found.items():
        target, _, mate = name.rpartition("_")
        chosen = [record for record, file in zip(mates[int(mate) - 1], files, strict=True) if file == target]
        assert text == (cases.fastq(chosen) if chosen else b""), name


REFUSED = {
    "-l l.csv one.fq --al x.fq --un x.fq": (1, "--un x.fq is a file of --al x.fq, too: choose another name"),
    "-l l.csv one.fq --al {target}.fq --un g1.fq": (1, "--un g1.fq is a file of --al {target}.fq, too"),
    "-l l.csv g1.fq --al {target}.fq": (2, "--al (g1) g1.fq is the same file as the input g1.fq"),
    "-l l.csv -l l.csv -1 one.fq -2 one_2.fq --al {target}.fq": (1, "give one library of pairs"),
    "-l l.csv one.fq --al none/{target}.fq": (1, "none/g0.fq: cannot write: the folder 'none' does not"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_before_any_work(words, home, command):
    for name in ("g1.fq", "one_2.fq"):
        (home / name).write_bytes((home / "one.fq").read_bytes())
    before = sorted(path.name for path in home.iterdir())
    result = command("count", *words.split(), "--offset", OFFSET, "-o", "counts.tsv")
    code, message = REFUSED[words]
    assert (result.code, message in result.err) == (code, True), result.err
    assert sorted(path.name for path in home.iterdir()) == before
