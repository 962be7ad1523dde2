"""The examples of docs/examples and docs/cluster.md: Snakemake, Nextflow, Slurm, MultiQC, Galaxy."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from string import Template
from xml.etree import ElementTree

import pytest
from output_of import bgzf, without_program
from texts import numbered, random_letters

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PROGRAMS = [ROOT / ".venv" / name / "bin" for name in ("snakemake", "multiqc")]
CONTIGS = numbered([random_letters(3000, "one"), random_letters(2000, "two")])
needs_programs = pytest.mark.skipif(
    not all((folder / folder.parent.name).exists() for folder in PROGRAMS) and os.environ.get("CI") != "true",
    reason="tests/install_peers.sh installs Snakemake and MultiQC",
)


def block_of(word) -> str:
    """The indented block of the page that holds a word."""
    page = (ROOT / "docs" / "cluster.md").read_text()
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", page, re.MULTILINE)
    (block,) = (block for block in blocks if word in block)
    return re.sub("^ {4}", "", block, flags=re.MULTILINE)


@pytest.fixture
def home(index_of, tmp_path):
    """A folder with ref.fmx and its FASTA, reads, and fmx to be called by name."""
    letters = CONTIGS[0][1]
    reads = b"".join(b"@r%d\n%s\n+\n%s\n" % (i, letters[i : i + 40].encode(), b"I" * 40) for i in range(2900))
    for name in ("reads", "A", "B"):
        (tmp_path / f"{name}.fq.gz").write_bytes(bgzf(reads, 60_000))
    fasta = "".join(f">{name}\n{text}\n" for name, text in CONTIGS)
    (tmp_path / "ref.fa.gz").write_bytes(gzip.compress(fasta.encode()))
    (tmp_path / "ref.fmx").symlink_to(index_of(CONTIGS))
    (tmp_path / "fmx").write_text(f'#!/bin/sh\nexec {sys.executable} -m fmx "$@"\n')
    (tmp_path / "fmx").chmod(0o755)
    return tmp_path


def run(home, command, folder=None, **variables):
    """What a shell command writes, in the folder or one of its own."""
    path = ":".join(map(str, [home, *PROGRAMS, os.environ["PATH"]]))
    environment = {**os.environ, "PATH": path, **variables}
    done = subprocess.run(
        command, shell=True, cwd=folder or home, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def is_right(home, path, sort=False) -> bool:
    """Does a SAM or BAM file hold what one run writes?"""
    run(home, f"fmx search -q -x ref.fmx reads.fq.gz -o one.bam {'--sort' * sort}")
    texts = [run(home, f"samtools view --no-PG -h {name}") for name in (path, "one.bam")]
    return without_program(texts[0]) == without_program(texts[1])


def test_the_pages_show_the_examples():
    pages = [(ROOT / "docs" / f"{name}.md").read_text() for name in ("pipelines", "cluster")]
    for name in ("snakemake/Snakefile", "nextflow/main.nf", "slurm/array.sh", "slurm/samples.sh"):
        text = (EXAMPLES / name).read_text()
        assert any(text in re.sub("^ {4}", "", page, flags=re.MULTILINE) or text in page for page in pages)


@needs_programs
def test_the_snakefile(home):
    (home / "ref.fmx").unlink()
    (home / "Snakefile").write_text((EXAMPLES / "snakemake" / "Snakefile").read_text())
    run(home, "snakemake -q --cores 2")
    assert (home / "qc" / "multiqc_report.html").exists()
    assert all(is_right(home, f"{sample}.bam", sort=True) for sample in "AB")


@needs_programs
def test_the_snakefile_of_shards(home):
    (home / "Snakefile").write_text(block_of("rule shard").replace("N = 64", "N = 2"))
    run(home, "snakemake -q -c 2 all.bam")
    assert sorted(path.name for path in (home / "bam.d").iterdir()) == ["0001-of-0002", "0002-of-0002"]
    assert is_right(home, "all.bam")


@needs_programs
def test_the_script_for_multiqc(home):
    run(home, f"sh {EXAMPLES / 'multiqc' / 'run.sh'}")
    rows = (home / "qc" / "multiqc_data" / "multiqc_general_stats.txt").read_text().splitlines()
    assert [row.split("\t")[0] for row in rows[1:]] == ["A", "B"]


def test_the_process_of_nextflow(home):
    """A task in a folder of its own, with its inputs as links."""
    (script,) = re.findall('"""(.*?)"""', (EXAMPLES / "nextflow" / "main.nf").read_text(), re.DOTALL)
    for name, value in (
        ("index", "ref.fmx"),
        ("reads", "A.fq.gz"),
        ("reads.simpleName", "A"),
        ("task.cpus", "1"),
    ):
        script = script.replace(f"${{{name}}}", value)
    (home / "task").mkdir()
    for name in ("ref.fmx", "A.fq.gz"):
        (home / "task" / name).symlink_to(home / name)
    run(home, script, home / "task")
    assert is_right(home, "task/A.bam", sort=True)
    assert (home / "task" / "A_mqc.json").exists()


def test_the_jobs_of_slurm(home):
    """Its script, run as a scheduler runs it, one task after the other, and again after a task was lost."""
    script = f"sh {EXAMPLES / 'slurm' / 'array.sh'}"
    (merge,) = re.findall('--wrap "(.*)"', (EXAMPLES / "slurm" / "submit.sh").read_text())
    for i in (1, 3):
        run(home, script, SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT="3")
    with pytest.raises(AssertionError, match=r"missing: 2 \(of 3\)"):
        run(home, merge)
    for i in (1, 2, 3):
        run(home, script, SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT="3")
    run(home, merge)
    assert is_right(home, "all.sam")


def test_the_tool_of_galaxy(home):
    """The command of its own test."""
    tool = ElementTree.parse(EXAMPLES / "galaxy" / "fmx_search.xml").getroot()
    test, values = tool.find("tests/test"), {"hits": "hits.dat", "counts": "counts.dat"}
    for param in tool.findall("inputs/param"):
        name = param.get("name") or param.get("argument").lstrip("-")
        values[name] = param.get("falsevalue") or param.get("value") or ""
    for param in test.findall("param"):
        values[param.get("name")] = str(EXAMPLES / "galaxy" / "test-data" / param.get("value"))
    command = tool.find("command").text.replace("\\${GALAXY_SLOTS:-1}", "1").replace("\n", " ")
    run(home, Template(command).substitute(values))
    lines = (home / "counts.dat").read_text().splitlines()
    checks = test.find("output/assert_contents")
    assert lines[0] == checks.find("has_line").get("line")
    assert len(lines) == int(checks.find("has_n_lines").get("n"))
    assert len(run(home, "samtools view hits.dat").splitlines()) == 5
