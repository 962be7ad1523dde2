"""Every error: its exit code, one line that names the place, no traceback, no output left half-written."""

import gzip
import json
import os
import subprocess
import tarfile

import cases
import numpy as np
import pytest
from bad_reads import BAD_READS, GENOME, GOOD, complaint, cut_gzip
from runs import MAIN, started


@pytest.fixture
def indexed(folder, index_of):
    """A folder that holds ref.fmx."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    return folder


@pytest.mark.parametrize("how", ["file", "stdin"])
@pytest.mark.parametrize("name", BAD_READS)
def test_bad_reads(name, how, indexed, command):
    data, words = BAD_READS[name]
    (indexed / "bad.reads").write_bytes(data)
    source = "bad.reads" if how == "file" else "-"
    message = complaint(command("search", "-q", source, "-o", "out.sam", stdin=data))
    assert ("bad.reads: " if how == "file" else "standard input: ") in message
    for word in words:
        assert word in message
    assert sorted(path.name for path in indexed.iterdir()) == ["bad.reads", "ref.fmx"]


def test_the_second_of_two_files_is_named(indexed, command):
    (indexed / "a.fq").write_bytes(GOOD)
    (indexed / "b.fq").write_bytes(GOOD[:-3])
    assert "error: b.fq: record 50: " in complaint(command("search", "-q", "a.fq", "b.fq", "-o", "out.sam"))
    assert not (indexed / "out.sam").exists()


def test_reads_that_are_not_there(indexed, command):
    assert "no.fq: No such file" in complaint(command("search", "no.fq"))
    assert "ref.fmx: this is an index, not a file of sequences: give it with -x" in complaint(
        command("search", "ref.fmx")
    )
    (indexed / "r.fq").write_bytes(GOOD)
    assert "r.fq,r.fq: No such file or directory: separate files by spaces" in complaint(
        command("search", "r.fq,r.fq")
    )
    (indexed / "folder").mkdir()
    assert "folder: Is a directory: name the files in it" in complaint(command("search", "folder"))


def test_empty_reads_give_a_header_and_a_warning(indexed, command):
    for name, data in [("empty.fq", b""), ("blank.fq", b"\n\n"), ("empty.fq.gz", gzip.compress(b""))]:
        (indexed / name).write_bytes(data)
        result = command("search", name)
        assert result.code == 0
        assert result.out.startswith(b"@HD\t")
        assert result.records == []
        assert "warning" in result.err
        assert name in result.err


BAD_REFERENCES = {
    "truncated gzip": (cut_gzip(cases.fasta(GENOME)), ["gzip stream", "truncated"]),
    "FASTQ": (GOOD, ["line 1", "expected '>'", "looks like FASTQ"]),
    "text": (b"hello\n", ["line 1", "expected '>'"]),
    "a stray letter": (b">a\nACGT\nAC*T\n", ["line 3", "'*'"]),
    "binary junk": (np.random.default_rng(1).bytes(5000), ["line 1", "expected '>'"]),
    "binary junk after a header": (b">a\n" + np.random.default_rng(4).bytes(5000), ["line "]),
    "empty": (b"", ["empty"]),
    "blank lines": (b"\n\n", ["empty"]),
    "empty gzip": (gzip.compress(b""), ["empty"]),
    "duplicate names": (b">a x\nACGT\n>b\nAC\n>a y\nGG\n", ["contig a", "twice"]),
    "empty contig": (b">a\nACGT\n>b\n>c\nAC\n", ["contig b", "no sequence"]),
    "empty contig at the end": (b">a\nACGT\n>b\n", ["contig b", "no sequence"]),
    "no name": (b">a\nACGT\n>\nAC\n", ["contig number 2", "expected a name"]),
    "a name that is no ASCII": (">ä\nACGT\n".encode(), ["contig number 1", "SAM"]),
    "a name that means no contig": (b">*\nACGT\n", ["contig number 1", "name *", "SAM"]),
    "a name that means the same contig": (b">=\nACGT\n", ["contig number 1", "name =", "SAM"]),
    "a name that cannot be printed": (b">a\x01\nACGT\n", ["contig number 1", "SAM"]),
    "only N": (b">a\nNNNN\n>b\nRY\n", ["no A, C, G or T"]),
}


@pytest.mark.parametrize("how", ["file", "stdin"])
@pytest.mark.parametrize("name", BAD_REFERENCES)
def test_bad_reference(name, how, folder, command):
    data, words = BAD_REFERENCES[name]
    (folder / "bad.fa").write_bytes(data)
    source = "bad.fa" if how == "file" else "-"
    message = complaint(command("index", "-q", source, "-o", "out.fmx", stdin=data))
    assert ("bad.fa: " if how == "file" else "standard input: ") in message
    for word in words:
        assert word in message
    assert [path.name for path in folder.iterdir()] == ["bad.fa"]


def test_a_failed_build_leaves_the_old_index(folder, command):
    (folder / "ref.fa").write_bytes(cases.fasta(GENOME))
    assert command("index", "ref.fa").code == 0
    before = (folder / "ref.fmx" / "meta.json").read_bytes()
    (folder / "ref.fa").write_bytes(b">a\n")
    complaint(command("index", "-q", "ref.fa"))
    assert (folder / "ref.fmx" / "meta.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["ref.fa", "ref.fmx"]


def test_an_index_never_replaces_something_else(folder, command):
    (folder / "ref.fa").write_bytes(cases.fasta(GENOME))
    (folder / "precious").mkdir()
    (folder / "precious" / "thesis.txt").write_text("x")
    assert "precious exists" in complaint(command("index", "ref.fa", "-o", "precious"))
    assert (folder / "precious" / "thesis.txt").exists()
    refused = command("index", "ref.fa", "-o", "ref.fa")
    assert (refused.code, refused.err.splitlines()[-1]) == (
        2, "fmx: error: -o ref.fa is the same file as the input ref.fa; choose another name"
    )  # fmt: skip


def test_unknown_layouts_are_refused_by_name(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD)
    (indexed / "r.fa").write_bytes(cases.fasta(GENOME))
    message = complaint(command("index", "-q", "r.fa", "--layout", "nope"))
    assert "no layout 'nope'; the layouts are bvsfm" in message
    message = complaint(command("search", "--layout", "verify", "r.fq"))
    assert "no layout 'verify' (it is a search method: --method verify); the layouts are bvsfm" in message
    assert message.endswith(" and sparse, or auto")
    message = complaint(command("index", "-q", "r.fa", "--layout", "auto,sparse"))
    assert message.endswith("layout auto cannot be combined with other layouts or added to an index")


def test_an_index_is_neither_an_output_nor_shards(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD)
    (indexed / "ref.fmx").rename(indexed / "index")
    done = command("search", "r.fq", "-x", "index", "-o", "index")
    assert (done.code, done.out) == (2, b"")
    assert "-o index is the index that is searched; choose another name\n" in done.err
    assert "index is an index, not a folder of shards" in complaint(command("merge", "index"))


def test_skipping_all_reads_gives_a_warning(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD)
    assert (
        "fmx: warning: --skip 99 leaves no reads in r.fq\n" in command("search", "--skip", "99", "r.fq").err
    )
    assert "fmx: warning: no reads in standard input\n" in command("search", "-", stdin=b"").err


def test_one_sequence_has_no_pairs(folder, command):
    (folder / "r.fa").write_bytes(cases.fasta(GENOME[:1]))
    said = command("pairwise", "r.fa").err
    assert "fmx: warning: r.fa has fewer than two sequences, so there are no pairs\n" in said


def test_the_layouts_of_a_family_are_listed(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD)
    assert "the bvsfm layouts are bvsfm-k2-d96, " in complaint(
        command("search", "--layout", "bvsfm-k7", "r.fq")
    )
    message = complaint(command("search", "--layout", "bvsfm-k1-d224", "r.fq"))
    assert "no layout bvsfm-k1-d224; it has: bvsfm-k2-d96" in message


def test_methods_that_an_index_cannot_serve_are_refused(indexed, command, index_of):
    (indexed / "r.fq").write_bytes(GOOD)
    arguments = ["search", "-q", "r.fq", "--method", "verify"]
    assert "no whole suffix array" in complaint(command(*arguments, "-x", index_of(GENOME, sa_rate=2)))
    assert "cannot be combined with --layout" in complaint(command(*arguments, "--layout", "bvsfm-k2-d96"))


def test_a_missing_index_says_how_to_make_one(folder, command, monkeypatch):
    monkeypatch.delenv("FMX_INDEX", raising=False)
    (folder / "r.fq").write_bytes(GOOD)
    assert "'fmx index REFERENCE.fa'" in complaint(command("search", "r.fq"))
    assert "no.fmx: there is no index at this path" in complaint(command("search", "-x", "no.fmx", "r.fq"))
    assert "r.fq: this is a file, not an index: name the folder" in complaint(
        command("search", "-x", "r.fq", "r.fq")
    )
    monkeypatch.setenv("FMX_INDEX", "/old/ref.fmx")
    where = "/old/ref.fmx (from the environment variable FMX_INDEX): there is no index at this path"
    assert where in complaint(command("search", "r.fq"))
    assert "FMX_INDEX" not in complaint(command("search", "-x", "no.fmx", "r.fq"))
    monkeypatch.delenv("FMX_INDEX")
    (folder / "some.fmx").mkdir()
    assert "is not an fmx index" in complaint(command("search", "r.fq"))
    (folder / "other.fmx").mkdir()
    assert "2 indexes here (other.fmx, some.fmx); choose" in complaint(command("search", "r.fq"))
    for number in range(5):
        (folder / f"{number}.fmx").mkdir()
    listed = "7 indexes here (0.fmx, 1.fmx, 2.fmx, 3.fmx, 4.fmx and 2 more); choose"
    assert listed in complaint(command("search", "r.fq"))


@pytest.fixture
def full_index(folder):
    """Paths of two indexes that between them hold every array but those of further layouts."""
    (folder / "r.fq").write_bytes(GOOD)
    whole = cases.build(folder / "whole.fmx", GENOME, ["bvsfm-k2-d96", "cofi-k4"])
    sampled = cases.build(folder / "sampled.fmx", GENOME, sa_rate=4)
    return whole, sampled


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)


def damage_is_found(array, words, command):
    """Every search that reads the array fails and names it; at least one does."""
    path = array.parent
    ways = [["--layout", name] for name in json.loads((path / "meta.json").read_text())["layouts"]]
    if (path / "seed_starts.npy").exists() or array.name == "seed_starts.npy":
        ways.append(["--method", "verify"])
    results = [command("search", "-q", "-x", path, *way, "r.fq", "-o", "out.sam") for way in ways]
    failed = [result for result in results if result.code]
    assert failed or (array.stem == "text_words" and path.name == "sampled.fmx")  # which no search reads
    for result in failed:
        assert f"{array}: {words}" in complaint(result)
    assert len(failed) == len(results) or (path.parent / "out.sam").exists()
    (path.parent / "out.sam").unlink(missing_ok=True)


def test_one_flipped_byte_in_each_array(full_index, command):
    n_arrays = 0
    for path in full_index:
        for array in sorted(path.glob("*.npy")):
            good = array.read_bytes()
            for place in (-1, 128 + (len(good) - 128) // 2, 128):
                flip(array, place)
                damage_is_found(array, "damaged (checksum differs)", command)
                assert f"{array}: damaged (checksum differs)" in complaint(
                    command("inspect", "--verify", path)
                )
                array.write_bytes(good)
            n_arrays += 1
        assert command("inspect", "--verify", path).code == 0
    assert n_arrays > 20


def test_each_array_truncated_or_missing(full_index, command):
    for path in full_index:
        for array in sorted(path.glob("*.npy")):
            good = array.read_bytes()
            for bad in (good[:-1], good[:128], good[:20], b""):
                array.write_bytes(bad)
                assert f"{array}: truncated or damaged" in complaint(command("inspect", path))
                damage_is_found(array, "truncated or damaged", command)
            array.unlink()
            assert f"{array}: missing" in complaint(command("inspect", path))
            damage_is_found(array, "missing", command)
            array.write_bytes(good)


def test_no_flip_in_a_header_goes_unnoticed(full_index, command):
    whole, _ = full_index
    array = whole / "sa_positions.npy"
    good = array.read_bytes()
    expected = command("search", "-q", "-x", whole, "r.fq").records
    for place in range(128):
        for mask in (1, 0x10):
            data = bytearray(good)
            data[place] ^= mask
            array.write_bytes(data)
            result = command("search", "-q", "-x", whole, "r.fq")
            if result.code == 0:
                assert result.records == expected
            else:
                assert str(array) in complaint(result)


def test_a_wrong_version_or_a_broken_meta_json(full_index, command):
    path = full_index[0]
    meta = path / "meta.json"
    good = meta.read_text()
    parsed = json.loads(good)
    meta.write_text(json.dumps({**parsed, "format": 999}))
    message = complaint(command("search", "-x", path, "r.fq"))
    assert "index format 999, but this fmx reads " in message
    assert "build the index again" in message
    meta.write_text(json.dumps({**parsed, "n_text": parsed["n_text"] + 1}))
    assert "meta.json: damaged (checksum differs)" in complaint(command("search", "-x", path, "r.fq"))
    for bad in ("", "{", "[]", "null", "{}", good[: len(good) // 2], "\0" * 100, '{"format": 1}'):
        meta.write_text(bad)
        assert "meta.json: damaged" in complaint(command("search", "-x", path, "r.fq"))
        assert "meta.json: damaged" in complaint(command("inspect", path))
    meta.write_bytes(b"\xff\xfe")
    assert "meta.json: damaged" in complaint(command("search", "-x", path, "r.fq"))
    meta.unlink()
    assert "is not an fmx index" in complaint(command("search", "-x", path, "r.fq"))


def test_a_full_disk(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD * 1000)
    assert "/dev/full: cannot write: No space left" in complaint(
        command("search", "-q", "r.fq", "-o", "/dev/full")
    )
    for beside in ("--counts", "--al"):
        message = complaint(command("search", "-q", "r.fq", "-o", "out.sam", beside, "/dev/full"))
        assert "/dev/full: cannot write: No space left" in message
    done = command("search", "r.fq", "-o", "out.sam", "--al", "/dev/full", "--un", "/dev/full")
    assert done.code == 2
    assert "--al and --un are both /dev/full: choose two names" in done.err
    for arguments in (
        ["search", "-q", "r.fq"], ["mem", "-q", "r.fq"], ["locate", "-q", "-p", "A"], ["inspect"], ["--help"],
    ):  # fmt: skip
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*MAIN, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 1
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith("fmx: error: ")
        assert "No space left on device" in line


def test_an_output_that_cannot_be_made(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD)
    assert "no/out.sam: cannot write: the folder 'no' does not exist" in complaint(
        command("search", "r.fq", "-o", "no/out.sam")
    )
    (indexed / "there").mkdir()
    assert "there: cannot write: Is a directory" in complaint(command("search", "r.fq", "-o", "there"))
    (indexed / "r.fa").write_bytes(cases.fasta(GENOME))
    assert "no/r.fmx: cannot write" in complaint(command("index", "-q", "r.fa", "-o", "no/r.fmx"))


def test_a_closed_pipe_ends_quietly(indexed):
    (indexed / "r.fq").write_bytes(GOOD * 2000)
    for arguments in (["search", "-q", "r.fq"], ["locate", "-q", "r.fq"], ["mem", "-q", "r.fq"]):
        with started(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(60) == 141


def test_debug_shows_the_traceback(indexed):
    done = subprocess.run([*MAIN, "--debug", "search", "no.fq"], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"Traceback" in done.stderr
    assert b"no.fq: No such file" in done.stderr
    assert os.listdir(indexed) == ["ref.fmx"]


FULL = {
    "cannot start a thread: use fewer threads (-t), or raise the limits of this shell": RuntimeError(
        "can't start new thread"
    ),
    "out of memory; use fewer threads or a machine with more memory": MemoryError(),
}


@pytest.mark.parametrize("said", FULL)
@pytest.mark.parametrize(
    "arguments", [["search", "r.fq"], ["mem", "r.fq"], ["pairwise", "r.fa"], ["index", "r.fa", "-o", "n.fmx"]]
)
def test_too_few_threads_or_too_little_memory_are_one_line(arguments, said, indexed, command, monkeypatch):
    def refuse(thread):
        raise FULL[said]

    (indexed / "r.fq").write_bytes(GOOD)
    (indexed / "r.fa").write_bytes(cases.fasta(GENOME))
    monkeypatch.setattr("threading.Thread.start", refuse)
    assert complaint(command(*arguments, "-q", "-t", "2")) == f"fmx: error: {said}"
    assert sorted(path.name for path in indexed.iterdir()) == ["r.fa", "r.fq", "ref.fmx"]


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (b"\xef\xbb\xbf>a\nACGTACGTACGT\n", "found '\\xef' (a byte order mark? save the file without one)"),
        (">a\nACGT\n".encode("utf-16"), "found '\\xff' (UTF-16? save the file as UTF-8)"),
        (
            gzip.compress(gzip.compress(b">a\nACGT\n", mtime=0), mtime=0),
            "found '\\x1f' (compressed twice? decompress it once)",
        ),
        (b"PK\x03\x04", "x: this is a zip archive: unpack it"),
    ],
)
def test_what_a_foreign_file_may_be_is_told(begin, said, indexed, command):
    (indexed / "x").write_bytes(begin)
    for arguments in (["search", "x"], ["index", "x"], ["pairwise", "x"]):
        assert said in complaint(command(*arguments))


def test_reads_after_a_byte_order_mark_do_have_names(indexed, command):
    (indexed / "x").write_bytes(b"\xef\xbb\xbf@a\nACGTACGTACGT\n+\nIIIIIIIIIIII\n")
    for name in ("search", "mem", "locate"):
        assert "found '\\xef' (a byte order mark?" in complaint(command(name, "x"))


def test_only_a_zip_archive_is_called_one(indexed, command):
    (indexed / "x").write_bytes(b"Pi\n")
    for name in ("search", "index", "pairwise"):
        said = complaint(command(name, "x"))
        assert "found 'P'" in said
        assert "zip" not in said
    done = command("search", "-", stdin=b"PK\x03\x04")
    assert "standard input: this is a zip archive: unpack it" in complaint(done)


def test_sam_that_should_be_fasta_is_named(indexed, command):
    (indexed / "x").write_text("@HD\tVN:1.6\n")
    for arguments in (["index", "x"], ["pairwise", "x"]):
        assert "found '@' (this looks like FASTQ or SAM)" in complaint(command(*arguments))


def test_a_tar_archive_is_named(indexed, command):
    (indexed / "reads.fq").write_bytes(GOOD)
    for name, mode in (("x.tar", "w"), ("x.tgz", "w:gz")):
        with tarfile.open(name, mode) as archive:
            archive.add("reads.fq")
        for arguments in (["search"], ["index"], ["pairwise"], ["count", "-l", "reads.fq"]):
            assert f"{name}: this is a tar archive: unpack it" in complaint(command(*arguments, name))


def test_bam_where_fasta_is_expected_is_named(indexed, command):
    (indexed / "reads.fq").write_bytes(GOOD)
    assert command("search", "reads.fq", "-o", "x.bam").code == 0
    for arguments in (["index"], ["pairwise"], ["count", "reads.fq", "-l"]):
        assert "x.bam: this is BAM or CRAM; expected FASTA" in complaint(command(*arguments, "x.bam"))


def test_an_index_in_the_place_of_sequences_is_named(indexed, command):
    done = command("index", "ref.fmx")
    assert (done.code, done.err) == (
        2, "fmx: error: ref.fmx is an index already; to add a layout or groups, use --add\n"
    )  # fmt: skip
    done = command("locate", "ref.fmx", "-p", "ACGT")
    assert (done.code, done.err) == (2, "fmx: error: ref.fmx is an index: give it with -x\n")
    assert complaint(command("pairwise", "ref.fmx")).endswith("this is an index, not a file of sequences")


def test_sam_in_the_place_of_reads_is_named(indexed, command):
    (indexed / "x").write_text(
        "@HD\tVN:1.6\n@SQ\tSN:a\tLN:4\n@PG\tID:x\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"
    )
    assert "this looks like SAM: convert it to BAM with samtools view -b" in complaint(command("search", "x"))
