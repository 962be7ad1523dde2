"""Inputs are looked at before the work, and a file that was cut is told from a whole one."""

import contextlib
import gzip
import os
import resource
import subprocess
import threading
from itertools import accumulate

import numpy as np
import pytest
from output_of import bgzf
from runs import MAIN

from fmx.errors import InputError
from fmx.input.chunks import look_at
from fmx.input.streams import Source

GENOME = [("c1", "ACGTTGCAAC" * 4 + "GGTACATTCG")]
GOOD = b"".join(b"@r%d\nACGTTGCAAC\n+\nIIIIIIIIII\n" % i for i in range(50))
FASTA = b"".join(b">s%d\n%s\n" % (i, b"ACGTTGCAAC" * 9) for i in range(50))
END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


@pytest.fixture
def indexed(folder, index_of):
    """A folder that holds ref.fmx and reads q.fq."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    (folder / "q.fq").write_bytes(GOOD)
    return folder


# Blocked gzip


def members(data: bytes, size=1000) -> list:
    """The blocks of data as BGZF, the last one empty."""
    whole, blocks = bgzf(data, size), []
    while whole:
        n = int.from_bytes(whole[16:18], "little") + 1
        blocks.append(whole[:n])
        whole = whole[n:]
    assert blocks[-1] == END
    return blocks


READERS = {
    "search": ("search -q", GOOD),
    "search FASTA": ("search -q", FASTA),
    "mem": ("mem -q", GOOD),
    "locate": ("locate -q", GOOD),
    "pairwise": ("pairwise -q", FASTA),
    "index": ("index -q", FASTA),
    "count": ("count -q -l guides.txt", GOOD),
    "shard": ("search -q --shard 1/1", GOOD),
}
NO_END = (
    "fmx: warning: {}: the BGZF end-of-file marker is missing; if the file was cut off, copy or download it "
    "again"
)


@pytest.mark.parametrize("how", ["in.gz", "-"])
@pytest.mark.parametrize("reader", READERS)
def test_bgzf_without_its_end_is_told_or_refused_inside_a_record(reader, how, indexed, command):
    arguments, data = READERS[reader]
    if how == "-" and reader in ("count", "shard"):
        pytest.skip("these need files")
    (indexed / "guides.txt").write_text("g\tACGTTGCAAC\n")
    name, found = "standard input" if how == "-" else how, []
    for whole, out in ((bgzf(data), indexed / "one"), (bgzf(data)[: -len(END)], indexed / "two")):
        (indexed / "in.gz").write_bytes(whole)
        result = command(*arguments.split(), "-o", out, how, stdin=whole)
        assert result.code == 0
        content = out.read_bytes() if out.is_file() else str(sorted(os.listdir(out))).encode()
        found.append(content.replace(b"two", b"one"))
    assert found[0] == found[1]
    assert result.err.splitlines() == [NO_END.format(name)]
    cut = members(data)[0]
    assert not gzip.decompress(cut).endswith(b"\n")
    (indexed / "in.gz").write_bytes(cut)
    result = command(*arguments.split(), "-o", "out", how, stdin=cut)
    assert (result.code, (indexed / "out").exists()) == (1, reader == "shard")
    *others, line = result.err.splitlines()
    if data is FASTA:
        assert line.startswith(f"fmx: error: {name}: gzip stream: truncated (the BGZF end-of-file marker")
    else:
        assert line.startswith(f"fmx: error: {name}: record ")
    assert others == [NO_END.format(name)] * (data is GOOD)


def test_a_missing_end_is_told_before_the_work(indexed, command):
    """Each file once; a block in the middle of what cat joins needs no end."""
    without = bgzf(GOOD)[: -len(END)]
    (indexed / "a.gz").write_bytes(without)
    (indexed / "bad.gz").write_bytes(bgzf(GOOD + b"junk\n"))
    lines = command("search", "-o", "out", "bad.gz", "a.gz", "a.gz").err.splitlines()
    assert lines[0] == NO_END.format("a.gz")
    assert lines.count(NO_END.format("a.gz")) == 1
    assert lines[-1].startswith("fmx: error: bad.gz: record 51: ")
    for joined in (without + bgzf(GOOD), bgzf(GOOD) + without, without + without):
        result = command("search", "-q", "-", stdin=joined)
        assert (result.code, len(result.records)) == (0, 100)
        assert result.err.splitlines() == [NO_END.format("standard input")] * joined.endswith(without)


def read(path) -> bytes:
    buffer = np.empty(1 << 22, np.uint8)
    with Source(path) as source:
        return buffer[: source.readinto(buffer)].tobytes()


def test_every_cut_of_a_bgzf_is_noticed(tmp_path, capfd):
    blocks = [gzip.compress(GOOD[:100]), *members(GOOD[100:3000], 300)]
    whole, path = b"".join(blocks), tmp_path / "x.gz"
    borders = set(accumulate(map(len, blocks)))
    for n in range(2, len(whole)):
        path.write_bytes(whole[:n])
        if n in borders:
            look_at(str(path))
            assert capfd.readouterr().err.splitlines() == [NO_END.format(path)] * (n > len(blocks[0]))
            assert read(path) == gzip.decompress(whole[:n])
        else:
            with pytest.raises(InputError, match="gzip stream"):
                read(path)


# GuideWindow at first


def wrong_second(folder) -> dict:
    """Second inputs that must be noticed before the first is worked on, and what is said."""
    (folder / "folder").mkdir()
    (folder / "junk").write_bytes(b"what is this\n")
    (folder / "junk.gz").write_bytes(gzip.compress(b"what is this\n"))
    (folder / "cut.gz").write_bytes(gzip.compress(np.random.default_rng(1).bytes(9000))[:20])
    (folder / "link").symlink_to("nowhere")
    return {
        "none.fq": "No such file", "folder": "Is a directory", "junk": "expected '@'",
        "junk.gz": "expected '@'", "cut.gz": "gzip stream",
        "link": "No such file", "q.fq/x": "Not a directory",
    }  # fmt: skip


@pytest.mark.parametrize("arguments", [["search"], ["mem"], ["locate"], ["pairwise"]], ids=" ".join)
def test_a_wrong_second_input_is_noticed_first(arguments, indexed, command):
    if arguments == ["pairwise"]:
        (indexed / "q.fq").write_bytes(b">bad\n....\n")  # told if it were read before the second is looked at
    for name, words in wrong_second(indexed).items():
        result = command(*arguments, "q.fq", name)
        assert (result.code, result.out) == (1, b"")  # no header either
        (line,) = result.err.splitlines()
        assert line.startswith(f"fmx: error: {name}: ")
        assert (words.replace("@", ">") if arguments == ["pairwise"] else words) in line


@contextlib.contextmanager
def as_nobody():
    """Root may read everything."""
    root = os.geteuid() == 0
    if root:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)


def test_an_input_without_leave_to_read_is_noticed_first(indexed):
    os.chmod(indexed, 0o755)
    (indexed / "secret").write_bytes(GOOD)
    os.mkfifo("fifo")
    for name in ("secret", "fifo"):
        os.chmod(name, 0o644)
        with as_nobody():
            look_at(name)
        os.chmod(name, 0)
        with as_nobody(), pytest.raises(InputError, match=f"{name}: Permission denied"):
            look_at(name)


def test_pipes_are_opened_once_and_read_from_the_start(indexed):
    for name in ("one", "two"):
        os.mkfifo(name)

    def feed(name):
        with open(name, "wb") as pipe:  # waits for a reader; a second opening would find nothing
            pipe.write(GOOD)

    for name in ("one", "two"):
        threading.Thread(target=feed, args=(name,), daemon=True).start()
    done = subprocess.run([*MAIN, "search", "-q", "one", "q.fq", "two"], capture_output=True, check=True)
    assert done.stdout.count(b"\nr") == 150
    shell = f"{' '.join(MAIN)} search -q <(cat q.fq) <(gzip -c q.fq)"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, check=True)
    assert done.stdout.count(b"\nr") == 100


def test_more_inputs_than_descriptors(indexed):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    names = [f"{i}.fq" for i in range(300)]
    for name in names:
        (indexed / name).write_bytes(GOOD if name == "7.fq" else b"")
    done = subprocess.run(
        [*MAIN, "search", "-q", "-t", "1", *names], capture_output=True, preexec_fn=few, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\nr") == 50
