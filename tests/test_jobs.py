"""The commands of the pages for users run, and give the results shown: guide.md, probes.md, pipelines.md."""

import functools
import gzip
import itertools
import os
import re
import runpy
import shutil
import subprocess
from itertools import islice

import pytest
from conftest import ROOT
from output_of import records_in
from test_docs import code_of, sections
from test_without_gpu_packages import fill, write_command

DOCS = ROOT / "docs"
pytestmark = pytest.mark.xdist_group("jobs")  # the pages share their indexes


def records(data, name) -> list:
    """[(first word of the name, letters)] of a shared file of FASTA."""
    text = gzip.decompress(data(name).read_bytes()).decode()
    parts = [record.partition("\n") for record in text.split(">")[1:]]
    return [(head.split()[0], rest.replace("\n", "")) for head, _, rest in parts]


def fasta(pairs) -> str:
    return "".join(f">{name}\n{letters}\n" for name, letters in pairs)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """The files that the pages name."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, source in (("yeast", "scerevisiae_sacCer3.fa"), ("ecoli", "ecoli536_NC_008253.fna")):
        (folder / f"{name}.fa.gz").symlink_to(data(f"{source}.gz"))
    (folder / "lambda.fa.gz").symlink_to(data("lambda_NC_001416.fa.gz"))
    yeast = dict(records(data, "scerevisiae_sacCer3.fa.gz"))
    with gzip.open(data("yeast_SRR5204809_input1_R1.fastq.gz"), "rt") as file:
        (folder / "reads.fq.gz").write_bytes(gzip.compress("".join(islice(file, 20000)).encode(), 1))
    guides = data("mageck_demo_library.txt").read_text()
    (folder / "guides.txt").write_text(guides)
    (folder / "barcodes.fa").write_text(fasta(line.split()[:2] for line in guides.splitlines()))
    lines = data("mageck_demo_test1.fastq").read_text().splitlines(keepends=True)
    for name, part in (("R1", lines), ("day0", lines[:5000]), ("day14", lines[5000:])):
        (folder / f"{name}.fq.gz").write_bytes(gzip.compress("".join(part).encode()))
    three = yeast["chrIII"].upper()
    probes = [(f"chrIII_{i}", three[i : i + 40]) for i in range(0, len(three) - 40, 1000)]
    (folder / "probes.fa").write_text(fasta(probes))
    for kind, species in (("hairpin", "hsa-"), ("mature", "mmu-")):
        found = [pair for pair in records(data, f"mirbase_{kind}.fa.gz") if pair[0].startswith(species)]
        (folder / f"{kind}.fa").write_text(fasta(found))
    table = (DOCS / "probes.md").read_text().split("primers.csv:\n\n")[1].split("\n\n")[0]
    (folder / "primers.csv").write_text("".join(f"{row.strip()}\n" for row in table.splitlines()))
    ((_, coli),) = records(data, "ecoli536_NC_008253.fna.gz")
    (folder / "query.fa").write_text(fasta([("query", coli[1000:3000] + "ACGT" + coli[3000:9000])]))
    (folder / "genes.fa").write_text(fasta(records(data, "rRNA16S.gold.fasta.gz")[:30]))
    return folder


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    """A function: a line for the shell, run in the folder -> the CompletedProcess."""
    programs = tmp_path_factory.mktemp("bin")
    write_command(programs)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}"}

    @functools.cache  # pages begin with the same index
    def run(line, place=folder) -> subprocess.CompletedProcess:
        shell = ["bash", "-o", "pipefail", "-c", line]
        done = subprocess.run(shell, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (line, done.stderr)
        return done

    return run


def rows(path) -> list:
    return [line.split("\t") for line in path.read_text().splitlines()]


def rows_of(text) -> list:
    return [line.split() for line in text.splitlines() if not line.startswith(">")]


JOBS = [
    re.findall(r"`(.*?)`", line.split(" | ")[1])
    for line in sections(DOCS / "guide.md")["jobs"].splitlines()
    if line.startswith("| ") and "`fmx" in line
]


@pytest.fixture(scope="module")
def jobs(run, folder, tmp_path_factory):
    """A copy of the folder in which all commands of the table have been run, from top to bottom."""
    for line in itertools.chain(*JOBS):
        assert line.startswith("fmx ")
        run(line)
    copy = tmp_path_factory.mktemp("done") / "jobs"  # as other pages write files of the same names
    return shutil.copytree(folder, copy, symlinks=True, copy_function=os.link)


def test_each_job_of_the_table_makes_what_it_names_and_it_is_right(jobs):
    assert len(JOBS) >= 8
    option = r"(?:-o|--counts|--screen|--un) (\w\S+)"
    made = [name for commands in JOBS for line in commands for name in re.findall(option, line)]
    assert len(made) > 12
    for name in made:
        path = jobs / name
        assert path.is_dir() or path.stat().st_size > 50, name
    screen = {row[0]: int(row[2]) for row in rows(jobs / "screen.tsv")[1:]}
    strains = {row[0]: int(row[2]) for row in rows(jobs / "strains.tsv")[1:]}
    assert screen["yeast"] > strains["yeast"] > 4000  # near and exact matches
    assert {tuple(row[1:]) for row in rows(jobs / "strains.Rtab")[1:]} == {("1", "0")}  # yeast's probes
    assert screen["yeast"] + screen["*"] + screen.get("ecoli", 0) <= 5000
    guides = {row[0]: (int(row[2]), int(row[3])) for row in rows(jobs / "guides.tsv")[1:]}
    cells = [row for row in rows(jobs / "cells.tsv")[1:] if row[6] == "0"]
    assert sum(map(sum, guides.values())) == len(cells) > 1000
    products = [row for row in rows(jobs / "products.tsv")[1:] if row[0] == "16S_27F_1492R"]
    assert len(products) >= 7  # the genes of this genome
    sites = rows(jobs / "sites.tsv")[1:]
    once = {row[0] for row in rows(jobs / "specific.tsv")[1:]}
    assert once == {row[0] for row in sites if row[5] == "1"}
    # The longest matches of the query are what it was made of.
    longest = sorted(rows_of((jobs / "matches.mums").read_text()), key=lambda row: -int(row[-1]))[:2]
    assert {tuple(map(int, row[-3:])) for row in longest} == {(3001, 2005, 6000), (1001, 1, 2000)}
    assert len(rows(jobs / "pairs.tsv")) >= 1


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The folder that docs/example_files.py writes."""
    folder = tmp_path_factory.mktemp("examples")
    runpy.run_path(str(DOCS / "example_files.py"))["write"](folder)
    return folder


@pytest.mark.parametrize(
    ("name", "section"),
    [("probes", "probes"), ("count", "barcodes"), ("pairs", "near-matches"), ("off-targets", "example")],
)
def test_the_commands_of_a_page_tell_what_it_says(name, section, jobs, run, folder, examples):
    page = sections(DOCS / f"{name}.md")[section]
    place = examples / name if (examples / name).exists() else folder
    blocks = re.findall(r"(?:^    .*\n)+", page, re.MULTILINE)
    said, last, done = "", "", []
    for block in blocks:
        lines = [line[4:] for line in block.splitlines() if not line.startswith("    curl ")]
        if lines[0].startswith("zcat "):
            known = (folder / "probes.fa").read_bytes()
            run(lines[0], place)
            assert (folder / "probes.fa").read_bytes() == known
        elif lines[0].startswith(("fmx ", "mkdir ")):
            done = [run(line, place) for line in lines]
            said, last = "".join(each.stderr for each in done), lines[-1]
        elif lines[0].startswith("fmx: "):
            assert re.split(r"; (0|\.\.)\.", lines[0])[0] in said, said
        else:  # the first lines of what the command before has written, or of its output
            written = [(place / name).read_text() for name in re.findall(r"-o (\S+)", last)]
            (text,) = written or [done[-1].stdout]
            assert [line.split() for line in lines] == rows_of(text)[: len(lines)]


@pytest.mark.parametrize("name", ["align", "install", "mem", "pairs"])
def test_the_commands_of_a_page_run(name, run, examples, peer):
    peer("samtools")
    place, page = examples / name, (DOCS / f"{name}.md").read_text().split("## Extras")[0]
    place.mkdir(exist_ok=True)
    if name == "install":
        for file in ("lambda.fa.gz", "lambda_reads.fq.gz"):
            (place / file).symlink_to(ROOT / "fmx" / "data" / file)
    said = "".join(run(line, place).stderr for line in code_of(page) if line.startswith("fmx "))
    for shown in re.findall(r"^    fmx: (.*); \.\.\.$", page, re.MULTILINE):
        assert shown in said


def test_the_commands_of_pipelines_one_after_the_other(run, peer, tmp_path):
    peer("samtools")
    folder = fill(tmp_path)

    def records(name, region=None) -> list:
        return ["\t".join(record) for record in records_in(folder / name, region)]

    for line in code_of((DOCS / "pipelines.md").read_text()):
        assert "error" not in run(line, folder).stderr, line
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "hits.bam", "hits.bam.bai", "hits.cram", "hits.cram.crai", "A.bam", "A.bam.bai", "A.tsv", "B.bam",
        "all.bam", "logs", "phage.fq.gz", "clean.fq.gz", "counts.tsv", "hits.bed", "hits.parquet",
    }  # fmt: skip
    assert not any(name.endswith(".partial") for name in names)
    cram = records("hits.cram")
    assert [line.removesuffix("\tRG:Z:lane1") for line in records("hits.bam")] == cram
    assert sorted(cram) == sorted(records("piped.bam"))
    assert all(line.endswith("\tRG:Z:lane1") for line in records("from_bam.bam"))
    assert len(records("A.bam", "lambda:1000-2000")) > 10
    assert sorted(records("all.bam")) == sorted(records("A.bam") + records("B.bam"))
