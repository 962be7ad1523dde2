"""fmx search of pairs: what it writes, as samtools sees it; what it refuses; what it advises."""

import subprocess

import cases
import naive
import naive_pairs
import pytest
from naive_pairs import Rule
from texts import numbered, random_letters

UNIT = random_letters(400, "unit")
GENOME = numbered([UNIT + random_letters(500, "one"), random_letters(300, "two") + UNIT])


def a_pair(i) -> tuple:
    """Pair number i: proper once or twice, with a mate on another contig, too far, or that does not occur."""
    contig, start = GENOME[i % 2][1], 31 * i % 560
    one, two = contig[start : start + 40], naive.reverse_complement(contig[start + 90 : start + 125])
    kind = i % 7
    if kind == 1:
        two = naive.reverse_complement(GENOME[(i + 1) % 2][1][500:530])
    elif kind == 2:
        one = one[:-1] + "N"
    elif kind == 3:
        one, two = two, one
    elif kind == 4:
        one, two = one[:20] + "N", ""
    quality = "".join(chr(40 + j % 40) for j in range(200))
    return f"p{i}", (one, quality[: len(one)]), (two, quality[: len(two)])


PAIRS = [a_pair(i) for i in range(90)]


def fastq(i) -> bytes:
    return "".join(f"@{p[0]}/{i}\n{p[i][0]}\n+\n{p[i][1]}\n" for p in PAIRS).encode()


@pytest.fixture
def there(folder, index_of):
    """A folder with ref.fmx, 1.fq and 2.fq, and both in turn in both.fq."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    for i in (1, 2):
        (folder / f"{i}.fq").write_bytes(fastq(i))
    records = [fastq(i).decode().splitlines() for i in (1, 2)]
    turns = [lines[4 * r : 4 * r + 4] for r in range(len(PAIRS)) for lines in records]
    (folder / "both.fq").write_text("".join(f"{line}\n" for record in turns for line in record))
    return folder


def samtools(peer, *arguments) -> str:
    done = subprocess.run([peer("samtools"), *map(str, arguments)], check=True, capture_output=True)
    return done.stdout.decode()


PAIRED = ["search", "-q", "-1", "1.fq", "-2", "2.fq"]


def test_however_they_are_given(there, command):
    """Two files, one with mates in turn, standard input, lists of files."""
    expected = naive_pairs.records(GENOME, PAIRS, Rule())
    flags = {int(record[1]) for record in expected}
    assert {99, 147, 83, 163, 77, 141, 101, 153} <= flags  # each case is there
    for arguments in (PAIRED, ["search", "-q", "--interleaved", "both.fq"]):
        assert command(*arguments).records == expected
    data = (there / "both.fq").read_bytes()
    assert command("search", "-q", "--interleaved", "-", stdin=data).records == expected
    assert command("search", "-q", "-1", "-", "-2", "2.fq", stdin=fastq(1)).records == expected
    assert command(*PAIRED, "--no-unmapped").records == naive_pairs.records(
        GENOME, PAIRS, Rule(unmapped=False)
    )
    for files in ("-1 1.fq,1.fq -2 2.fq,2.fq", "-1 1.fq -1 1.fq -2 2.fq -2 2.fq"):
        assert command("search", "-q", *files.split()).records == expected * 2


@pytest.mark.parametrize("more", [[], ["-a", "--max-insert", "300"]])
def test_samtools_agrees(more, there, command, peer):
    """BAM holds what SAM does, and fixmate, which computes it anew, changes nothing that it knows."""
    assert command(*PAIRED, *more, "-o", "o.sam").code == command(*PAIRED, *more, "-o", "o.bam").code == 0
    samtools(peer, "quickcheck", "-v", "o.sam", "o.bam")
    views = [samtools(peer, "view", "--no-PG", name).splitlines() for name in ("o.sam", "o.bam")]
    assert views[0] == views[1]
    fixed = samtools(peer, "fixmate", "-O", "sam", "o.bam", "-")
    assert known(fixed) == known("\n".join(views[0]))
    counts = dict(line.split(" + 0 ")[::-1] for line in samtools(peer, "flagstat", "o.bam").splitlines())
    flags = [int(line.split("\t")[1]) for line in views[0]]
    primary = [flag for flag in flags if not flag & 256]
    assert int(counts["read1"]) == int(counts["read2"]) == len(PAIRS)
    (proper,) = (n for name, n in counts.items() if name.startswith("properly paired"))
    assert int(proper) == sum(flag & 2 > 0 for flag in primary) > 60
    stats = samtools(peer, "stats", "o.bam")
    assert f"SN\tproperly paired:\t{proper}"[:-1] in stats or f"reads properly paired:\t{proper}" in stats


@pytest.mark.parametrize("name", ["s.bam", "s.cram", "u.cram"])
def test_sorted_and_cram_hold_the_same(name, there, command, peer):
    """CRAM, which keeps mates together and computes their fields anew, gives back each line."""
    sort = ["--sort"] if name[0] == "s" else []
    assert command(*PAIRED, "-a", "-o", "o.sam").code == 0
    assert command(*PAIRED, "-a", "-o", name, *sort).code == 0
    expected = samtools(peer, "view", "--no-PG", "o.sam").splitlines()
    found = samtools(peer, "view", "--no-PG", name).splitlines()
    if not sort:
        assert found == expected
        return
    assert sorted(found) == sorted(expected)
    places = [line.split("\t")[2:4] for line in found]
    order = {name: number for number, (name, _) in enumerate([*GENOME, ("*", "")])}
    assert places == sorted(places, key=lambda place: (order[place[0]], int(place[1])))
    region = f"{GENOME[0][0]}:1-200"
    inside = [
        line for line in found if line.split("\t")[2] == GENOME[0][0] and int(line.split("\t")[3]) <= 200
    ]
    assert samtools(peer, "view", name, region).splitlines() == inside != []


@pytest.mark.parametrize("sort", [[], ["--sort"]])
def test_cram_tells_the_contig_of_a_mate_at_the_same_position_of_another(
    sort, folder, command, index_of, peer
):
    """Of copies of a contig; htslib would take the mates in a copy for those that RNEXT and PNEXT name."""
    genome = numbered([UNIT, UNIT + "A", UNIT, "GATTA" + UNIT])
    spots = [(start, 20 + 7 * start % 50, 35 * start % 90, 20 + start % 31) for start in range(0, 200, 3)]
    mates = [
        [(f"p{start}", UNIT[start : start + n]) for start, n, *_ in spots],
        [(f"p{a}", naive.reverse_complement(UNIT[a + b : a + b + m])) for a, _, b, m in spots],
    ]
    for i in (0, 1):
        (folder / f"{i}.fq").write_bytes(cases.fastq(mates[i]))
    search = ["search", "-q", "-x", index_of(genome), "-1", "0.fq", "-2", "1.fq", "--min-insert", "1", "-a"]
    assert command(*search, "-o", "o.sam").code == command(*search, *sort, "-o", "o.cram").code == 0
    expected = samtools(peer, *(["sort", "-O", "sam"] if sort else ["view"]), "--no-PG", "o.sam").splitlines()
    expected = [line.split("\t") for line in expected if line[0] != "@"]
    found = [line.split("\t") for line in samtools(peer, "view", "--no-PG", "o.cram").splitlines()]
    without_insert = [int(record[1]) & 256 and record[6] != "=" for record in expected]
    assert sum(without_insert) > 100
    for record, own, is_without in zip(expected, found, without_insert, strict=True):
        assert own == ([*record[:8], "0", *record[9:]] if is_without else record)


def known(text) -> list:
    """Of primary records what fixmate computes: all of a mate's place, MC, and the insert of proper pairs.

    Of other pairs it tells the distance of their first letters, be they within the mates or not.
    """
    found = []
    for record in (line.split("\t") for line in text.splitlines() if line[0] != "@"):
        if not int(record[1]) & 256:
            mates = [tag for tag in record[11:] if tag[:2] == "MC" and tag != "MC:Z:*"]
            found.append([*record[:8], *mates, *([record[8]] if int(record[1]) & 2 else [])])
    return found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-1 1.fq", "-1 has 1 file but -2 has 0"),
        ("-1 1.fq -2 1.fq", "are the same file; if it holds both mates, use --interleaved"),
        ("-1 - -2 -", "are the same file"),
        ("-1 1.fq -2 2.fq both.fq", "READS cannot be combined with -1 and -2"),
        ("-1 1.fq -2 2.fq --fr --ff", "give only one of --fr and --ff"),
        ("-1 1.fq -2 2.fq --min-insert 9 --max-insert 8", "--min-insert 9 is more than --max-insert 8"),
        ("-1 1.fq -2 2.fq --max-insert -3", "not -3"),
        ("1.fq --max-insert 400", "--max-insert needs pairs"),
        ("1.fq --rf", "--rf needs pairs"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, words, there, command):
    done = command("search", *arguments.split())
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("name", "words"),
    [("none.fq", "none.fq: No such file"), ("short.fq", "short.fq: record 1: this is the last record")],
)
def test_a_missing_or_odd_mate_ends_the_command(name, words, there, command):
    (there / "short.fq").write_bytes(cases.fastq([("p0/2", "ACGT")]))
    done = command("search", "-q", "-1", "1.fq", "-2", name, "-o", "o.sam")
    assert (done.code, done.err.count("\n"), words in done.err) == (1, 1, True)
    assert not (there / "o.sam").exists()
