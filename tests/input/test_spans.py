"""Spans: whatever cuts a file, its records, their numbers and its faults are those of one whole span."""

import gzip
import os
import re
import threading
import time
from itertools import chain

import hypothesis.strategies as st
import numpy as np
import pytest
from cover import examples
from fuzz import oracle
from hypothesis import example, given
from output_of import bgzf

from fmx.codecs import bgzf as bgzf_blocks
from fmx.errors import InputError
from fmx.input import ALL, chunks, reads, spans
from fmx.input.chunks import look_at
from fmx.input.spans import plan, read_chunks
from fmx.machines.pipeline import run_ordered
from fmx.system import RegularFile

SIZES = [1, 2, 3, 5, 7, 11, 64]
WHOLE = 1 << 23


def outcome(chunks) -> tuple:
    """((number, name, sequence, quality) of every read, what is wrong with the next) of chunks."""
    found = []
    try:
        for chunk in chunks:
            batch = reads.parse(chunk)
            assert batch.length.size == chunk.n_bound
            data = batch.data.tobytes()
            for r in range(batch.length.size):
                name, start, n = batch.name_start[r], batch.start[r], batch.length[r]
                quality = batch.quality_start[r]
                found.append((
                    chunk.number + r, data[name : name + batch.name_length[r]], data[start : start + n],
                    data[quality : quality + n] if quality >= 0 else None,
                ))  # fmt: skip
    except InputError as error:
        return found, re.sub(r": .*\bCR\b.*", ": CR", str(error))  # which of two, a chunk tells by all of it
    return found, ""


def are_same(one, other) -> bool:
    """The same fault, and before it the same records, of which a chunk with a fault gives none; or all."""
    n = min(len(one[0]), len(other[0])) if one[1] else WHOLE
    return one[1] == other[1] and one[0][:n] == other[0][:n]


def by_threads(path, size, n_threads, n_planned=1):
    """The same of spans that several threads read, planned for ``n_planned``."""
    parts = []

    def work(emit, span):
        return outcome([span.read()])

    try:
        for part, problem in run_ordered(plan([path], size, n_threads=n_planned), [work] * n_threads, None):
            parts += part
            if problem:
                return parts, problem
    except InputError as error:
        return parts, str(error)
    return parts, ""


def check(path, size):
    """However a file is cut, the outcome is that of one span."""
    expected = outcome(read_chunks([path], WHOLE))
    assert are_same(outcome(read_chunks([path], size)), expected)
    return expected


# Made to mislead

letters = st.text("ACGTN", max_size=9)


@st.composite
def fastq(draw, spoiled=True):
    """FASTQ whose qualities and names look like anything, with what may be wrong, and blank lines."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end * draw(st.sampled_from([0, 0, 1, 5]))
    for i in range(draw(st.integers(0, 8))):
        sequence = draw(letters)
        first = draw(st.sampled_from("@+>I!~"))
        quality = (first * len(sequence))[:1] + draw(st.sampled_from("@+>I")) * (len(sequence) - 1)
        name = draw(st.sampled_from(["", "r", "r +x", "r @", f"{i}", "r >"]))
        plus = draw(st.sampled_from(["+", "+", "+@", "+r"]))
        lines = [f"@{name}", sequence, plus, quality]
        if spoiled and draw(st.integers(0, 15)) == 0:
            kind = draw(st.integers(0, 4))
            if kind == 0:
                lines.insert(draw(st.integers(0, 4)), "")
            elif kind == 1:
                del lines[draw(st.integers(0, 3))]
            elif kind == 2:
                lines[1] += "!"
            elif kind == 3:
                lines[3] += "I"
            else:
                lines[draw(st.integers(0, 3))] = draw(st.sampled_from(["", " ", "@", "+", ">"]))
        text += end.join(lines) + end
    text += end * draw(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 9]))
    if spoiled and draw(st.integers(0, 7)) == 0:
        text += draw(st.sampled_from(["@r", " ", "x", f"@r{end}A{end}+{end}I{end}"]))
    return text[: len(text) - draw(st.integers(0, 3 if spoiled else 0))].encode()


@st.composite
def fasta(draw, spoiled=True):
    """FASTA of lines of any length, blank ones among them."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end * draw(st.sampled_from([0, 0, 1, 5]))
    for i in range(draw(st.integers(0, 8))):
        text += f">{draw(st.sampled_from(['', 'r', f'{i}', 'a >b']))}{end}"
        for _ in range(draw(st.integers(0, 3))):
            text += draw(letters) + end
        if spoiled and draw(st.integers(0, 15)) == 0:
            text += draw(st.sampled_from(["!", "A>", "\r\rA", " >", "@"])) + end
    return text[: len(text) - draw(st.integers(0, 2 if spoiled else 0))].encode()


def by_oracle(data):
    """The records that outcome gives, by plain Python; None if they must be refused."""
    try:
        records = oracle.reads(data)
    except oracle.RefusedError:
        return None
    return [
        (i, *(None if field is None else field.encode() for field in record))
        for i, record in enumerate(records, 1)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("spans") / "reads"


@examples(200)
@given(data=st.one_of(fastq(), fasta()), size=st.sampled_from(SIZES), n_threads=st.sampled_from([1, 3]))
def test_any_file_cut_anyhow_is_the_file(data, size, n_threads, place):
    place.write_bytes(data)
    expected = check(place, size)
    assert expected[0] == by_oracle(data) if not expected[1] else by_oracle(data) is None
    assert are_same(by_threads(place, size, n_threads), expected)
    found, problem = outcome(read_chunks([data], size))  # a stream
    assert are_same((found, problem.replace("given sequences", str(place))), expected)


@examples(100)
@given(
    texts=st.lists(st.one_of(fastq(spoiled=False), fasta(spoiled=False)), min_size=1, max_size=3),
    forms=st.lists(st.sampled_from([bytes, gzip.compress, lambda data: bgzf(data, 23)]), min_size=3),
    size=st.sampled_from(SIZES), skip=st.integers(0, 12), n=st.integers(1, 12) | st.none(),
)  # fmt: skip
def test_a_range_is_these_records_of_all_files(texts, forms, size, skip, n, tmp_path_factory):
    folder = tmp_path_factory.mktemp("range")
    for i, (text, form) in enumerate(zip(texts, forms, strict=False)):
        (folder / f"{i}").write_bytes(form(text))
    paths = sorted(folder.iterdir())
    records = range(skip, ALL.stop if n is None else skip + n)
    expected = outcome(read_chunks(paths))[0][skip : records.stop]
    for n_threads in (1, 4):
        spans_of_range = plan(paths, size, n_threads, records)
        assert outcome(span.read() for span in spans_of_range) == (expected, "")


@pytest.mark.parametrize("size", [1, 64, WHOLE])
def test_damage_behind_a_range_is_not_met(size, tmp_path):
    (tmp_path / "x").write_bytes(TRICKY * 9 + b"@bad\nAC\n+\nI\n")
    for last, is_met in ((54, False), (55, True)):
        spans_of_range = plan([tmp_path / "x"], size, 1, range(50, last))
        assert ("record 55: 2 bases but" in outcome(span.read() for span in spans_of_range)[1]) == is_met


@examples(150)
@given(
    data=st.one_of(fastq(), fasta()), size=st.sampled_from(SIZES), block=st.sampled_from([1, 2, 3, 7, 50]),
    tail=st.booleans(),
)  # fmt: skip
@example(data=b"\n\n\n\n\n>r\n", size=1, block=1, tail=True)
def test_blocks_of_bgzf_anywhere_are_the_file(data, size, block, tail, place):
    place.write_bytes(data)
    expected = outcome(read_chunks([place], WHOLE))
    cut = len(data) // 2 if tail else len(data)
    place.write_bytes(bgzf(data[:cut], block) + (gzip.compress(data[cut:]) if tail else b""))
    for found in (check(place, size), by_threads(place, size, 3)):
        assert are_same(found, expected)


TRICKY = b"".join(
    b"@%s\n%s\n+%s\n%s\n" % record
    for record in [
        (b"a", b"ACGT", b"", b"@@@@"), (b"@b"[1:], b"AC", b"@x", b"@b"), (b"", b"", b"", b""),
        (b"+", b"A", b"", b"+"), (b"c d", b"ACG", b"c d", b"+@>"), (b"e", b"AC", b"", b">>"),
    ]
)  # fmt: skip


def with_other_fields(block: bytes) -> bytes:
    """A block whose BC stands after another extra field."""
    extra = b"XY\3\0abc" + block[12:18]
    length = (len(block) + 7 - 1).to_bytes(2, "little")
    return block[:10] + len(extra).to_bytes(2, "little") + extra[:-2] + length + block[18:]


def blocks_of(data, size) -> list:
    return [bgzf(data[i : i + size], size)[:-28] for i in range(0, len(data), size)]


def test_blocks_with_other_headers_are_read(tmp_path, capfd):
    pieces = blocks_of(TRICKY * 9, 100)
    for odd in ([], [0], [len(pieces) - 1], range(len(pieces)), range(0, len(pieces), 2)):
        blocks = [with_other_fields(block) if i in odd else block for i, block in enumerate(pieces)]
        (tmp_path / "x").write_bytes(b"".join([*blocks, bgzf(b"")]))
        assert outcome(read_chunks([tmp_path / "x"], 250)) == outcome(read_chunks([TRICKY * 9]))
        (tmp_path / "x").write_bytes(b"".join(blocks))  # cut at a border of blocks
        look_at(str(tmp_path / "x"))
        assert "the BGZF end-of-file marker is missing" in capfd.readouterr().err


@pytest.mark.parametrize("size", [1, 100, WHOLE])
def test_damaged_blocks_are_refused(size, tmp_path):
    whole = b"".join(blocks_of(TRICKY * 9, 200)) + bgzf(b"")
    (tmp_path / "x").write_bytes(whole)
    expected = outcome(read_chunks([tmp_path / "x"], size))[0]
    for i in range(0, len(whole) - 28, 3):
        spoiled = bytearray(whole)
        spoiled[i] ^= 0x10
        (tmp_path / "x").write_bytes(spoiled)
        found, problem = outcome(read_chunks([tmp_path / "x"], size))
        same = found == expected and problem == ""
        try:
            assert not same or gzip.decompress(spoiled) == TRICKY * 9
        except (OSError, EOFError):
            pytest.fail(f"byte {i} is wrong and was not noticed")
        is_named = "gzip stream: truncated or damaged" in problem or "expected '@'" in problem
        assert same or is_named, (i, problem)


# Files that change, and workers that fail


def append(path):
    with open(path, "ab") as file:
        file.write(TRICKY * 50)


@pytest.mark.parametrize("change", [os.unlink, append])
def test_a_file_that_is_removed_or_grows_is_read_to_its_end(change, tmp_path):
    (tmp_path / "x").write_bytes(TRICKY * 50)
    source = plan([tmp_path / "x"], 64)
    first = next(source).read()
    change(tmp_path / "x")
    records, problem = outcome([first, *(span.read() for span in source)])
    assert (len(records), problem) == (300, "")


@pytest.mark.parametrize("make", [lambda data: data, lambda data: bgzf(data, 90)], ids=["plain", "BGZF"])
def test_a_file_that_is_cut_meanwhile_is_refused(make, tmp_path):
    (tmp_path / "x").write_bytes(make(TRICKY * 50))
    source = plan([tmp_path / "x"], 64)
    first = next(source).read()
    os.truncate(tmp_path / "x", 1000)
    found, problem = outcome(chain([first], (span.read() for span in source)))
    assert len(found) < 300
    assert "became shorter while it was read" in problem or "gzip stream: truncated" in problem


@pytest.mark.parametrize("is_fastq", [True, False], ids=["FASTQ", "FASTA"])
def test_newlines_are_counted_while_a_file_is_read(is_fastq, tmp_path):
    data = np.frombuffer((b"ACG\n>\n" * chunks.AT_ONCE)[: 2 * chunks.AT_ONCE + 100], np.uint8)
    (tmp_path / "x").write_bytes(data.tobytes())
    with open(tmp_path / "x", "rb") as file:
        for start in range(5, 12):  # a newline, or what follows it, begins each piece
            for own in (0, 1, 70, chunks.AT_ONCE, chunks.AT_ONCE + 1, data.size):
                found = np.empty(data.size - start, np.uint8)
                counted = chunks.read_counted(bgzf_blocks.pread(), file.fileno(), start, found, own, is_fastq)
                assert (found == data[start:]).all()
                assert counted == (found.size, chunks.count(found, min(own, found.size), is_fastq))
        assert chunks.read_counted(bgzf_blocks.pread(), -1, 0, found, 9, is_fastq) == (0, 0)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("make", [lambda data: data, lambda data: bgzf(data, 90)], ids=["plain", "BGZF"])
def test_a_span_that_cannot_be_read_leaves_nobody_waiting(make, n_threads, tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(make(TRICKY * 50))
    read = RegularFile.read

    def fail(self, view, offset):
        if offset > 1500 and len(view) > 20:
            time.sleep(0.01)  # the next ones wait by now
            raise InputError(self.path, "", f"worn out at {offset}")
        return read(self, view, offset)

    monkeypatch.setattr(RegularFile, "read", fail)
    monkeypatch.setattr(spans, "read_counted", lambda *given: (0, 0))  # as after an error
    before = threading.active_count()
    found, problem = by_threads(tmp_path / "x", 64, n_threads)
    assert len(found) < 300
    assert "worn out" in problem
    assert threading.active_count() == before


def test_a_caller_who_leaves_does_not_wait_for_what_is_not_read(tmp_path):
    (tmp_path / "x").write_bytes(TRICKY * 500)
    results = run_ordered(plan([tmp_path / "x"], 64), [lambda emit, span: span.read().number] * 4, None)
    assert next(results) == 1
    results.close()
