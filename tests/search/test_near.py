"""Near matches: by every way to search, those of a naive scan, each once, by strata, with mismatches."""

import random
from itertools import islice

import cases
import naive
import pytest
import validate
import workflow
from conftest import LAYOUTS
from output_of import records_in, without_program
from texts import TEXTS, numbered, random_letters, reads_of

from fmx.index import fm_index
from fmx.output.search_output import SearchOutput
from fmx.search import hits
from fmx.search import near as search_near
from fmx.search.mappers import make_mapper
from fmx.search.mapping import MapOptions, Near, RunSizes
from fmx.search.queries import near_words

EVERY = hits.SelectionPolicy(hits.ALL)
NAMES = ["contigs of 1 to 6", "IUPAC", "repeats across separators"]
UNIT = random_letters(120, "near")
CONTIGS = numbered([UNIT + "N" + UNIT[:50] + "T" + UNIT[51:], random_letters(900, "more"), "ACG" * 20])
READS = [UNIT[:30], UNIT[35:65], "ACGACGACGTCG", UNIT[10:40].replace("A", "N", 1), "ACN", "AC", "N" * 9, UNIT]
READS += [naive.reverse_complement(UNIT[20:28] + "A" + UNIT[29:45]), UNIT[3:33].replace("G", "R", 1)]
RECORDS = [(f"r{i}", read) for i, read in enumerate(READS)]


def opened(path, way="verify"):
    """An index that holds its text."""
    how = {"method": "verify"} if way == "verify" else {"layout": way}
    return fm_index.load(path, **how, with_text=True)


def ask(index, reads, wanted, policy=EVERY, **options) -> list:
    """Of each read (mismatches, contig, position, strand) of its hits."""
    mapper = make_mapper(index, MapOptions(policy, near=wanted, **options))
    found, listed = mapper.search(cases.chunk_of(reads)), []
    for start, part in mapper.hits_of(found):
        assert start == len(listed)
        for r in range(part.total.size):
            changes = part.changes[part.first[r] : part.first[r + 1]] & 3
            places = cases.places(index, part, r)
            listed.append([(n, *place) for n, place in zip(changes.tolist(), places, strict=True)])
    assert policy != EVERY or wanted.strata or [len(x) for x in listed] == found.total.tolist()
    return listed


def best_of(expected) -> list:
    """Of each read those with the fewest mismatches."""
    return [[hit for hit in found if hit[0] == found[0][0]] for found in expected]


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_the_naive_ones(name, way, index_of):
    contigs = TEXTS[name]
    index = opened(index_of(contigs, [LAYOUTS[0] if way == "verify" else way]), way)
    reads = [read[:70] for read in reads_of(contigs)][::4]
    for v in (1, 2):
        expected = [naive.near(contigs, read, v) for read in reads]
        assert ask(index, reads, Near(v)) == expected
        assert ask(index, reads, Near(v, strata=True)) == best_of(expected)


def test_a_sampled_suffix_array_gives_the_same(index_of):
    contigs = TEXTS["repeats across separators"]
    index, reads = opened(index_of(contigs, sa_rate=8), LAYOUTS[0]), reads_of(contigs, n=8)
    assert ask(index, reads, Near(2)) == [naive.near(contigs, read, 2) for read in reads]


def test_iupac_letters_stand_for_their_bases(index_of):
    contigs = numbered([sequence for _, sequence in TEXTS["IUPAC"]] + [random_letters(300, "sets")])
    patterns = ["N", "RY", "ACGN", "NNNNNN", "RYSWKM", "BDHVN", "ACGTNNNNGTA", "GTNAC.A", "ACX", "WSWSNNNN"]
    patterns += ["nnr", "ACGU", "N" * 40, "ACGTRYSWKMBDHVNACGT" * 4]
    patterns += [random_letters(9, i, "ACGTRYN") for i in range(12)]
    index = opened(index_of(contigs))
    for v in (0, 1, 2):
        expected = [naive.near(contigs, pattern, v, iupac=True) for pattern in patterns]
        assert ask(index, patterns, Near(v, iupac=True)) == expected


def test_pieces_of_all_widths_find_all(index_of, monkeypatch):
    """Whatever a text's size makes cheapest, also of reads with N: many sizes are pretended."""
    index, lengths, rng = opened(index_of(CONTIGS)), [5, 9, 14, 20, 31, 40, 90], random.Random(5)
    reads = [UNIT[i : i + 3] + "T" + UNIT[i + 4 : i + m] for i, m in enumerate(lengths)]
    for m in 3 * lengths:
        read = list(UNIT[7 : 7 + m])
        for i in rng.sample(range(m), rng.choice([1, 2, 2])):
            read[i] = rng.choice("NNT")
        reads.append("".join(read))
    assert sum("N" in read for read in reads) > 15
    expected = {v: [naive.near(CONTIGS, read, v) for read in reads] for v in (1, 2)}
    make, seen, size = near_words.plan, set(), []

    def plan(sets, v, lookups):
        found = make(sets, v, lookups._replace(n_text=float(size[-1])))
        seen.update(found.columns[:, :, near_words.LENGTH].ravel().tolist())
        return found

    monkeypatch.setattr(near_words, "plan", plan)
    for n in range(1, 17):
        size.append(4**n)
        for v in (1, 2):
            assert ask(index, reads, Near(v)) == expected[v]
    assert len(seen) > 15


SMALL = {"bases": 50, "words": 40, "rows": 7, "matches": 3, "hits": 3}
RUNS = [RunSizes(**dict(islice(SMALL.items(), n))) for n in range(1, len(SMALL) + 1)]


def test_runs_of_any_size_give_the_same(index_of):
    index = opened(index_of(CONTIGS))
    expected = [naive.near(CONTIGS, read, 2) for read in READS]
    for sizes in RUNS:
        assert ask(index, READS, Near(2), sizes=sizes) == expected
        assert ask(index, READS, Near(2, strata=True), sizes=sizes) == best_of(expected)


@pytest.mark.parametrize("near", [None, Near(1), Near(2, strata=True)], ids=str)
def test_records_in_pieces_of_any_size_are_the_same(near, index_of, folder):
    """Each hit and each read without one has one record, wherever the hits of a run are cut."""
    index, text = opened(index_of(CONTIGS)), ["T" * 30, *READS[:4], "T" * 31, "ACGACGACG", "T" * 32, "T" * 33]
    (folder / "r.fa").write_bytes(cases.fasta((f"r{i}", read) for i, read in enumerate(text)))
    written = []
    for sizes in (RunSizes(), *(RunSizes(hits=n) for n in range(1, 9))):
        output = SearchOutput("o.sam", "sam", mismatches=near.mismatches if near else 0)
        workflow.search(index, ["r.fa"], MapOptions(EVERY, near=near, sizes=sizes), output)
        written.append(without_program((folder / "o.sam").read_bytes()))
    assert written[0].count(b"\t4\t*") >= 4
    assert written == written[:1] * len(written)


def test_by_strata_reads_with_a_better_hit_are_not_sought_again(index_of, monkeypatch):
    """With one mismatch only reads that do not occur exactly, with two only those without a hit then."""
    exact, one, two = UNIT[:40], change(UNIT[35:75], 20), change(change(UNIT[60:100], 3), 30)
    reads, seen, plan = [one, exact, two, exact, "ACN", UNIT[2:50]], [], near_words.plan

    def noted(sets, v, n_text):
        seen.append((v, (sets.length[::2] > 0).sum()))
        return plan(sets, v, n_text)

    monkeypatch.setattr(near_words, "plan", noted)
    index = opened(index_of(CONTIGS))
    found = ask(index, reads, Near(2, strata=True))
    assert found == best_of([naive.near(CONTIGS, read, 2) for read in reads])
    assert [hits[0][0] for hits in found] == [1, 0, 2, 0, 1, 0]
    assert seen == [(1, 3), (2, 1)]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_reads_with_enough_hits_are_not_sought_again(limit, index_of, monkeypatch):
    """UNIT is there once, and once with a mismatch; some reads have none, or more."""
    reads = [UNIT[:40], change(UNIT[:45], 9), "ACGACGACG", UNIT[52:90], "ACN"]
    index, expected = opened(index_of(CONTIGS)), [naive.near(CONTIGS, read, 2) for read in reads]
    sought, plan, few = [], near_words.plan, Near(2, counts_all=False)

    def noted(sets, v, lookups):
        sought.append((v, sets.length.size // 2))
        return plan(sets, v, lookups)

    monkeypatch.setattr(near_words, "plan", noted)
    assert ask(index, reads, few, hits.SelectionPolicy(limit)) == [found[:limit] for found in expected]
    without = [(v, sum(sum(hit[0] < v for hit in found) < limit for found in expected)) for v in (1, 2)]
    assert sought == [(v, n) for v, n in without if n]
    drawn = hits.SelectionPolicy(limit, seed=4)
    assert ask(index, reads, few, drawn) == ask(index, reads, Near(2), drawn)


def change(read, i) -> str:
    """The read with another base at i."""
    return read[:i] + "ACGT"[("ACGT".index(read[i]) + 1) % 4] + read[i + 1 :]


def quality(found, n) -> int:
    """MAPQ of a hit with n mismatches."""
    peers = sum(hit[0] == found[0][0] for hit in found) if n == found[0][0] else 0
    return 60 if peers == 1 else {0: 0, 2: 3, 3: 2}.get(peers, 1 if peers < 10 else 0)


def expected_sam(strata=False) -> list:
    """Columns of the records of READS with up to two mismatches, all of them, and their tags."""
    listed = []
    for name, read in RECORDS:
        found = naive.near(CONTIGS, read, 2)
        found = [hit for hit in found if not strata or hit[0] == found[0][0]]
        if not found:
            listed.append([name, "4", "*", "0", "0", "*", "NH:i:0"])
        for number, (n, contig, start, strand) in enumerate(found, 1):
            plus = naive.reverse_complement(read) if strand else read
            tags = [f"NH:i:{len(found)}", f"HI:i:{number}", f"NM:i:{n}"]
            tags.append(f"MD:Z:{naive.md(plus, CONTIGS[contig][1][start : start + len(read)])}")
            flag, place = 16 * strand + 256 * (number > 1), [f"c{contig}", str(start + 1)]
            listed.append([name, str(flag), *place, str(quality(found, n)), f"{len(read)}M", *tags])
    return listed


def of_sam(records) -> list:
    return [[*record[:6], *record[11:]] for record in records]


@pytest.fixture
def reads(tmp_path):
    (tmp_path / "reads.fq").write_bytes(cases.fastq(RECORDS))
    return tmp_path / "reads.fq"


def test_records_tell_strata_and_mismatches(reads, index_of, command, tmp_path):
    index = index_of(CONTIGS)
    every = command("search", "-x", index, reads, "-a", "--mismatches", 2)
    assert of_sam(every.records) == expected_sam()
    cannot = "; 2 not searched (2 bases or fewer, or more than 2 characters other than A, C, G, T and U)"
    assert cannot in every.err
    best = command("search", "-q", "-x", index, reads, "-a", "--mismatches", 2, "--strata").records
    assert of_sam(best) == expected_sam(strata=True)
    assert 0 < len(best) < len(every.records)
    result = command("search", "-q", "-x", index, reads, "-a", "--mismatches", 2, "-o", tmp_path / "x.bam")
    assert result.code == 0
    assert records_in(tmp_path / "x.bam") == every.records


@pytest.mark.parametrize("policy", [["-k", 1], ["-k", 2], ["-k", 3, "--seed", 8], ["-a"]])
def test_records_are_the_same_if_not_all_occurrences_are_counted(policy, reads, index_of, command, folder):
    how = ["search", "-x", index_of(CONTIGS), reads, "--mismatches", 2, *policy]
    usual, few = command(*how), command(*how, "--nh", "reported")
    names = [record[0] for record in usual.records]
    for record, whole in zip(few.records, usual.records, strict=True):
        n = 0 if record[1] == "4" else names.count(record[0])
        assert record == [*whole[:11], f"NH:i:{n}", *whole[12:]]
    assert "uniquely" in usual.err
    assert ("uniquely" in few.err) == (policy == ["-a"])
    assert "10 reads: 8 mapped (80.00 %)" in few.err
    table = command(*how, "--nh", "reported", "--counts", "n.tsv")
    assert "uniquely" in table.err
    for name, options in ("usual", []), ("few", ["--nh", "reported"]):
        (folder / name).mkdir()
        assert command(*how, *options, "--al", f"{name}/{{target}}.fq").code == 0
    by_target = [{path.name: path.read_bytes() for path in (folder / n).iterdir()} for n in ("usual", "few")]
    assert by_target[0] == by_target[1]
    assert "ambiguous.fq" in by_target[0]


def test_one_warning_tells_that_short_reads_take_long(index_of, command, tmp_path, monkeypatch, chunks_of):
    """In 2,300 symbols, four bases occur 1,200 times each with two mismatches, 230 times with one."""
    reads = [(f"r{i}", random_letters(4 if i % 2 else 40, i)) for i in range(60)]
    (tmp_path / "reads.fq").write_bytes(cases.fastq(reads))
    how = ["search", "-x", index_of(numbered([random_letters(2300, "short")])), tmp_path / "reads.fq"]
    monkeypatch.setattr(search_near, "SLOW", 5e3)
    chunks_of(1000)
    told = "warning: reads of fewer than 7 bases occur by chance about 1,2"
    assert command(*how, "--mismatches", 2).err.count("warning") == 1
    assert told in command(*how, "--mismatches", 2, "-a").err
    for more in (
        ["--mismatches", 1],
        ["--mismatches", 2, "--strata"],
        ["--mismatches", 2, "--nh", "reported"],
    ):
        assert "warning" not in command(*how, *more).err
    assert "warning" not in command(*how, "--mismatches", 2, "--min-length", 7).err


def reads_of_any_letters(n) -> list:
    """(name, letters) of n reads of both strands that may hold any letter that a read may hold."""
    rng, found = random.Random(7), []
    for i in range(n):
        sequence = rng.choice(CONTIGS)[1]
        start = rng.randrange(len(sequence) - 12)
        read = list(sequence[start : start + rng.randrange(12, 40)])
        read = list(naive.reverse_complement("".join(read))) if rng.random() < 0.5 else read
        for _ in range(rng.randrange(3)):
            read[rng.randrange(len(read))] = rng.choice("NRYSWKMBDHVnryswkmbdhvXx.acgtuU")
        found.append((f"r{i}", "".join(read)))
    return found


def test_reads_with_any_letter_are_written_as_the_strand_asks(index_of, command, tmp_path):
    reads = reads_of_any_letters(500)
    (tmp_path / "reads.fq").write_bytes(cases.fastq(reads))
    how = ["search", "-q", "-x", index_of(CONTIGS), tmp_path / "reads.fq", "--mismatches", 2]
    records, n_reverse = command(*how).records, 0
    for (name, read), record in zip(reads, records, strict=True):
        is_reverse, quality = int(record[1]) & 16, "".join(chr(33 + i) for i in range(len(read)))
        n_reverse += bool(is_reverse and not naive.is_searchable(read))
        letters = naive.reverse_complement(read) if is_reverse else validate.written(read)
        assert record[0] == name
        assert record[9:11] == [letters, quality[::-1] if is_reverse else quality]
    assert n_reverse > 50
    assert command(*how, "-o", tmp_path / "x.bam").code == 0
    assert records_in(tmp_path / "x.bam") == records


def test_hits_are_limited_and_drawn_by_strata(reads, index_of, command, tmp_path):
    index = index_of(CONTIGS)
    every, few, counts = expected_sam(), ["-x", index, reads, "--mismatches", 2], tmp_path / "counts.tsv"
    first = of_sam(command("search", "-q", *few, "-k", 2, "--counts", counts).records)
    assert first == [record for record in every if record[6] == "NH:i:0" or record[7] in ("HI:i:1", "HI:i:2")]
    n_hits = [sum(hit[2] == f"c{i}" for hit in every) for i in range(3)]
    n_reads = [len({hit[0] for hit in every if hit[2] == f"c{i}"}) for i in range(3)]
    table = [line.split("\t")[2:] for line in counts.read_text().splitlines()[1:]]
    assert [row[:2] for row in table] == [[str(n), str(m)] for n, m in zip(n_reads, n_hits, strict=True)]
    assert abs(sum(float(row[3]) for row in table) - len({hit[0] for hit in every if hit[1] != "4"})) < 1e-4
    most = of_sam(command("search", "-q", *few, "-a", "-m", 1).records)
    assert [hit for hit in most if hit[1] != "4"] == [hit for hit in every if hit[6] == "NH:i:1"]
    drawn = {tuple(map(tuple, of_sam(command("search", "-q", *few, "--seed", s).records))) for s in range(5)}
    assert len(drawn) > 1
    best = {(x[0], int(x[1]) & 16, x[2], x[3]) for x in expected_sam(strata=True)}
    assert {(x[0], int(x[1]) & 16, x[2], x[3]) for records in drawn for x in records} <= best


def test_draws_are_even_within_the_last_stratum(index_of):
    """Of 12 near matches, two are drawn beside the two exact ones."""
    unit, n = random_letters(25, "even"), 200
    contigs = numbered([unit + "T" + unit, *(change(unit, i) for i in range(3, 15))])
    found = ask(opened(index_of(contigs)), [unit] * n, Near(1), hits.SelectionPolicy(4, seed=3))
    every = naive.near(contigs, unit, 1)
    assert [hit[0] for hit in every] == [0] * 2 + [1] * 12
    assert all(own[:2] == every[:2] and own[2] < own[3] for own in found)
    times = [sum(hit in own for own in found) for hit in every[2:]]
    assert sum(times) == 2 * n
    assert n / 12 < min(times) <= max(times) < 3 * n / 12


def test_occurrences_of_patterns_are_listed_with_mismatches(index_of, command):
    pattern, how = UNIT[40:56], ["locate", "-q", "-x", index_of(CONTIGS), "--mismatches", 2]
    found = sorted((contig, start, strand, n) for n, contig, start, strand in naive.near(CONTIGS, pattern, 2))
    assert {n for *_, n in found} >= {0, 1}
    result = command(*how, "-p", pattern)
    head, *lines = result.out.decode().splitlines()
    assert head == "pattern\tcontig\tstart\tend\tstrand\toccurrences\tmismatches"
    fields = [(f"c{contig}", start, start + 16, "+-"[strand], n) for contig, start, strand, n in found]
    assert lines == ["\t".join(map(str, (pattern, *x[:4], len(found), x[4]))) for x in fields]
    bed = command(*how, "-p", pattern, "--format", "bed").out.decode()
    assert bed.splitlines() == ["\t".join(map(str, (*x[:3], pattern, x[4], x[3]))) for x in fields]
    lines = command(*how, "-p", "GATNTCRANC", "--iupac", "--forward-only").out.decode().splitlines()[1:]
    found = sorted(hit[1:3] for hit in naive.near(CONTIGS, "GATNTCRANC", 2, iupac=True, strands=(0,)))
    assert [line.split("\t")[1:3] for line in lines] == [[f"c{contig}", str(i)] for contig, i in found]
