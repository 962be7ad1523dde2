"""The page of a report, in a browser without network: what it says, and how it looks."""

import re
import shutil
import subprocess
from itertools import count
from pathlib import Path

import cases
import pytest
from conftest import missing
from PIL import Image
from texts import numbered, random_letters

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
WORDS = [
    "fmx search: m1.fq, m2.fq", "mapped as proper pairs", "Insert sizes of proper pairs", "Lengths of reads",
    "Contigs", "x&lt;1&gt;.fmx", "Seconds by stage, CPU", "--max-insert",
]  # fmt: skip


@pytest.fixture
def browser(tmp_path):
    """A function: its arguments -> what the browser writes of run.html."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        missing("there is no chromium; tests/install_peers.sh installs one")
    given = ["--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    profiles = count()

    def start(arguments):
        profile = f"--user-data-dir={tmp_path / f'profile{next(profiles)}'}"
        page = Path("run.html").absolute().as_uri()
        return subprocess.run(
            [program, *given, profile, *arguments, page], capture_output=True, check=False, timeout=60
        )

    def browser(*arguments):
        done = start(arguments)
        if done.returncode:  # as on a busy machine: once more
            done = start(arguments)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode()

    return browser


def test_the_page_shows_its_words_and_figures(folder, command, browser):
    unit = random_letters(2000, "page")
    cases.build(folder / "x<1>.fmx", numbered([unit, unit[:300]]))
    for mate in (1, 2):
        reads = [unit[i + 200 * (mate - 1) : i + 200 * (mate - 1) + 40] for i in range(0, 1700, 50)]
        turned = [
            read[::-1].translate(str.maketrans("ACGT", "TGCA")) if mate == 2 else read for read in reads
        ]
        records = [(f"r{i}", read[i % 9 :]) for i, read in enumerate(turned)]
        Path(f"m{mate}.fq").write_bytes(cases.fastq(records))
    done = command(
        "search", "-q", "-x", "x<1>.fmx", "-1", "m1.fq", "-2", "m2.fq", "--max-insert", 300, "-o", "o.sam",
        "--report", "run.html",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert not re.search("<script|<link|src=|url[(]", Path("run.html").read_text())
    text = browser("--dump-dom")
    assert [words for words in WORDS if words not in text] == []
    browser("--screenshot=page.png", "--window-size=1000,2400")
    with Image.open("page.png") as picture:
        colours = dict((colour[:3], n) for n, colour in picture.convert("RGB").getcolors(1 << 24))
    assert colours[0x44, 0x77, 0xAA] > 20_000  # columns and bars
    assert colours[255, 255, 255] < 0.98 * 1000 * 2400


MEASURE = """<script>
const inside = (box) => box.left >= 0 && box.right <= window.innerWidth + 1
const svgs = [...document.querySelectorAll("svg")]
const sizes = svgs.map((svg) => 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)
const bars = [...document.querySelectorAll(".bars, svg")]
document.title = `width ${document.documentElement.scrollWidth}, letters ${Math.min(...sizes)}, ` +
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
    found = re.search(r"<title>width (\d+), letters ([\d.]+), figures (\d+) (\w+)", dom)
    assert found
    assert least < int(found[1]) <= window
    assert float(found[2]) > 9  # pixels
    assert (int(found[3]), found[4]) == (3, "true")  # no figure must be moved to be seen
