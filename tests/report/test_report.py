"""Reports tell what happened; those of shards tell of one run; MultiQC shows them."""

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import cases
import hypothesis.strategies as st
import naive
import pytest
from conftest import ROOT, missing
from hypothesis import given
from texts import numbered, random_letters

from fmx.jobs import IndexChoice
from fmx.jobs.mem import MemJob
from fmx.jobs.shard import identity
from fmx.mem.matching import MemOptions, MemOutput
from fmx.report import Report
from fmx.report.page import html
from fmx.search.summary import N_CLASSES, class_of, no_lengths, rows_of

UNIT = random_letters(300, "report")
CONTIGS = numbered([UNIT, UNIT[:150] + "N" + random_letters(400, "more"), "AC" * 40])
READS = [UNIT[i : i + 20 + i % 30] for i in range(0, 240, 7)] + ["", "ACGTN", "ACACAC", "T" * 33]
READS += [naive.reverse_complement(UNIT[i : i + 30]) for i in (3, 60, 200)] + ["AC" * 37]
MATES = [(UNIT[i : i + 25], UNIT[i + 60 : i + 80 + i % 40]) for i in range(0, 180, 9)]
PAIRS = ["-1", "mates1.fq", "-2", "mates2.fq"]
MATES += [(UNIT[:25], "T" * 30)]  # no proper pair
MATES += [(UNIT[20:40] + "NN", UNIT[70:90]), (UNIT[20:40] + "N", UNIT[70:90])]  # with mismatches


@pytest.fixture
def run(folder, command):
    """A function: arguments of fmx search -> (the facts that it tells, its output)."""
    cases.build(folder / "ref.fmx", CONTIGS)
    records = [(f"r{i}", read) for i, read in enumerate(READS)]
    (folder / "reads.fq").write_bytes(cases.fastq(records))
    for mate in (0, 1):
        turned = [(f"p{i}", naive.reverse_complement(x[1]) if mate else x[0]) for i, x in enumerate(MATES)]
        (folder / f"mates{mate + 1}.fq").write_bytes(cases.fastq(turned))

    def run(*arguments, name="run.json"):
        done = command("search", "-q", *arguments, "--report", name, "-o", "o.sam")
        assert done.code == 0, done.err
        return json.loads(Path(name).read_text()), Path("o.sam").read_text()

    return run


def table_of(numbers) -> list:
    """Rows [n, n, how often]."""
    return [[n, n, times] for n, times in sorted(Counter(numbers).items())]


@given(st.integers(0, 2**31 - 1))
def test_a_class_of_lengths_is_narrow_and_holds_its_lengths(length):
    counts = no_lengths()
    counts[class_of(length)] = 3
    ((least, most, n),) = rows_of(counts)
    assert (least <= length <= most, n) == (True, 3)
    assert most - least <= length / 64
    assert class_of(2**40) == N_CLASSES - 1


def test_counts_lengths_and_contigs_are_those_of_the_oracle(run, command):
    facts, _ = run("-x", "ref.fmx", "reads.fq", "-m", 9, "--counts", "counts.tsv")
    totals = [len(naive.locate(CONTIGS, read)) if read else 0 for read in READS]
    known = [n if n <= 9 else 0 for n in totals]
    assert facts["counts"] == {
        "reads": len(READS), "bases": sum(map(len, READS)), "mapped": sum(n > 0 for n in known),
        "unique": known.count(1), "suppressed": sum(n > 9 for n in totals), "unmapped": totals.count(0),
        "cannot_occur": 2, "occurrences": sum(known),
    }  # fmt: skip
    assert facts["counts"]["suppressed"] > 0
    assert facts["lengths"] == table_of(map(len, READS))
    assert facts["multiplicity"] == table_of(filter(None, known))
    assert len(facts["multiplicity"]) > 2
    strands = Counter(place[2] for read, n in zip(READS, known, strict=True) if n
                      for place in naive.locate(CONTIGS, read))  # fmt: skip
    assert facts["strands"] == {"forward": strands[naive.FORWARD], "reverse": strands[naive.REVERSE]}
    assert min(facts["strands"].values()) > 0
    assert "mismatches" not in facts
    assert facts["shares"]["mapped"] == round(facts["counts"]["mapped"] / len(READS), 6)
    names = "name", "length", "reads", "hits", "unique", "fractional"
    lines = [line.split("\t") for line in Path("counts.tsv").read_text().splitlines()[1:]]
    assert facts["contigs"] == [
        dict(zip(names, (row[0], *map(int, row[1:5]), float(row[5])), strict=True)) for row in lines
    ]
    assert (facts["format"], facts["command"], facts["options"]["m"]) == (1, "search", 9)
    assert facts["inputs"] == [{"path": "reads.fq", "bytes": Path("reads.fq").stat().st_size}]
    assert {"read", "search", "format", "write"} <= facts["stages"]["CPU"].keys()


@pytest.mark.parametrize("more", [[], ["--strata"], ["-m", "3"], ["--counts", "c.tsv", "--seed", "3"]])
def test_mismatches_and_strands_of_near_matches_are_those_that_sam_tells(more, run, folder):
    reads = [read[:9] + ("A" if read[9:10] != "A" else "C") + read[10:] if i % 3 else read
             for i, read in enumerate(READS) if len(read) > 15]  # fmt: skip
    (folder / "reads.fq").write_bytes(cases.fastq([(f"r{i}", read) for i, read in enumerate(reads)]))
    facts, sam = run("-x", "ref.fmx", "reads.fq", "--mismatches", 2, "-a", *more)
    fewest, strands, times = {}, Counter(), Counter()
    for line in sam.splitlines():
        (name, flag, *_) = line.split("\t")
        if name[0] == "@" or int(flag) & 4:
            continue
        n = int(re.search(r"\tNM:i:([0-9]+)", line)[1])
        fewest[name] = min(n, fewest.get(name, n))
        strands["reverse" if int(flag) & 16 else "forward"] += 1
        times[name] += 1
    assert facts["mismatches"] == table_of(fewest.values())
    assert len(facts["mismatches"]) > 1
    assert facts["strands"] == strands
    assert facts["multiplicity"] == table_of(times.values())


def test_a_page_shows_most_of_what_is_much(run):
    """Of long tables the rows with the most reads, of lengths all but a few very long ones."""
    facts, _ = run("-x", "ref.fmx", "reads.fq")
    row = {"name": "c", "length": 9, "reads": 1, "hits": 1, "unique": 1, "fractional": 1.0}
    facts["contigs"] = [{**row, "name": f"contig {i}", "reads": i} for i in range(31)]
    facts["screen"] = [{"groups": [f"g{i}", "h"], "reads": i} for i in range(32)]
    facts["lengths"] = [[5, 5, 300], [6, 8, 699], [9000, 9063, 1]]
    page = html(facts).decode().replace("<wbr>", "")
    assert "The 30 of 31 contigs with the most reads" in page
    assert (">contig 30<" in page, ">contig 1<" in page, ">contig 0<" in page) == (True, True, False)
    assert "The 30 of 32 combinations with the most reads" in page
    assert (">g2, h<" in page, ">g1, h<" in page) == (True, False)
    assert "1 reads with more are not shown" in page
    assert re.search(r">5 bases<.*>300<.*>6 bases<.*>699<", page, re.DOTALL)
    facts["lengths"], facts["contigs"], facts["screen"] = [[5, 5, 999], [9000, 9063, 1]], [], []
    page = html(facts).decode()
    assert "999 of 1,000 reads have 5 bases; 1 have more, up to 9,063." in page
    assert "with the most reads" not in page
    facts["lengths"] = [[5, 5, 1000]]
    assert "All reads have 5 bases." in html(facts).decode()


def test_a_screen_tells_of_groups(run, folder):
    cases.build(folder / "other.fmx", [("x", random_letters(200, "other") + UNIT[:60])])
    facts, _ = run("-x", "ref.fmx", "-x", "other.fmx", "reads.fq", "--screen", "s.tsv")
    rows = [line.split("\t") for line in Path("s.tsv").read_text().splitlines()[1:]]
    assert [[",".join(row["groups"]), row["reads"]] for row in facts["screen"]] == [
        [row[0], int(row[2])] for row in rows if row[0] != "*"
    ]
    reads = {row["name"]: row["reads"] for row in facts["groups"]}
    for name in ("ref", "other"):
        assert reads.pop(name) == sum(int(row[2]) for row in rows if name in row[0].split(","))
    assert reads == {}
    assert [each["index"] for each in facts["references"]] == ["ref.fmx", "other.fmx"]
    page = html(facts).decode()
    assert [words in page for words in ("combination of indexes", "combination of groups")] == [True, False]


@pytest.mark.parametrize("v", [0, 2])
def test_inserts_are_those_that_sam_tells(v, run):
    facts, sam = run("-x", "ref.fmx", *PAIRS, "-a", "--mismatches", v)
    records = [line.split("\t") for line in sam.splitlines() if not line.startswith("@")]
    first = [abs(int(row[8])) for row in records if int(row[1]) & 0x142 == 0x42]
    assert facts["inserts"] == table_of(first)
    assert facts["counts"]["proper"] == len(first) > 15
    assert sum(n for *_, n in facts["lengths"]) == facts["counts"]["reads"] == 2 * len(MATES)
    assert sum(n for *_, n in facts["multiplicity"]) == facts["counts"]["proper"]
    assert sum(n * times for n, _, times in facts["multiplicity"]) == facts["counts"]["proper_pairs"]
    best: dict = {}
    for row in records:
        if int(row[1]) & 0x102 == 2:
            best[row[0]] = best.get(row[0], 0) + int(row[13][5:])
    rows = table_of(best.values())
    assert facts.get("mismatches") == (rows if v else None)
    assert len(rows) == (3 if v else 1)


@pytest.mark.parametrize("reads", [["reads.fq"], PAIRS, ["reads.fq", "--mismatches", 2, "-a", "--strata"]])
def test_reports_of_shards_are_added_up(reads, run, command):
    whole, _ = run("-x", "ref.fmx", *reads)
    for i in (1, 2):
        shard = ["--shard", f"{i}/2", "-o", "d", "--report", "m.json", "--report", "m.html"]
        assert command("search", "-x", "ref.fmx", *reads, *shard).code == 0
    assert not Path("m.json").exists()
    done = command("merge", "d", "-o", "m.sam")
    assert done.code == 0, done.err
    merged = json.loads(Path("m.json").read_text())
    known = ("counts", "shares", "lengths", "inserts", "contigs", "inputs", "references", "strands",
             "multiplicity", "mismatches")  # fmt: skip
    assert {name: merged.get(name) for name in known} == {name: whole.get(name) for name in known}
    assert (merged["shards"], merged["options"].get("shard")) == (2, None)
    assert "2 shards" in Path("m.html").read_text()


def test_matches_are_counted_by_their_lengths(run, command):
    run("-x", "ref.fmx", "reads.fq")
    mem = ["mem", "-q", "-x", "ref.fmx", "-b", "-l", 9, "reads.fq", "--format", "tsv"]
    done = command(*mem, "-o", "m.tsv", "--report", "m.json", "--report", "m.html")
    assert done.code == 0, done.err
    facts = json.loads(Path("m.json").read_text())
    rows = [line.split("\t") for line in Path("m.tsv").read_text().splitlines()[1:]]
    found = [int(row[7]) for row in rows]
    assert facts["match_lengths"] == table_of(found)
    assert facts["counts"] == {"queries": len(READS), "bases": sum(map(len, READS)), "matches": len(found)}
    assert facts["lengths"] == table_of(map(len, READS))
    signs = Counter(row[3] for row in rows)
    assert facts["strands"] == {"forward": signs["+"], "reverse": signs["-"]}
    assert min(facts["strands"].values()) > 0
    assert {"read", "parse", "match", "format", "write"} == facts["stages"]["CPU"].keys()
    assert "Lengths of matches" in Path("m.html").read_text()
    for i in (1, 2):
        assert command(*mem, "--shard", f"{i}/2", "-o", "d", "--report", "s.json").code == 0
    assert command("merge", "d", "-o", "s.tsv").code == 0
    merged = json.loads(Path("s.json").read_text())
    for name in ("counts", "lengths", "match_lengths", "strands"):
        assert merged[name] == facts[name]


def test_what_is_left_makes_another_run_and_the_name_of_a_report_does_not(folder):
    (folder / "q.fa").write_text(">q\nACGT\n")

    def run(**output):
        return identity(MemJob(IndexChoice(()), ("q.fa",), MemOptions(), MemOutput(**output)))

    assert run(lengths=True) != run()
    assert run(report=Report(("x.json",), {"fmx": "1"})) == run(report=Report(("y.html",), {}))
    assert run(report=Report(("x.json",), {})) != run()


@pytest.mark.parametrize("words", [
    "search -x ref.fmx none.fq", "search -x ref.fmx none.fq --mismatches 2", "search -x ref.fmx empty.fq",
    "search -x ref.fmx --interleaved none.fq", "search -x ref.fmx none.fq --screen s.tsv",
    "search -x ref.fmx none.fq --min-match", "mem -x ref.fmx none.fq",
    "mem -x ref.fmx empty.fq", "count -l guides.csv none.fq --offset 0", "count -l guides.csv empty.fq",
    "offtargets -l guides.csv ref.fmx",
])  # fmt: skip
def test_a_page_tells_that_nothing_was_found(words, folder, command):
    cases.build(folder / "ref.fmx", CONTIGS)
    guides = {"g1": "TG" * 10, "g2": "GT" * 10}
    (folder / "guides.csv").write_text("".join(f"{name},{guide}\n" for name, guide in guides.items()))
    (folder / "none.fq").write_bytes(cases.fastq(2 * [("r", "TTTTTGGGGG" * 4)]))
    (folder / "empty.fq").touch()
    done = command(
        *words.split(), "-q", *([] if "min-match" in words else ["-o", "out"]), "--report", "r.html"
    )
    assert (done.code, "Traceback" in done.err) == (0, False), done.err
    assert "</html>" in Path("r.html").read_text()


@pytest.mark.parametrize(
    ("reports", "what"),
    [
        (["run.txt"], "run.txt: the name of a report must end with .json, .html or _mqc.json (for MultiQC)"),
        (["_mqc.json"], "_mqc.json: the name of a report must end with"),
        (["-"], "-: the name of a report must end with"),
        (["a.json", "b.json"], "a.json and b.json are reports of the same kind: give one of them"),
        (["ref.fmx/a.json"], "lies in ref.fmx"),
    ],
)
def test_a_report_in_a_wrong_place_is_refused(reports, what, run, command):
    done = command(
        "search", "-x", "ref.fmx", "reads.fq", "-o", "o.sam",
        *(word for path in reports for word in ("--report", path)),
    )  # fmt: skip
    assert done.code == 2
    assert what in done.err


def test_multiqc_shows_fmx_with_a_bar_for_each_sample(run):
    program = ROOT / ".venv" / "multiqc" / "bin" / "multiqc"
    if not program.exists():
        missing("multiqc is not installed; tests/install_peers.sh does that")
    Path("logs").mkdir()
    facts = {}
    for what, reads in (("reads", ["reads.fq", "-m", 9]), ("pairs", PAIRS)):
        for lane in ("lane1", "lane2"):
            report = f"logs/{what}_{lane}_mqc.json"
            facts[what, f"{what}_{lane}"] = run("-x", "ref.fmx", *reads, "--report", report)[0]
    subprocess.run([program, "--outdir", "qc", "logs"], check=True, capture_output=True)
    page = Path("qc/multiqc_report.html").read_text()
    assert re.search(r'<a [^>]*href="#fmx"[^>]*>\s*(<[^>]*>)*\s*fmx', page), "no module of this name"
    assert "owtie" not in re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
    names, *lines = Path("qc/multiqc_data/multiqc_general_stats.txt").read_text().splitlines()
    shares = {line.split("\t")[0]: [float(x) for x in line.split("\t")[1:] if x] for line in lines}
    plots = {what: Path(f"qc/multiqc_data/multiqc_fmx_{what}_plot.txt").read_text() for what, _ in facts}
    for (what, sample), told in facts.items():
        counts, some = told["counts"], "proper" if what == "pairs" else "mapped"
        expected = {"once": counts["unique"], "several times": counts[some] - counts["unique"]}
        expected |= {"more often than -m": counts["suppressed"]} if what == "reads" else {}
        nowhere = "not as proper pairs" if what == "pairs" else "nowhere"
        expected[nowhere] = counts[what] - sum(expected.values())
        names, *lines = (line.split("\t") for line in plots[what].splitlines())
        (values,) = [line[1:] for line in lines if line[0] == sample]
        assert dict(zip(names[1:], map(float, values), strict=True)) == expected
        assert shares[sample] == [counts[what], round(100 * counts[some] / counts[what], 2)]
        assert f"Mapped {what}" in page


def test_the_page_shows_what_there_is_and_names_no_option_that_was_not_used(run):
    def page_of(*arguments) -> str:
        run("-x", "ref.fmx", *arguments, "--report", "run.html")
        return Path("run.html").read_text()

    page = page_of("reads.fq")
    assert re.search(r">[0-9.]+ % once</td>", page)
    assert re.search(r"Lengths of reads</h2>\n<div><table", page)
    assert [words for words in ("-m<", "Mismatches") if words in page] == []
    assert "more often than -m" in page_of("reads.fq", "-m", 9)
    Path("same.fq").write_bytes(cases.fastq([(f"r{i}", UNIT[i : i + 30]) for i in range(200, 260)]))
    page = page_of("same.fq")  # without a histogram of one column
    assert "All reads have 30 bases." in page
    assert "All mapped reads have 1 occurrence." in page
    assert not re.search(r"Lengths of reads</h2>\n<div><table", page)
    for name, _ in CONTIGS:
        assert len(re.findall(f">{re.escape(name)}<", page)) == 1
    page = page_of("reads.fq", "--mismatches", 1).replace("<wbr>", "")
    assert "Mismatches in the best hit" in page
    assert re.search(r">0 mismatches<.*>1 mismatch<", page, re.DOTALL)
    assert "Strands of occurrences" in page
    assert re.search(r">as given [(][+][)]</td>", page)
    assert re.search(r"Occurrences per mapped read</h2>\n<div><table", page)
    Path("none.fq").write_bytes(cases.fastq([("r", "T" * 33)]))
    assert "Strands" not in page_of("none.fq")


# The page in a browser without network.

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")


@pytest.fixture
def browser(tmp_path):
    """A function: its arguments -> what the browser writes of run.html."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        missing("there is no chromium; tests/install_peers.sh installs one")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]

    def browser(*arguments):
        page = Path("run.html").absolute().as_uri()
        for name in ("profile1", "profile2"):  # on a busy machine once more
            line = [program, *options, f"--user-data-dir={tmp_path / name}", *arguments, page]
            done = subprocess.run(line, capture_output=True, check=False)
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode()

    return browser


MEASURE = """<script>
const inside = (box) => box.left >= 0 && box.right <= window.innerWidth + 1
const bars = [...document.querySelectorAll(".bars")]
document.title = `width ${document.documentElement.scrollWidth}, ` +
  `figures ${bars.length} ${bars.every((bar) => inside(bar.getBoundingClientRect()))}`
</script>"""


@pytest.mark.parametrize(("window", "least"), [(1200, 800), (400, 300)])
def test_the_page_of_a_count_with_many_samples_fits_its_window(window, least, folder, command, browser):
    """By a script that is added to it; words as long as those that people give to samples and genes."""
    guides = [(f"a_guide_with_a_long_name_{i}", random_letters(20, f"wide {i}")) for i in range(40)]
    Path("l.csv").write_text("".join(f"{name},{bases},a_gene_{name}\n" for name, bases in guides))
    samples = [f"a_sample_with_a_long_name_{i}.fq" for i in range(12)]
    for i, sample in enumerate(samples):
        Path(sample).write_bytes(cases.fastq([(f"r{j}", bases) for j, (_, bases) in enumerate(guides[i:])]))
    done = command(
        "count", "-q", "-l", "l.csv", *samples, "--offset", 0, "--report", "run.html", "-o", "c.tsv"
    )
    assert done.code == 0, done.err
    for name in re.findall(r'<td class="name">(.*?)</td>', Path("run.html").read_text()):
        assert all(re.fullmatch(r"[^\W_]*[\W_]+", piece) for piece in name.split("<wbr>")[:-1])
    with open("run.html", "a") as page:
        page.write(MEASURE)
    dom = browser("--dump-dom", f"--window-size={window},900")
    found = re.search(r"<title>width (\d+), figures (\d+) (\w+)", dom)
    assert found
    assert least < int(found[1]) <= window
    assert (int(found[2]), found[3]) == (2, "true")  # no figure must be moved to be seen
