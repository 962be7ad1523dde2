"""Every error: its exit code, one line that names the place, no traceback, no output left half-written."""

import gzip
import io
import itertools
import json
import subprocess
import tarfile

import cases
import numpy as np
import pytest
from bad_reads import BAD_READS, GENOME, GOOD, complaint, cut_gzip
from runs import started


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


WRONG = {  # command: the end, or a part, of its error
    "search no.fq": "no.fq: No such file or directory",
    "search ref.fmx": "ref.fmx: this is an index, not a file of sequences: give it with -x",
    "search r.fq,r.fq": "r.fq,r.fq: No such file or directory: separate files by spaces",
    "index ref.fmx": "ref.fmx: this is an index, not a file of sequences",
    "search folder": "folder: Is a directory: name the files in it",
    "search -- -k": "-k: No such file or directory",
    "search " + "r.fq" * 2000: "File name too long",
    "search r.fq -o no/out.sam": "no/out.sam: cannot write: the folder 'no' does not exist",
    "search r.fq -o folder": "folder: cannot write: Is a directory",
    "search r.fq --layout verify": "no layout 'verify' (it is a search method: --method verify); the layouts "
    "are bvsfm",
    "search r.fq --layout bvsfm-k1-d224": "no layout bvsfm-k1-d224; it has: bvsfm-k2-d96",
    "search r.fq --method verify --layout bvsfm-k2-d96": "cannot be combined with --layout",
    "index r.fa -o folder": "folder exists",
    "index r.fa --layout nope": "no layout 'nope'; the layouts are bvsfm",
    "index r.fa --layout auto,sparse": "layout auto cannot be combined with other layouts or added to an "
    "index",
    "search -x r.fq r.fq": "r.fq: this is a file, not an index: name the folder",
    "merge ref.fmx": "ref.fmx: contains no shards",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_cannot_be_done_is_one_line(arguments, indexed, command):
    (indexed / "r.fq").write_bytes(GOOD)
    (indexed / "r.fa").write_bytes(cases.fasta(GENOME))
    (indexed / "folder").mkdir()
    (indexed / "folder" / "thesis.txt").write_text("x")
    assert WRONG[arguments] in complaint(command(*arguments.split(), "-q"))
    assert sorted(path.name for path in indexed.glob("**/*")) == [
        "folder",
        "r.fa",
        "r.fq",
        "ref.fmx",
        "thesis.txt",
    ]


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
    "binary junk": (np.random.default_rng(1).bytes(5000), ["line 1", "expected '>'"]),
    "binary junk after a header": (b">a\n" + np.random.default_rng(4).bytes(5000), ["line "]),
    "empty gzip": (gzip.compress(b""), ["empty"]),
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


def test_an_output_is_not_an_input(indexed, command):
    (indexed / "ref.fa").write_bytes(cases.fasta(GENOME))
    done = command("index", "ref.fa", "-o", "ref.fa")
    assert done.err == "fmx: error: -o ref.fa is the same file as the input ref.fa; choose another name\n"


def test_what_is_empty_is_warned_of(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD)
    (indexed / "r.fa").write_bytes(cases.fasta(GENOME[:1]))
    for arguments, warning in {
        "search --skip 99 r.fq": "no reads to process in r.fq",
        "search -": "no reads to process in standard input",
        "pairwise r.fa": "no pairs to process in r.fa",
    }.items():
        assert f"fmx: warning: {warning}\n" in command(*arguments.split(), stdin=b"").err


def test_methods_that_an_index_cannot_serve_are_refused(indexed, command, index_of):
    (indexed / "r.fq").write_bytes(GOOD)
    sampled = index_of(GENOME, sa_rate=2)
    message = complaint(command("search", "-q", "r.fq", "--method", "verify", "-x", sampled))
    assert "no whole suffix array" in message


def test_a_missing_index_says_how_to_make_one(folder, command, monkeypatch):
    monkeypatch.delenv("FMX_INDEX", raising=False)
    (folder / "r.fq").write_bytes(GOOD)
    assert "'fmx index REFERENCE.fa'" in complaint(command("search", "r.fq"))
    assert "no.fmx: there is no index at this path" in complaint(command("search", "-x", "no.fmx", "r.fq"))
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


def flipped(data, place) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]


DAMAGE = {  # of the bytes of an array (None: no file), and what is said of it
    "flipped": ([lambda b: flipped(b, len(b) - 1), lambda b: flipped(b, 128)],
                "damaged (checksum differs)", ["--verify"]),
    "truncated": ([lambda b: b[:-1], lambda b: b[:128], lambda b: b[:20], lambda b: b""],
                  "truncated or damaged", []),
    "missing": ([lambda b: None], "missing", []),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_to_any_array_is_found_and_named(kind, full_index, command):
    """By inspect, and by every search that reads the array, of which there is at least one."""
    changes, words, option = DAMAGE[kind]
    arrays = [array for path in full_index for array in sorted(path.glob("*.npy"))]
    assert len(arrays) > 20
    for array, change in itertools.product(arrays, changes):
        path, good = array.parent, array.read_bytes()
        ways = [["--layout", name] for name in json.loads((path / "meta.json").read_text())["layouts"]]
        ways += [["--method", "verify"]] * (path / "seed_starts.npy").exists()
        array.unlink() if change(good) is None else array.write_bytes(change(good))
        assert f"{array}: {words}" in complaint(command("inspect", path, *option))
        results = [command("search", "-q", "-x", path, *way, "r.fq", "-o", "out.sam") for way in ways]
        failed = [result for result in results if result.code]
        assert failed or (array.stem == "text_words" and path.name == "sampled.fmx")  # no search reads it
        for result in failed:
            assert f"{array}: {words}" in complaint(result)
        array.write_bytes(good)
    assert all(command("inspect", "--verify", path).code == 0 for path in full_index)


def test_a_wrong_version_or_a_broken_meta_json(full_index, command):
    meta = full_index[0] / "meta.json"
    good = meta.read_bytes()
    parsed = json.loads(good)
    longer = json.dumps({**parsed, "n_text": parsed["n_text"] + 1}).encode()
    texts = {json.dumps({**parsed, "format": 999}).encode(): "index format 999, but this fmx reads "}
    texts[longer] = "meta.json: damaged (checksum differs)"
    for bad in (b"", b"{", b"[]", b"null", b"{}", good[:99], b"\0" * 100, b'{"format": 1}', b"\xff\xfe"):
        texts[bad] = "meta.json: damaged"
    for text, words in texts.items():
        meta.write_bytes(text)
        assert words in complaint(command("search", "-x", full_index[0], "r.fq"))
        assert words in complaint(command("inspect", full_index[0])) or text == longer
    meta.unlink()
    assert "is not an fmx index" in complaint(command("search", "-x", full_index[0], "r.fq"))


def test_a_full_disk(indexed, command):
    (indexed / "r.fq").write_bytes(GOOD * 1000)
    assert "/dev/full: cannot write: No space left" in complaint(
        command("search", "-q", "r.fq", "-o", "/dev/full")
    )
    for beside in ("--counts", "--al"):
        message = complaint(command("search", "-q", "r.fq", "-o", "out.sam", beside, "/dev/full"))
        assert "/dev/full: cannot write: No space left" in message


def test_a_closed_pipe_ends_quietly(indexed):
    (indexed / "r.fq").write_bytes(GOOD * 2000)
    for arguments in (["search", "-q", "r.fq"], ["locate", "-q", "r.fq"], ["mem", "-q", "r.fq"]):
        with started(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 141


def test_debug_shows_the_traceback(indexed, command):
    done = command("--debug", "search", "no.fq")
    assert (done.code, "Traceback" in done.err, "no.fq: No such file" in done.err) == (1, True, True)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("can't start new thread"),
         "cannot start a thread: use fewer threads (-t), or raise the limits of this shell"),
        (MemoryError(), "out of memory; use fewer threads or a machine with more memory"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("arguments", ["search r.fq", "mem r.fq", "pairwise r.fa", "index r.fa -o n.fmx"])
def test_too_few_threads_or_too_little_memory_are_one_line(
    arguments, error, message, indexed, command, monkeypatch
):
    def refuse(thread):
        raise error

    (indexed / "r.fq").write_bytes(GOOD)
    (indexed / "r.fa").write_bytes(cases.fasta(GENOME))
    monkeypatch.setattr("threading.Thread.start", refuse)
    assert complaint(command(*arguments.split(), "-q", "-t", "2")) == f"fmx: error: {message}"
    assert sorted(path.name for path in indexed.iterdir()) == ["r.fa", "r.fq", "ref.fmx"]


def archive(mode) -> bytes:
    file = io.BytesIO()
    with tarfile.open("reads.tar", mode, file) as tar:
        tar.addfile(tarfile.TarInfo("reads.fq"))
    return file.getvalue()


SAM = b"@HD\tVN:1.6\n@SQ\tSN:a\tLN:4\n@PG\tID:x\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"
FOREIGN = [  # the beginning of a file, commands, and what they say of it
    (b"\xef\xbb\xbf>a\nACGTACGTACGT\n", "search index pairwise",
     "found '\\xef' (a byte order mark? save the file without one)"),
    (b"\xef\xbb\xbf@a\nACGTACGTACGT\n+\nIIIIIIIIIIII\n", "search mem locate",
     "found '\\xef' (a byte order mark?"),
    (">a\nACGT\n".encode("utf-16"), "search index pairwise",
     "found '\\xff' (UTF-16? save the file as UTF-8)"),
    (gzip.compress(gzip.compress(b">a\nACGT\n")), "search index pairwise",
     "found '\\x1f' (compressed twice? decompress it once)"),
    (b"PK\x03\x04", "search index pairwise", "x: this is a zip archive: unpack it"),
    (b"Pi\n", "search index pairwise", "found 'P'"),
    (b"@HD\tVN:1.6\n", "index pairwise", "found '@' (this looks like FASTQ or SAM)"),
    (SAM, "search", "this looks like SAM: convert it to BAM with samtools view -b"),
    (b"read\tACGT\n", "search mem locate", "record 1: expected '@' (FASTQ) or '>' (FASTA) at its start, "
     "found 'r' (sequences need a line '>NAME' before each; convert SAM with samtools view -b)"),
    (archive("w"), "search index pairwise count", "x: this is a tar archive: unpack it"),
    (archive("w:gz"), "search index pairwise count", "x: this is a tar archive: unpack it"),
    (b"", "index pairwise count", "x: this is BAM or CRAM; expected FASTA"),
]  # fmt: skip


@pytest.mark.parametrize(("begin", "commands", "message"), FOREIGN, ids=[row[2] for row in FOREIGN])
def test_what_a_foreign_file_may_be_is_told(begin, commands, message, indexed, command):
    (indexed / "x").write_bytes(begin)
    (indexed / "r.fq").write_bytes(GOOD)
    if not begin:
        assert command("search", "r.fq", "--format", "bam", "-o", "x").code == 0
    for name in commands.split():
        said = complaint(command(name, *(["r.fq", "-l"] if name == "count" else []), "x"))
        assert message in said
        assert ("zip" in said) == ("zip" in message)
