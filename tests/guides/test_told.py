"""What is told of samples: the table, JSON, and the report, all of the same numbers."""

import json
import math
import re
from html import unescape

import numpy as np
import pytest

from fmx.guides.results import gini, skew
from fmx.report.page import above_chance

LIBRARY = {"a": "ACGTACGT", "b": "ACGTACGA", "c": "GGGGTTTT", "d": "CCCCCCAA"}
READS = {"ACGTACGT": 5, "ACGTACGC": 2, "GGGGTTTA": 3, "TTTTAAAA": 4, "TTTTACAA": 2, "NNNNNNNN": 1, "ACG": 1}


@pytest.fixture
def told(folder, command):
    """The outputs of a run over two samples: the second holds the reads of the first twice."""
    (folder / "l.csv").write_text("".join(f"{name},{x}\n" for name, x in LIBRARY.items()))
    records = "".join(n * f"@r\nTT{x}\n+\nII{len(x) * 'I'}\n" for x, n in READS.items())
    low = "@r\nTTACGTACGT\n+\nIIIII#IIII\n"
    (folder / "one.fq").write_text(records + low)
    (folder / "two <b>.fq").write_text(2 * (records + low))
    done = command(
        "count", "-l", "l.csv", "one.fq", "two <b>.fq", "--offset", 2, "--forward-only", "--mismatches", 1,
        "--min-quality", 10, "-o", "c.tsv", "--report", "s.tsv", "--report", "s.json", "--report", "r.html",
        "--report", "r_mqc.json",
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder, done


def test_the_table_and_json_tell_the_same(told):
    folder, done = told
    lines = [line.split("\t") for line in (folder / "s.tsv").read_text().splitlines()]
    found = dict(zip(lines[0], lines[1], strict=True))
    assert found == {
        "sample": "one", "reads": "19", "assigned": "8", "assigned_share": "0.4211", "one_letter_off": "3",
        "ambiguous": "2", "low_quality": "1", "recombined": "0", "unassigned": "8",
        "guides": "4", "zero_guides": "2",
        "gini": f"{gini(np.array([5, 0, 3, 0])):.4f}", "offsets": "+2:8", "offsets_of_mates2": "",
        "low_guides": "4", "mean_reads": "2.00", "median_reads": "1.50", "skew": "",
        "lost_guides": "b,d",
    }  # fmt: skip
    about = json.loads((folder / "s.json").read_text())
    assert about["library"] == {"path": "l.csv", "guides": 4}
    assert (about["options"]["offset"], about["options"]["min-quality"]) == ([[2]], 10)
    assert about["counts"] == {
        "reads": 57, "assigned": 24, "one_letter_off": 9, "ambiguous": 6, "low_quality": 3, "recombined": 0,
        "unassigned": 24,
    }  # fmt: skip
    assert about["shares"]["assigned"] == round(24 / 57, 6)
    assert {"read", "count"} == about["stages"]["CPU"].keys()
    one, two = about["samples"]
    assert one["lost_guides"] == two["lost_guides"] == ["b", "d"]
    assert one["top_unassigned"] == [
        {"sequence": "TTTTAAAA", "reads": 4}, {"sequence": "TTTTACAA", "reads": 2},
    ]  # fmt: skip
    numbers = [two[name] for name in ("sample", "files", "reads", "assigned")]
    assert numbers == ["two <b>", ["two <b>.fq"], 38, 16]
    assert one["offsets"] == [{"mate": 1, "offset": 2, "strand": "+", "reads": 8}]
    said = "fmx: one: 19 reads: 8 assigned (42.11 %), 2 ambiguous, 1 of low quality, 8 unassigned; "
    assert said in done.err


def test_multiqc_gets_a_bar_for_each_sample(told):
    section = json.loads((told[0] / "r_mqc.json").read_text())
    once = {"assigned": 8, "ambiguous": 2, "low quality": 1, "unassigned": 8}  # none is recombined
    assert section["data"] == {"one": once, "two <b>": {name: 2 * n for name, n in once.items()}}
    assert list(section["categories"]) == list(once)
    assert (section["plot_type"], section["parent_name"]) == ("bargraph", "fmx")
    general = json.loads((told[0] / "r_general_mqc.json").read_text())
    shares = {"% assigned": 42.11, "% guides without reads": 50.0}
    assert general["data"] == {"one": {"Reads": 19, **shares}, "two <b>": {"Reads": 38, **shares}}
    assert general["plot_type"] == "generalstats"


def test_the_report_is_a_page_that_needs_nothing_else(told):
    folder, _ = told
    page = (folder / "r.html").read_text().replace("<wbr>", "")
    texts = [unescape(text) for words in re.findall(">([^<]+)<", page) for text in words.split("; ")]
    assert {"two <b>", "42.11", "TTTTAAAA", "4 guides, 2 samples"} <= set(texts)
    assert re.findall(r"https?://[^\"]*|src=|<script|<link|url\(", page) == []
    bars = page.split('<table class="bars">')[1].split("</table>")[0]
    assert bars.count('<i style="width: ') == 2 * 4  # no read is recombined
    numbers = [float(number) for number in re.findall(r'<td style="background.*?>(.*?)<', page)]
    assert numbers == [1.0, 0.99, 0.99, 1.0] or numbers == 4 * [1.0]


def test_gini_is_that_of_mageck():
    def by_definition(counts):
        x = sorted(math.log(n + 1) for n in counts)
        pairs = sum(abs(a - b) for a in x for b in x)
        return pairs / (2 * len(x) * (len(x) - 1) * sum(x) / len(x))

    for counts in ([5, 0, 3, 0], [1, 1, 1], [7, 100, 3, 20, 0]):
        assert gini(np.array(counts)) == pytest.approx(by_definition(counts))
    assert (gini(np.array([0, 0])), gini(np.array([3]))) == (0.0, 0.0)
    assert all(f"{gini(np.full(n, count)):.3f}" == "0.000" for n in range(2, 40) for count in range(1, 9))


def test_skew_is_the_ratio_of_percentiles():
    assert skew(np.arange(11)) == 9
    assert skew(np.array([7, 7, 7])) == 1
    for n in (2, 5, 10, 37, 1001):
        counts = np.arange(n) * 7919 % 1009 + 1
        assert skew(counts) == pytest.approx(np.quantile(counts, 0.9) / np.quantile(counts, 0.1))
    assert skew(np.array([0, 0, 5])) is None


def test_unassigned_sequences_by_chance_are_not_listed():
    """Those of random windows, and errors of a more frequent one."""

    def listed(unassigned, **reads):
        rows = [{"sequence": bases, "reads": n} for bases, n in reads.items()]
        return [bases for bases, _ in above_chance({"unassigned": unassigned, "top_unassigned": rows})]

    known = ["TTTTAAAA", "TTTTAACC", "CCCCAAAA"]
    assert listed(9000, TTTTAAAA=900, TTTTAAAC=45, TTTTAACC=44, CCCCAAAA=9) == known
    assert listed(65536, TTTTAAAA=9, CCCCAAAA=8) == []  # one read for each sequence of 8 bases
    assert listed(65536, TTTTAAAA=12, CCCCAAAA=9) == ["TTTTAAAA"]
    assert listed(2, TTTTAAAACCCCGGGGTTTT=1, TTTTAAAACCCCGGGGAAAA=1) == []
    assert listed(10**6, TTTTAAAACCCCGGGGTTTT=3) == ["TTTTAAAACCCCGGGGTTTT"]
