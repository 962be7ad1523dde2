"""Shards of commands, merged: the bytes of one run; and what is wrong with shards is told."""

import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys

import cases
import pysam
import pytest
from cluster.nearby import CONTIGS, reads


@pytest.fixture(scope="module")
def mates(tmp_path_factory):
    """A folder with mates in files, those of mates 2 with shorter records, also as gzip."""
    folder = tmp_path_factory.mktemp("mates")
    one, two = reads(2000), [(name, letters[9:40]) for name, letters in reads(2000)]
    for n, records in ((1, one), (2, two)):
        copies = [(f"{i}.{name}/{n}", x) for i in range(8) for name, x in records]
        (folder / f"{n}.fq").write_bytes(cases.fastq(copies))
    (folder / "2.fq.gz").write_bytes(gzip.compress((folder / "2.fq").read_bytes(), 1))
    return folder


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


@pytest.mark.parametrize("option", ["--al", "--un"])
def test_collapsed_reads_are_written_as_fasta_by_one_rule(option, command, index_of, tmp_path):
    (tmp_path / "few.fa").write_bytes(cases.fasta(reads(30)))
    arguments = ["search", "-q", "-x", index_of(CONTIGS), tmp_path / "few.fa", "--collapse", "-o"]
    shard = [*arguments, tmp_path / "out.d", "--shard", "1/1"]
    assert command(*shard, option, "x.fa").code == 0
    for words in ([*arguments, tmp_path / "one.sam"], shard):
        done = command(*words, option, "x.fq")
        message = f"{option} x.fq: the output can only be FASTA, not .fq; choose another name\n"
        assert (done.code, done.err.endswith(message)) == (2, True), done.err


@pytest.mark.parametrize("kind", ["sam", "bam", "cram"])
def test_merge_converts_alignments_by_the_suffix(kind, command, index_of, tmp_path):
    (tmp_path / "few.fq").write_bytes(cases.fastq(reads(50)))
    arguments = [
        "search",
        "-q",
        "-a",
        "-x",
        index_of(CONTIGS),
        tmp_path / "few.fq",
        "--rg",
        r"@RG\tID:a\tSM:b",
    ]
    assert command(*arguments, "-o", tmp_path / "one.sam").code == 0
    for i in (1, 2):
        done = command(*arguments, "--format", kind, "--shard", f"{i}/2", "-o", tmp_path / "out.d")
        assert done.code == 0, done.err
    expected = records_of(tmp_path / "one.sam")
    for suffix, begin in {"sam": b"@HD", "bam": b"\x1f\x8b", "cram": b"CRAM"}.items():
        path = tmp_path / f"all.{suffix}"
        assert command("merge", tmp_path / "out.d", "-o", path).code == 0
        assert path.read_bytes().startswith(begin)
        assert records_of(path) == expected != []
    done = command("merge", tmp_path / "out.d", "-o", tmp_path / "all.bed")
    assert (done.code, "the output can only be SAM, BAM or CRAM, not .bed" in done.err) == (2, True)


def test_cram_whose_reference_is_missing_is_not_merged(command, index_of, tmp_path):
    (tmp_path / "few.fq").write_bytes(cases.fastq(reads(50)))
    fasta = tmp_path / "all.fa"
    fasta.write_bytes(cases.fasta(CONTIGS))
    shard = ["search", "-x", index_of(CONTIGS), tmp_path / "few.fq", "--format", "cram", "--shard", "1/1"]
    assert command(*shard, "--reference", fasta, "-o", tmp_path / "out.d").code == 0
    fasta.unlink()
    for name in ("all.cram", "all.sam"):
        done = command("merge", tmp_path / "out.d", "-o", tmp_path / name)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert done.err.endswith(f"; check that --reference {fasta} is unchanged\n")
        assert not (tmp_path / name).exists()


def test_merge_does_not_convert_sorted_alignments(command, index_of, tmp_path):
    (tmp_path / "few.fq").write_bytes(cases.fastq(reads(50)))
    shard = [
        "search",
        "-x",
        index_of(CONTIGS),
        tmp_path / "few.fq",
        "--sort",
        "--format",
        "bam",
        "--shard",
        "1/1",
    ]
    assert command(*shard, "-o", tmp_path / "out.d").code == 0
    done = command("merge", tmp_path / "out.d", "-o", tmp_path / "all.sam")
    assert (done.code, "the output can only be BAM, not .sam" in done.err) == (2, True)


def records_of(path):
    """Lines of header and records, with the tags in the order of their names, as CRAM has its own order."""
    lines = pysam.view("-h", "--no-PG", str(path)).splitlines()
    fields = [line.split("\t") for line in lines if not line.startswith("@PG")]
    return [[*line[:11], *sorted(line[11:])] for line in fields]


@pytest.fixture
def shards(command, index_of, tmp_path):
    """Two shards of a small search in out.d: the arguments that make one."""
    (tmp_path / "few.fa").write_bytes(cases.fasta(reads(50)))
    arguments = ["search", "-x", index_of(CONTIGS), tmp_path / "few.fa", "-o", tmp_path / "out.d"]
    for i in (1, 2):
        assert command(*arguments, "--shard", f"{i}/2").code == 0
    return arguments


def refused(command, tmp_path, words):
    """The merge is refused with these words, and writes nothing."""
    done = command("merge", tmp_path / "out.d", "-o", tmp_path / "all.sam")
    assert (done.code, words in done.err, done.err.count("\n")) == (1, True, 1), done.err
    assert not (tmp_path / "all.sam").exists()


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (["index"], "0123", 'is from another run than shard 1 (index "0123", not'),
        (["fmx"], "0.0.9", 'fmx "0.0.9", not'),
        (["options", "mapping", "policy", "limit"], 7, "options: mapping: policy: limit 7, not 1"),
        (["inputs"], [["few.fa", 3, ""]], 'inputs ["few.fa", 3, ""], not ["few.fa", '),
        (["inputs"], [], 'inputs null, not ["few.fa", '),
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
    assert (done.code, "is from another run" in done.err) == (1, True)


@pytest.mark.parametrize("text", ["", "{", "null", "[" * 100_000, '{"format": 1}', "\udcff", None])
def test_a_damaged_manifest_is_told(text, command, shards, tmp_path):
    path = tmp_path / "out.d" / "0001-of-0002" / "manifest.json"
    path.unlink()
    if text is None:
        refused(command, tmp_path, "manifest.json: No such file or directory; run this shard again")
        path.mkdir()
    else:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(command, tmp_path, "run this shard again")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--counts c.tsv", "without --counts"),
        ("--report r.json", "without --report"),
        ("--al al.fq", "without --al"),
        ("--format bam", 'options: output: kind "sam", not "bam"'),
        ("-k 2", "options: mapping: policy: limit 1, not 2"),
    ],
)  # fmt: skip
def test_a_shard_is_done_only_with_all_its_outputs_and_options(more, words, command, shards, tmp_path):
    place, more = tmp_path / "out.d" / "0002-of-0002", more.split()
    done = command(*shards, "--shard", "2/2", *more)
    assert f"error: shard 2/2 in {tmp_path / 'out.d'} is from another run ({words}" in done.err
    assert done.err.endswith(f"): delete {place} and run this command again, or choose another folder\n")
    shutil.rmtree(place)
    assert command(*shards, "--shard", "2/2", *more).code == 0
    before = (place / "output").stat().st_mtime_ns
    assert command(*shards, "--shard", "2/2", *more).err.endswith("is done already; nothing to do\n")
    assert (place / "output").stat().st_mtime_ns == before
    done = command(*shards, "--shard", "2/2")
    words = re.sub("(.*) (.*), not (.*)", r"\1 \3, not \2", words).replace("without", "with")
    assert (done.code, f"({words})" in done.err) == (1, True)
    refused(command, tmp_path, f"shard 2 is from another run than shard 1 ({words})")


def test_a_shard_of_other_inputs_is_another_one(command, shards, tmp_path):
    """Of the same name and size, and elsewhere."""
    path = tmp_path / "copy" / "few.fa"
    path.parent.mkdir()
    letters = (tmp_path / "few.fa").read_bytes()
    path.write_bytes(letters)
    shards[shards.index(tmp_path / "few.fa")] = path
    assert command(*shards, "--shard", "2/2").err.endswith("is done already; nothing to do\n")
    path.write_bytes(letters[:-2] + bytes([letters[-2] ^ 2]) + letters[-1:])
    done = command(*shards, "--shard", "2/2")
    assert done.code == 1
    assert 'is from another run (inputs ["few.fa", ' in done.err


@pytest.mark.parametrize("name", ["counts.tsv", "report.json", "un", "output"])
def test_a_shard_that_lacks_a_file_is_done_again(name, command, shards, tmp_path):
    folder, path = tmp_path / "out.d", tmp_path / "out.d" / "0002-of-0002" / name
    shutil.rmtree(folder)
    more = ["--counts", tmp_path / "c.tsv", "--un", tmp_path / "un.fa", "--report", tmp_path / "r.json"]
    merge = ["merge", folder, "-o", tmp_path / "all.sam"]
    for i in (1, 2):
        assert command(*shards, "--shard", f"{i}/2", *more).code == 0
    done = command(*shards, "--shard", "2/2", "--counts", "b.tsv", "--un", "b.fa", "--report", "b.json")
    assert (done.code, done.err.endswith("is done already; nothing to do\n")) == (0, True)
    data = path.read_bytes()
    assert data
    for words in ("delete its folder and run shard 2 again", "run shard 2 again"):
        path.write_bytes(data[:-1])
        if "delete" not in words:
            path.unlink()
        done = command(*merge)
        assert (done.code, words in done.err) == (1, True)
        assert "done already" not in command(*shards, "--shard", "2/2", *more).err
    assert name == "report.json" or path.read_bytes() == data
    assert command(*merge).code == 0
    assert all(path.stat().st_size for path in more[1::2])


@pytest.mark.parametrize("name", ["reads", "mates"])
def test_an_empty_shard_says_even_with_q_who_reads_what_cannot_be_cut(
    name, command, index_of, mates, tmp_path
):
    given = [mates / "2.fq.gz"] if name == "reads" else ["-1", mates / "1.fq", "-2", mates / "2.fq.gz"]
    path = given[-1]
    arguments = ["search", "-q", "-x", index_of(CONTIGS), *given, "-o", tmp_path / "out.d", "--shard"]
    for i in (2, 3):
        done = command(*arguments, f"{i}/3")
        assert done.code == 0
        assert (
            f"warning: no reads to process in shard {i}/3: {path} cannot be split, so shard 1/3 reads all "
            "of it; to share the work, compress FASTA or FASTQ with bgzip\n" == done.err.removeprefix("fmx: ")
        )
    assert "warning" not in command(*arguments, "1/3").err


def test_a_full_disk_leaves_nothing(index_of, mates, tmp_path):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = subprocess.run(
        [sys.executable, "-m", "fmx", "search", "-q", "-x", index_of(CONTIGS), mates / "1.fq",
         "--shard", "1/1", "-o", tmp_path / "out.d"],
        preexec_fn=small, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "out.d: cannot write: File too large" in done.stderr
    assert os.listdir(tmp_path / "out.d") == []


REFUSED = {
    "search - --shard 1/2 -o out.d": "standard input: cannot be split into shards",
    "search few.fa --shard 3/2 -o out.d": "--shard: '3/2' is not I/N, with I from 1 to N",
    "search few.fa --shard half -o out.d": "is not I/N",
    "search few.fa --shard 1/2 -o out.bam": "-o out.bam: with --shard, -o names a folder of shards, not",
    "pairwise few.fa --shard 1/2 -o out.SAM.gz": "use -o NAME.d, and --format for the format",
    "merge screen.d -o s.bam": "-o s.bam: the output can only be TSV, not .bam",
    "merge nowhere": "nowhere: No such file",
    "merge .": "no shards",
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_what_makes_no_sense_is_refused(words, command, index_of, folder, monkeypatch):
    (folder / "few.fa").write_bytes(cases.fasta(reads(5)))
    monkeypatch.setenv("FMX_INDEX", str(index_of(CONTIGS)))
    if "screen.d" in words:
        assert command("search", "few.fa", "--min-match", "20", "--shard", "1/1", "-o", "screen.d").code == 0
    done = command(*words.split())
    assert (done.code in (1, 2), REFUSED[words] in done.err) == (True, True), done.err
    assert not (folder / "out.d").exists()
