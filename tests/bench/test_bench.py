"""fmx bench, what of it needs no device and no minutes."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.mark.parametrize("changed", [0.0, 0.5])
def test_simulated_reads_are_of_the_place_in_their_name(changed, tmp_path):
    from texts import random_letters

    from fmx.bench import files

    contigs = {"a": random_letters(300, 1) + "N" + random_letters(80, 2), "b": random_letters(90, 3)}
    fasta, reads = tmp_path / "r.fa", tmp_path / "r.fq"
    fasta.write_text("".join(f">{name}\n{letters}\n" for name, letters in contigs.items()))
    assert files.write_reads(fasta, 200, 50, reads, changed=changed) == 200
    lines = reads.read_text().splitlines()
    seen, same = set(), 0
    assert ("N" in "".join(lines[1::4])) == (changed > 0)
    for name, letters, _, quality in zip(*(lines[i::4] for i in range(4)), strict=True):
        number, contig, place, strand = name[1:].split(":")
        seen.add((int(number), contig, strand))
        assert len(letters) == len(quality) == 50
        if strand == "-":
            letters = letters[::-1].translate(str.maketrans("ACGT", "TGCA"))
        source = contigs[contig][int(place) : int(place) + 50]
        same += sum(a == b for a, b in zip(letters, source, strict=True))
    assert {number for number, _, _ in seen} == set(range(200))
    assert {(contig, strand) for _, contig, strand in seen} == {(c, s) for c in "ab" for s in "+-"}
    assert same == 10_000 if not changed else 4_000 < same < 6_000


def test_simulated_pairs_are_proper(tmp_path):
    import naive_pairs
    from texts import numbered, random_letters

    from fmx.bench import files

    contigs, paths = numbered([random_letters(400, "pairs")]), (tmp_path / "1.fq", tmp_path / "2.fq")
    (tmp_path / "r.fa").write_text(f">c0\n{contigs[0][1]}\n")
    files.write_pairs(tmp_path / "r.fa", 20, (30, 90), paths)
    mates = zip(*(path.read_text().splitlines()[1::4] for path in paths), strict=True)
    inserts = [[abs(x[2]) for x in naive_pairs.proper_pairs(contigs, *pair)] for pair in mates]
    assert inserts == [[90]] * 20


def test_one_run_is_not_called_runs(capsys):
    from fmx.bench.options import show_machine

    show_machine(1, 1)
    show_machine(2, 3)
    one, three = capsys.readouterr().out.splitlines()
    assert one.endswith("; 1 thread; medians of 1 run")
    assert three.endswith("; medians of 3 runs")


def test_a_table_is_told_and_kept(tmp_path, capsys):
    from fmx.measure import tables

    rows = [{"what": "a", "n": 1, "s": 0.123456}, {"what": "b", "n": 2, "s": 1234.5, "more": None}]
    tables.tell(rows[0])
    kept = tables.keep(tmp_path / "new", "t", "a machine", rows)
    assert tables.read(tmp_path / "new" / "t.json") == [kept]
    shown = capsys.readouterr()
    assert shown.err == "| a | 1 | 0.123 |\n"
    table = "| what | n | s | more |\n| --- | --- | --- | --- |\n| a | 1 | 0.123 |  |\n| b | 2 | 1,234 |  |\n"
    assert table in shown.out
    assert table in (tmp_path / "new" / "t.md").read_text()


def test_what_is_no_table_is_refused(tmp_path):
    from fmx.errors import FmxError
    from fmx.measure import tables

    for text in ("{", '[{"table": "t"}]', "[1]"):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(FmxError, match=r"t\.json: not a table written by fmx bench"):
            tables.read(tmp_path / "t.json")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["bench", "gpu", "--bases", "1G", "-o", "x"], "fmx bench gpu --bases 1G"),
        (["bench", "mem", "/a/b.fa", "--work", "/tmp/w", "-t", "2"], "fmx bench mem b.fa -t 2"),
    ],
)
def test_a_table_tells_its_command_without_folders(given, told):
    from fmx.measure import tables

    assert tables.command_line(["/some/where/fmx", *given]) == told


def test_ceilings_that_are_interpolated_are_marked(tmp_path, monkeypatch):
    """Of the rows of a table of designs: entries of 96 bytes are between those whose ceiling is measured."""
    pytest.importorskip("matplotlib", reason="pip install '.[dev]'")
    from fmx.measure.tables import BenchTable

    monkeypatch.syspath_prepend(ROOT / "docs" / "site" / "papers")
    figures = import_module("drawings")

    entries = {"kstep-k2-d64": 96, "kstep-k2-d192": 160, "sampled-k1-d64": 32}
    rows = [
        {"layout": name, "engine": "e", "Gbases/s": 30.0, "% of ceiling": 60.0, "entry B": entry}
        for name, entry in entries.items()
    ]
    table = BenchTable("designs", "", "a GPU", "2026-01-01", rows)
    drawn = {name: limits for name, *_, limits in figures._designs(table)}
    assert drawn == {
        "designs-sampled": {"memory's ceiling": ([64], [50.0], [False])},
        "designs-kstep": {"memory's ceiling": ([64, 192], [50.0, 50.0], [True, True])},
    }
    assert [path.stat().st_size > 1000 for path in figures.draw(table, tmp_path)] == [True, True]
    assert figures.draw(table._replace(table="other"), tmp_path) == []


def test_mappers_are_timed_to_a_file_a_pipe_and_nowhere(command, peer, tmp_path):
    """Both sides do all of it: every target has a row for fmx and for its peer."""
    peer("bowtie"), peer("bowtie-build")
    lambda_ = Path(__file__).parents[2] / "fmx" / "data" / "lambda.fa.gz"
    done = command(
        "bench", "map", lambda_, "--simulate", 200, "--work", tmp_path, "--runs", 1, "-t", 1, "--bam",
        "--to", "pipe", "--to", "null",
    )  # fmt: skip
    assert done.code == 0, done.err
    tables = done.out.decode().split("\n\n")
    found = {table.split("|")[1].strip(): table for table in tables if table.startswith("|")}
    assert set(found) == {"index", "map to pipe", "map to null", "map to file"}
    for target in ("pipe", "null"):
        assert "| fmx |" in found[f"map to {target}"]
        assert "| bowtie -v 0 -k 1 |" in found[f"map to {target}"]
    assert "| fmx to BAM |" in found["map to file"]


def test_a_mapper_that_fails_before_a_pipe_is_heard():
    from fmx.bench.mapping import PIPED
    from fmx.errors import FmxError
    from fmx.measure import timing

    assert timing.run([*PIPED, "echo", "x"]).wall > 0
    with pytest.raises(FmxError, match="exit 1"):
        timing.run([*PIPED, "false"])


@pytest.mark.parametrize("mismatches", [0, 1])
def test_a_simulated_screen_is_counted_as_is_true(mismatches, command, tmp_path):
    done = command(
        "bench", "count", "--guides", 90, "--reads", 3000, "--samples", 2, "--stagger", 3, "--runs", 1,
        "--mismatches", mismatches, "--work", tmp_path, "-t", 1,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert [cell.strip() for cell in done.out.decode().splitlines()[-1].split("|")][-2] == "0"
    table = [line.split("\t") for line in (tmp_path / "fmx.tsv").read_text().splitlines()]
    assert table[0] == ["sgRNA", "Gene", "sample01", "sample02"]
    assert 1300 < sum(int(row[2]) for row in table[1:]) <= 1500


def test_the_library_is_timed_with_files_and_objects(command):
    done = command(
        "bench", "library", ROOT / "fmx/data/lambda.fa.gz", "--simulate", 200, "--runs", 1, "-t", 2
    )
    assert done.code == 0, done.err
    rows = re.findall(rb"^\| ([\w ]+) \| [\d.e-]+ \| [\d.e-]+ \|", done.out, re.MULTILINE)
    assert rows == 2 * [b"FASTQ", b"list of str", b"list of bytes", b"dict of str"]


def test_modes_are_timed_with_their_reads_and_stage(command, tmp_path):
    from texts import random_letters

    (tmp_path / "r.fa").write_text(f">a\n{random_letters(3000, 'modes')}\n")
    how = ["bench", "modes", tmp_path / "r.fa", "--reads", 40, "--runs", 1, "-t", 1, "--work", tmp_path / "w"]
    more = ["--mode", "pairs", "--mode", "guides", "--length", 30, "--length", 36, "--repeat", 2]
    done = command(*how, *more, "--engine", "cpu", "--engine", "auto")
    assert done.code == 0, done.err
    lines = [line.strip("| ").split(" | ") for line in done.out.decode().splitlines() if line.startswith("|")]
    rows = [dict(zip(lines[0], map(str.strip, line), strict=True)) for line in lines[2:]]
    assert [(row["mode"], row["bases"], row["engine"], row["reads"]) for row in rows] == [
        (mode, bases, engine, n)
        for mode, bases, n in (("pairs", "30", "160"), ("pairs", "36", "160"), ("guides", "20", "4"))
        for engine in ("cpu", "auto")
    ]
    assert all(re.fullmatch(r"\w+, \d+\.\d\d s", row["most in"]) for row in rows)
    assert all(float(row["wall s"]) > 0 for row in rows)
