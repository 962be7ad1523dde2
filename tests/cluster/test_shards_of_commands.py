"""Shards of commands, merged: the bytes of one run; and what is wrong with shards is told."""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import cases
import pysam
import pytest
from output_of import bgzf, without_program
from texts import numbered, random_letters

CONTIGS = numbered([random_letters(3000, "one"), random_letters(900, "two") * 2])
COMPLETE = str.maketrans("ACGT", "TGCA")


def reads(n, length=60) -> list:
    """(name, letters) of n reads of both strands, some of which do not occur, some often."""
    found = []
    for i in range(n):
        letters = CONTIGS[i % 2][1]
        start = 37 * i % (len(letters) - length)
        read = letters[start : start + length]
        read = read[::-1].translate(COMPLETE) if i % 3 == 0 else read
        found.append((f"r{i}", read if i % 7 else read[:-1] + "N" + "A"))
    return found


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with reads.fq of 24 MB, and the same as gzip, BGZF and in two files; queries.fa; genes.fa."""
    folder = tmp_path_factory.mktemp("inputs")
    data = cases.fastq(reads(2000)) * 100
    (folder / "reads.fq").write_bytes(data)
    (folder / "reads.fq.gz").write_bytes(gzip.compress(data, 1))
    (folder / "blocks.fq.gz").write_bytes(bgzf(data, 60_000))
    (folder / "queries.fa").write_bytes(cases.fasta(reads(300, 400)) * 20)
    genes = [(f"g{i}", random_letters(80 + i % 9, i % 5)) for i in range(60)]
    (folder / "genes.fa").write_bytes(cases.fasta(genes))
    return folder


def body_of(path) -> bytes:
    """What a file holds, without the @PG line and, in BAM, without the length of the header."""
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        return without_program(data)
    data = gzip.decompress(data)
    stop = 8 + int.from_bytes(data[4:8], "little")
    return without_program(data[8:stop]) + data[stop:]


def in_shards(command, folder, arguments, n, name, *more):
    """What ``n`` shards of a command make up together."""
    for i in range(1, n + 1):
        done = command(*arguments, "--shard", f"{i}/{n}", "-o", folder / "out.d", "-q")
        assert done.code == 0, done.err
    done = command("merge", folder / "out.d", "-o", folder / name, *more)
    assert done.code == 0, done.err
    return body_of(folder / name)


def whole(command, folder, arguments, name, *more):
    done = command(*arguments, "-q", "-o", folder / name, *more)
    assert done.code == 0, done.err
    return body_of(folder / name)


SEARCHES = [
    ("search", ["reads.fq"], [], "sam"),
    ("search", ["reads.fq"], ["-a", "--format", "bam"], "bam"),
    (
        "search",
        ["reads.fq", "reads.fq.gz", "blocks.fq.gz"],
        ["-k", "2", "--seed", "3", "--no-unmapped"],
        "sam",
    ),
    ("search", ["blocks.fq.gz"], ["--no-unmapped", "-m", "1", "--rg", r"@RG\tID:a"], "sam"),
    ("locate", ["queries.fa"], [], "tsv"),
    ("locate", ["queries.fa"], ["--format", "bed"], "bed"),
    ("mem", ["queries.fa"], ["-b", "-l", "18"], "txt"),
    ("mem", ["queries.fa", "queries.fa"], ["--format", "sam", "--mum"], "sam"),
]


@pytest.mark.parametrize(("name", "files", "more", "kind"), SEARCHES)
@pytest.mark.parametrize("n", [1, 3])
def test_merged_shards_are_the_bytes_of_one_run(
    name, files, more, kind, n, command, index_of, inputs, tmp_path
):
    arguments = [name, "-x", index_of(CONTIGS), *(inputs / file for file in files), *more, "-t", 2]
    expected = whole(command, tmp_path, arguments, f"one.{kind}")
    assert expected.count(b"\n") > 100 or kind == "bam"
    assert in_shards(command, tmp_path, arguments, n, f"all.{kind}") == expected


@pytest.mark.parametrize("more", [[], ["--cigar", "--id", "0.9"], ["--format", "paf"]])
def test_pairs_in_shards(more, command, inputs, tmp_path):
    arguments = ["pairwise", inputs / "genes.fa", *more]
    expected = whole(command, tmp_path, arguments, "one.txt")
    assert in_shards(command, tmp_path, arguments, 4, "all.txt") == expected


MATES = {
    "plain": ("1.fq", "2.fq"), "BGZF": ("blocks1.fq.gz", "blocks2.fq.gz"), "gzip": ("1.fq", "2.fq.gz"),
    "several": ("1.fq,blocks1.fq.gz", "2.fq,blocks2.fq.gz"), "FASTA": ("1.fq", "2.fa"),
}  # fmt: skip


@pytest.fixture(scope="module")
def mates(tmp_path_factory):
    """A folder with mates in files of several kinds, those of mates 2 with shorter records."""
    folder = tmp_path_factory.mktemp("mates")
    one, two = reads(2000), [(name, letters[9:40]) for name, letters in reads(2000)]
    copies = [
        [(f"{i}.{name}/{n}", x) for i in range(8) for name, x in its] for n, its in ((1, one), (2, two))
    ]
    data = [cases.fastq(its) for its in copies]
    for n in (1, 2):
        (folder / f"{n}.fq").write_bytes(data[n - 1])
        (folder / f"blocks{n}.fq.gz").write_bytes(bgzf(data[n - 1], 20_000))
    (folder / "2.fq.gz").write_bytes(gzip.compress(data[1], 1))
    (folder / "2.fa").write_bytes(cases.fasta(copies[1]))
    (folder / "both.fq").write_bytes(cases.fastq([x for pair in zip(*copies, strict=True) for x in pair]))
    return folder


@pytest.mark.parametrize("kind", [*MATES, "in turn"])
def test_merged_shards_of_pairs_are_one_run(kind, command, index_of, mates, tmp_path, cut_sizes, monkeypatch):
    cut_sizes(100_000)
    monkeypatch.chdir(mates)
    given = (
        ["--interleaved", "both.fq"] if kind == "in turn" else ["-1", MATES[kind][0], "-2", MATES[kind][1]]
    )
    arguments = ["search", "-x", index_of(CONTIGS), *given, "--ff", "-k", "2", "-t", 2]
    expected = whole(command, tmp_path, arguments, "one.sam")
    assert expected.count(b"\n") > 30_000
    for n in (1, 3):
        assert in_shards(command, tmp_path, arguments, n, "all.sam") == expected
        shutil.rmtree(tmp_path / "out.d")


@pytest.mark.parametrize("wrong", ["left out", "put in"])
def test_mates_out_of_step_end_a_shard(wrong, command, index_of, mates, tmp_path, cut_sizes):
    """A mate that is missing, or one too many, between two shards or within one."""
    cut_sizes(100_000)
    lines = (mates / "2.fq").read_bytes().splitlines(keepends=True)
    middle = len(lines) // 8 * 4
    if wrong == "left out":
        del lines[middle : middle + 4]
    else:
        lines[middle:middle] = [b"@x/2\n", *lines[1:4]]
    (tmp_path / "2.fq").write_bytes(b"".join(lines))
    arguments = ["search", "-q", "-x", index_of(CONTIGS), "-1", mates / "1.fq", "-2", tmp_path / "2.fq"]
    failed = []
    for i in (1, 2, 3):
        done = command(*arguments, "--shard", f"{i}/3", "-o", tmp_path / "out.d")
        failed += [done.err] if done.code else []
    assert failed
    assert all("mate" in words and words.count("\n") == 1 for words in failed)


def test_tables_of_counts_are_added_up(command, index_of, inputs, tmp_path):
    arguments = ["search", "-x", index_of(CONTIGS), inputs / "reads.fq", "--counts"]
    whole(command, tmp_path, [*arguments, tmp_path / "one.tsv"], "one.sam")
    in_shards(command, tmp_path, [*arguments, "any"], 3, "all.sam", "--counts", tmp_path / "all.tsv")
    assert (tmp_path / "all.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()


def test_shards_without_reads_have_the_report_of_one_run(command, index_of, tmp_path):
    (tmp_path / "few.fa").write_bytes(cases.fasta(reads(3)))
    for name, given in (("search", ["--skip", 5]), ("mem", ["--format", "sam"])):
        path = tmp_path / ("few.fa" if name == "search" else "none.fa")
        path.touch()
        arguments, found = [name, "-q", "-x", index_of(CONTIGS), path, *given, "--report"], []
        whole(command, tmp_path, [*arguments, tmp_path / "one.json"], "one.sam")
        in_shards(
            command, tmp_path, [*arguments, "any.json"], 2, "all.sam", "--report", tmp_path / "all.json"
        )
        shutil.rmtree(tmp_path / "out.d")
        for file in ("one.json", "all.json"):
            facts = json.loads((tmp_path / file).read_text())
            found.append({key: facts.get(key) for key in ("counts", "strands", "lengths", "multiplicity")})
        assert found[0] == found[1]
        assert found[0]["strands"] == {"forward": 0, "reverse": 0}


def test_collapsed_reads_are_written_as_fasta_by_one_rule(command, index_of, tmp_path):
    (tmp_path / "few.fa").write_bytes(cases.fasta(reads(30)))
    arguments = ["search", "-q", "-x", index_of(CONTIGS), tmp_path / "few.fa", "--collapse", "-o"]
    for option in ("--al", "--un"):
        words = "x.fq: the output can only be FASTA, not .fq; choose another name\n"
        runs = [[*arguments, tmp_path / "one.sam"], [*arguments, tmp_path / "out.d", "--shard", "1/1"]]
        for run in runs:
            done = command(*run, option, "x.fq")
            assert (done.code, done.err.endswith(f"{option} {words}")) == (2, True), done.err
        assert command(*runs[1], option, "x.fa").code == 0
        done = command("merge", tmp_path / "out.d", "-o", tmp_path / "all.sam", option, "x.fq")
        assert (done.code, done.err.endswith(f"{option} {words}")) == (2, True), done.err
        shutil.rmtree(tmp_path / "out.d")


def test_more_shards_than_spans(command, index_of, tmp_path):
    reads_path = tmp_path / "few.fa"
    reads_path.write_bytes(cases.fasta(reads(20)))
    arguments = ["search", "-x", index_of(CONTIGS), reads_path]
    expected = whole(command, tmp_path, arguments, "one.sam")
    assert in_shards(command, tmp_path, arguments, 5, "all.sam") == expected


@pytest.fixture
def shards(command, index_of, tmp_path):
    """Two shards of a small search in out.d: the arguments that make one."""
    reads_path = tmp_path / "few.fa"
    reads_path.write_bytes(cases.fasta(reads(50)))
    arguments = ["search", "-x", index_of(CONTIGS), reads_path, "-o", tmp_path / "out.d"]
    for i in (1, 2):
        assert command(*arguments, "--shard", f"{i}/2").code == 0
    return arguments


def refused(command, tmp_path, words):
    """The merge is refused with these words, and writes nothing."""
    done = command("merge", tmp_path / "out.d", "-o", tmp_path / "all.sam")
    assert done.code == 1
    assert words in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "all.sam").exists()


def test_a_missing_shard_is_named(command, shards, tmp_path):
    shutil.rmtree(tmp_path / "out.d" / "0001-of-0002")
    refused(command, tmp_path, "shard 1 of 2 is missing")


def test_a_double_shard_is_named(command, shards, tmp_path):
    folder = tmp_path / "out.d"
    shutil.copytree(folder / "0001-of-0002", folder / "01-of-02")
    refused(command, tmp_path, "01-of-02 contains shard 1 of 2: it is a renamed copy")


def test_shards_of_two_runs_are_told_apart(command, shards, tmp_path):
    assert command(*shards, "--shard", "1/1").code == 0
    refused(command, tmp_path, "contains shards of runs with 1 and 2 shards: keep only")


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (["index"], "0123", 'is from another run than shard 1 (index "0123", not'),
        (["fmx"], "0.0.9", 'fmx "0.0.9", not'),
        (["options", "mapping", "policy", "limit"], 7, "options: mapping: policy: limit 7, not 1"),
        (["inputs"], [["few.fa", 3, ""]], "inputs: few.fa with 3 bytes, not "),
        (["inputs"], [["a.fa", 3, ""]], "inputs: a.fa, not few.fa"),
        (["inputs"], [], "inputs: 0 files, not 1"),
        (["command"], "locate", "command"),
    ],
)  # fmt: skip
def test_what_two_shards_differ_in_is_told(keys, value, words, command, shards, tmp_path):
    path = tmp_path / "out.d" / "0002-of-0002" / "manifest.json"
    manifest = json.loads(path.read_text())
    place = manifest["run"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(manifest))
    refused(command, tmp_path, words)
    done = command(*shards, "--shard", "2/2")  # nor is it taken for done
    assert done.code == 1
    assert "is from another run" in done.err


@pytest.mark.parametrize("text", ["", "{", "null", "[" * 100_000, '{"format": 1}', '{"format": 2}', "\udcff"])
def test_a_damaged_manifest_is_told(text, command, shards, tmp_path):
    path = tmp_path / "out.d" / "0001-of-0002" / "manifest.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(command, tmp_path, "run this shard again")


def test_a_manifest_that_cannot_be_read_is_told(command, shards, tmp_path):
    path = tmp_path / "out.d" / "0001-of-0002" / "manifest.json"
    path.unlink()
    refused(command, tmp_path, "manifest.json: No such file or directory; run this shard again")
    path.mkdir()
    refused(command, tmp_path, "manifest.json: Is a directory; run this shard again")


@pytest.mark.parametrize("how", ["changed", "shorter", "longer", "gone"])
def test_a_damaged_body_is_told(how, command, shards, tmp_path):
    path = tmp_path / "out.d" / "0002-of-0002" / "output"
    data = path.read_bytes()
    assert data
    path.write_bytes(
        {"changed": data[:-2] + b"!\n", "shorter": data[:-1], "longer": data + b"\n", "gone": b""}[how]
    )
    if how == "gone":
        path.unlink()
    refused(command, tmp_path, "run shard 2 again")


@pytest.mark.parametrize("option", ["-o", "--counts"])
def test_shards_are_not_written_over(option, command, shards, tmp_path):
    body = tmp_path / "out.d" / "0002-of-0002" / "output"
    before = body.read_bytes()
    done = command("merge", tmp_path / "out.d", option, body)
    assert done.code == 2
    assert "among the shards; choose a path outside" in done.err
    assert body.read_bytes() == before


def test_a_finished_shard_is_not_done_again(command, shards, tmp_path):
    body = tmp_path / "out.d" / "0002-of-0002" / "output"
    before = body.stat().st_mtime_ns
    done = command(*shards, "--shard", "2/2")
    assert done.code == 0
    assert "shard 2/2 in" in done.err
    assert "is done already" in done.err
    assert body.stat().st_mtime_ns == before


BESIDE = [
    (["--counts", "c.tsv"], "without --counts"),
    (["--report", "r.json"], "without --report"),
    (["--al", "al.fq"], "without --al"),
    (["--un", "un.fq.gz"], "without --un"),
    (["--format", "bam"], "without --format there; with --format bam here"),
    (["--tags", "none"], "without --tags there; with --tags none here"),
    (["-a"], "without -a there; with -a here"),
    (
        ["-k", "2", "--mismatches", "1"],
        "with --mismatches 0, with -k 1 there; with --mismatches 1, with -k 2 here",
    ),
]


@pytest.mark.parametrize(("more", "words"), BESIDE)
def test_a_shard_is_there_only_with_all_that_is_asked_for(more, words, command, shards, tmp_path):
    done = command(*shards, "--shard", "2/2", *more)
    place = tmp_path / "out.d" / "0002-of-0002"
    assert done.code == 1
    assert f"error: shard 2/2 in {tmp_path / 'out.d'} is from another run ({words}" in done.err
    assert done.err.endswith(f"): delete {place} and run this command again, or choose another folder\n")
    shutil.rmtree(place)
    assert command(*shards, "--shard", "2/2", *more).code == 0
    assert command(*shards, "--shard", "2/2", *more).err.endswith("is done already; nothing to do\n")
    done = command(*shards, "--shard", "2/2")
    there = words.split("; ")[-1].removesuffix(" here").replace("without", "with")
    assert (done.code, f"{there} there" in done.err or f"({there})" in done.err) == (1, True)
    refused(command, tmp_path, "shard 2 is from another run than shard 1 (with")


def test_a_shard_of_other_inputs_is_another_one(command, shards, tmp_path):
    """Of the same name and size, and elsewhere."""
    path = tmp_path / "there" / "few.fa"
    path.parent.mkdir()
    letters = (tmp_path / "few.fa").read_bytes()
    path.write_bytes(letters)
    shards[shards.index(tmp_path / "few.fa")] = path
    assert command(*shards, "--shard", "2/2").err.endswith("is done already; nothing to do\n")
    path.write_bytes(letters[:-2] + bytes([letters[-2] ^ 2]) + letters[-1:])
    done = command(*shards, "--shard", "2/2")
    assert (done.code, "is from another run (inputs: few.fa with other contents): delete" in done.err) == (
        1,
        True,
    )


def test_shards_of_a_mem_know_of_their_report(command, index_of, tmp_path):
    (tmp_path / "few.fa").write_bytes(cases.fasta(reads(50)))
    arguments = ["mem", "-x", index_of(CONTIGS), tmp_path / "few.fa", "-o", tmp_path / "out.d", "--shard"]
    assert command(*arguments, "1/1").code == 0
    assert "(without --report)" in command(*arguments, "1/1", "--report", "r.json").err


def test_names_of_outputs_that_merge_writes_do_not_matter(command, shards, tmp_path):
    shutil.rmtree(tmp_path / "out.d")
    assert command(*shards, "--shard", "2/2", "--counts", "a.tsv", "--un", "a.fq").code == 0
    done = command(*shards, "--shard", "2/2", "--counts", "b.tsv", "--un", "b.fq")
    assert (done.code, done.err.endswith("is done already; nothing to do\n")) == (0, True)


@pytest.mark.parametrize("name", ["counts.tsv", "report.json", "un", "output"])
def test_a_shard_that_lacks_a_file_is_done_again(name, command, shards, tmp_path):
    folder = tmp_path / "out.d"
    shutil.rmtree(folder)
    more = ["--counts", tmp_path / "c.tsv", "--un", tmp_path / "un.fa", "--report", tmp_path / "r.json"]
    for i in (1, 2):
        assert command(*shards, "--shard", f"{i}/2", *more).code == 0
    data = (folder / "0002-of-0002" / name).read_bytes()
    assert data
    (folder / "0002-of-0002" / name).write_bytes(data[:-1])
    done = command("merge", folder, "-o", tmp_path / "all.sam", *more)
    assert (done.code, "delete its folder and run shard 2 again" in done.err) == (1, True)
    assert "done already" not in command(*shards, "--shard", "2/2", *more).err
    (folder / "0002-of-0002" / name).unlink()
    done = command("merge", folder, "-o", tmp_path / "all.sam", *more)
    assert (done.code, "run shard 2 again" in done.err) == (1, True)
    assert "done already" not in command(*shards, "--shard", "2/2", *more).err
    assert name == "report.json" or (folder / "0002-of-0002" / name).read_bytes() == data
    assert command("merge", folder, "-o", tmp_path / "all.sam", *more).code == 0


def test_what_shards_lack_is_named_by_merge(command, shards, tmp_path):
    folder = tmp_path / "out.d"
    for option in ("--counts", "--report", "--al", "--un"):
        done = command("merge", folder, "-o", tmp_path / "all.sam", option, tmp_path / "x.json")
        done = command("merge", folder, "-o", tmp_path / "all.sam", option, tmp_path / "x") if (
            option != "--report") else done  # fmt: skip
        assert done.err.endswith(
            f"{folder}: the shards were run without {option}: delete the folder and run them again with "
            f"{option}\n"
        )


def test_merge_refuses_what_other_commands_keep(command, inputs, tmp_path):
    arguments = ["pairwise", inputs / "genes.fa", "--shard", "1/1", "-o", tmp_path / "out.d"]
    assert command(*arguments).code == 0
    for option, name, of in (
        ("--counts", "y", "search"), ("--al", "y", "search"),
        ("--report", "y.html", "search and mem and count"),
    ):  # fmt: skip
        done = command("merge", tmp_path / "out.d", "-o", tmp_path / "x", option, tmp_path / name)
        assert (done.code, f"{option} is for shards of fmx {of} only: omit it\n" in done.err) == (2, True)


@pytest.mark.parametrize(("held", "wanted"), [("sam", "bam"), ("bam", "sam")])
def test_sam_and_bam_are_converted_into_each_other(held, wanted, command, index_of, tmp_path):
    """Samtools stores the same integers in fewer bytes, so records of BAM are compared as SAM."""
    (tmp_path / "few.fq").write_bytes(cases.fastq(reads(50)))
    arguments = ["search", "-q", "-a", "-x", index_of(CONTIGS), tmp_path / "few.fq", "--tags", "NM,MD,NH,HI"]
    arguments += ["--rg", r"@RG\tID:a\tSM:b"]
    expected = whole(command, tmp_path, arguments, "one.sam")
    found = in_shards(command, tmp_path, [*arguments, "--format", held], 2, f"all.{wanted}")
    if wanted == "bam":
        assert found.startswith(b"@HD")
        found = without_program(pysam.view("-h", "--no-PG", str(tmp_path / "all.bam")).encode())
    assert found == expected


def test_merge_says_what_shards_hold(command, shards, tmp_path):
    done = command("merge", tmp_path / "out.d", "-o", tmp_path / "all.cram")
    assert done.err.splitlines()[-1].endswith(
        f"-o {tmp_path / 'all.cram'}: the shards in {tmp_path / 'out.d'} contain SAM: choose another "
        f"name, or delete {tmp_path / 'out.d'} and run the shards again with --format cram"
    )
    done = command("merge", tmp_path / "out.d", "-o", tmp_path / "all.xlsx")
    assert done.err.splitlines()[-1].endswith("contain SAM: choose another name")


def test_merge_says_that_shards_of_a_screen_alone_hold_no_records(command, shards, tmp_path):
    index, reads_path = shards[2:4]
    folder, table, other = tmp_path / "screen.d", tmp_path / "screen.tsv", tmp_path / "other.fmx"
    cases.build(other, [("other", random_letters(300, "other"))])
    both = ["-x", index, "-x", other]
    screen = ["search", *both, reads_path, "--screen", table, "-o", folder, "--shard", "1/1"]
    assert command(*screen).code == 0
    done = command("merge", folder, "--screen", table, "-o", tmp_path / "all.sam")
    assert done.code == 2
    assert done.err.splitlines()[-1].endswith(
        f"the shards in {folder} contain no records: leave out -o, or delete {folder} and run the shards "
        "again with --format sam"
    )
    assert command("merge", folder, "--screen", table).code == 0
    assert table.read_bytes().startswith(b"indexes\tnumber\treads")


@pytest.mark.parametrize("name", ["reads.fq.gz", "mates"])
def test_an_empty_shard_says_even_with_q_who_reads_what_cannot_be_cut(
    name, command, index_of, inputs, mates, tmp_path
):
    given = [inputs / "reads.fq.gz"]
    if name == "mates":
        given = ["-1", mates / "1.fq", "-2", mates / "2.fq.gz"]
    path = given[-1]
    arguments = ["search", "-q", "-x", index_of(CONTIGS), *given, "-o", tmp_path / "out.d", "--shard"]
    for i in (2, 3):
        done = command(*arguments, f"{i}/3")
        assert done.code == 0
        assert (
            f"warning: shard {i}/3 has no reads: {path} cannot be split, so shard 1/3 reads all of it; "
            "to share the work, compress it with bgzip\n" == done.err.removeprefix("fmx: ")
        )
    assert "warning" not in command(*arguments, "1/3").err


def test_an_empty_shard_of_a_short_file_says_so(command, shards, tmp_path):
    shutil.rmtree(tmp_path / "out.d")
    said = command(*shards, "--shard", "1/2").err
    assert "warning: shard 1/2 has no reads: the inputs are empty or too short to be split\n" in said
    assert "warning" not in command(*shards, "--shard", "2/2").err


def test_an_input_that_was_changed_between_shards_is_told(command, index_of, inputs, tmp_path):
    path = tmp_path / "reads.fq"
    data = (inputs / "reads.fq").read_bytes()
    path.write_bytes(data)
    arguments = ["search", "-x", index_of(CONTIGS), path, "-o", tmp_path / "out.d", "--shard"]
    assert command(*arguments, "1/2").code == 0
    cut = 8 << 20
    for length in range(40, 60):  # other reads, of the same size in all, so that other lines lie at the cut
        ends = cases.fastq(reads(2000))  # are as they were
        other = ends + cases.fastq(reads(2000, length)) * 88
        rest, odd = divmod(len(data) - len(other) - len(ends) - 7, 2)
        other += b"@x%s\n%s\n+\n%s\n" % (b"x" * odd, b"A" * rest, b"I" * rest) + ends
        if other[:cut].count(b"\n") % 4 != data[:cut].count(b"\n") % 4:
            break
    assert len(other) == len(data)
    path.write_bytes(other)
    assert command(*arguments, "2/2").code == 0
    refused(command, tmp_path, "shards 1 and 2 do not meet in")


def test_a_killed_shard_leaves_nothing_and_can_be_done_again(index_of, inputs, tmp_path):
    arguments = [
        sys.executable, "-m", "fmx", "search", "-q", "-t", "1", "-a", "-x", index_of(CONTIGS),
        *[inputs / "reads.fq"] * 8, "--shard", "1/1", "-o", tmp_path / "out.d",
    ]  # fmt: skip
    process = subprocess.Popen(arguments)
    while not list(tmp_path.glob("out.d/.0001-of-0001.*/output")):
        time.sleep(0.005)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "out.d" / "0001-of-0001").exists()
    assert subprocess.run(arguments, check=False).returncode == 0
    assert (tmp_path / "out.d" / "0001-of-0001" / "manifest.json").exists()


def test_a_full_disk_leaves_nothing(index_of, inputs, tmp_path):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = subprocess.run(
        [sys.executable, "-m", "fmx", "search", "-q", "-x", index_of(CONTIGS), inputs / "reads.fq",
         "--shard", "1/3", "-o", tmp_path / "out.d"],
        preexec_fn=small, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "out.d: cannot write: File too large" in done.stderr
    assert os.listdir(tmp_path / "out.d") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search", "-", "--shard", "1/2", "-o", "out.d"], "standard input: cannot be split into shards"),
        (["search", "few.fa", "--shard", "1/2"], "--shard needs -o FOLDER"),
        (["search", "few.fa", "--shard", "3/2", "-o", "out.d"], "numbered from 1 to 2"),
        (["search", "few.fa", "--shard", "0/2", "-o", "out.d"], "numbered from 1 to 2"),
        (["search", "few.fa", "--shard", "half", "-o", "out.d"], "is not I/N, such as 3/64"),
        (["search", "few.fa", "--shard", "auto", "-o", "out.d"], "none was found"),
        (["pairwise", "few.fa", "--checkpoint", "c", "--shard", "1/2", "-o", "d"], "--checkpoint is for"),
        *(
            (["search", "few.fa", "--shard", "1/2", "-o", name],
             f"-o {name}: with --shard, -o names a folder of shards, not a file: "
             "use -o out.d" + more)
            for name, more in (
                ("out.bam", " --format bam"), ("out.SAM.gz", ""), ("out.fmx", ""),
            )
        ),
        (["search", "few.fa", "--shard", "1/2", "-o", "out.cram"], "use -o out.d --format cram"),
        (["locate", "few.fa", "--shard", "1/2", "-o", "out.parquet"], "use -o out.d --format parquet"),
        (["mem", "few.fa", "--shard", "1/2", "-o", "out.paf"], "use -o out.d --format paf"),
        (["pairwise", "few.fa", "--shard", "1/2", "-o", "out.tsv"], "use -o out.d --format tsv"),
        (["merge", "nowhere"], "nowhere: No such file"),
        (["merge", "."], "no shards"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments, words, command, index_of, folder, monkeypatch):
    (folder / "few.fa").write_bytes(cases.fasta(reads(5)))
    monkeypatch.setenv("FMX_INDEX", str(index_of(CONTIGS)))
    done = command(*arguments)
    assert done.code in (1, 2)
    assert words in done.err
    assert not (folder / "out.d").exists()


@pytest.mark.parametrize(
    ("variables", "value", "expected"),
    [
        ({"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "8",
          "SLURM_ARRAY_TASK_STEP": "1"}, "auto", (3, 8)),
        ({"SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_MAX": "14",
          "SLURM_ARRAY_TASK_STEP": "2"}, "auto", (4, 8)),
        ({"PBS_ARRAY_INDEX": "5"}, "auto/9", (5, 9)),
        ({"SGE_TASK_ID": "2", "SGE_TASK_FIRST": "1", "SGE_TASK_LAST": "4", "SGE_TASK_STEPSIZE": "1"},
         "auto", (2, 4)),
        ({"SGE_TASK_ID": "undefined"}, "auto", None),
        ({"PBS_ARRAY_INDEX": "5"}, "auto", None),
        ({"PBS_ARRAY_INDEX": "5"}, "auto/4", None),
    ],
)  # fmt: skip
def test_array_jobs_name_their_shard(variables, value, expected, monkeypatch):
    import click

    from fmx.cli.options import ShardOf

    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    if expected:
        assert ShardOf().convert(value, None, None) == expected
    else:
        with pytest.raises(click.BadParameter):
            ShardOf().convert(value, None, None)


def test_the_array_job_of_the_docs(index_of, inputs, tmp_path):
    """Its script, run as a scheduler runs it, one task after the other, and again after a task was lost."""
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    script = next(part for part in page.split("\n\n") if "#SBATCH" in part)
    lines = [line.removeprefix("    ") for line in script.splitlines()]
    (tmp_path / "job.sh").write_text("\n".join(lines).replace("-t 16", "-t 2"))
    (tmp_path / "ref.fmx").symlink_to(index_of(CONTIGS))
    (tmp_path / "reads.fq.gz").symlink_to(inputs / "blocks.fq.gz")
    (tmp_path / "fmx").write_text(f'#!/bin/sh\nexec {sys.executable} -m fmx "$@"\n')
    (tmp_path / "fmx").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ends = {"SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "3", "SLURM_ARRAY_TASK_STEP": "1"}

    def run(command, **more):
        variables = {**os.environ, "PATH": path, **ends, **more}
        return subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )

    for task in (1, 3):
        assert run(["sh", "job.sh"], SLURM_ARRAY_TASK_ID=str(task)).returncode == 0
    merging = ["fmx", "merge", "out.d", "-o", "all.sam"]
    assert "shard 2 of 3 is missing" in run(merging).stderr
    for task in (1, 2, 3):
        assert run(["sh", "job.sh"], SLURM_ARRAY_TASK_ID=str(task)).returncode == 0
    done = run(merging)
    assert done.returncode == 0, done.stderr
    assert run(["fmx", "search", "-q", "-x", "ref.fmx", "reads.fq.gz", "-o", "one.sam"]).returncode == 0
    assert body_of(tmp_path / "all.sam") == body_of(tmp_path / "one.sam")
