"""Mates stay together however their files are cut, and what keeps reads from their mates is told."""

import pytest
from texts import random_letters

from fmx.errors import InputError
from fmx.input import PairedFiles, mates, spans
from fmx.machines.pipeline import run_ordered


def fastq(records) -> bytes:
    return "".join(f"@{name}\n{letters}\n+\n{'I' * len(letters)}\n" for name, letters in records).encode()


def named(lengths) -> list:
    return [(f"r{i}", random_letters(n, i)) for i, n in enumerate(lengths)]


def letters_of(batch) -> list:
    """(name, sequence) of each read."""
    data, found = batch.data.tobytes().decode(), []
    for r in range(batch.length.size):
        name, start = batch.name_start[r], batch.start[r]
        found.append((data[name : name + batch.name_length[r]], data[start : start + batch.length[r]]))
    return found


def pairs_of(files, size=1 << 23, n_threads=1) -> list:
    """[(name, sequence) of mate 1, of mate 2] of each pair."""

    def work(emit, span):
        return span.read()

    found = []
    for several in run_ordered(spans.plan(files, size, n_threads), [work] * n_threads, None):
        for run in several:
            found += [list(pair) for pair in zip(letters_of(run.one), letters_of(run.two), strict=True)]
    return found


def fault(files, size=1 << 23) -> str:
    with pytest.raises(InputError) as raised:
        pairs_of(files, size)
    return str(raised.value)


def write(folder, name, data) -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def test_few_reads_wait_where_the_records_of_one_file_are_longer(folder, monkeypatch):
    paths = write(folder, "1", fastq(named([500] * 400))), write(folder, "2", fastq(named([5] * 400)))
    waited, meet = [], mates.PairSpan._meet

    def noted(span, *given):
        waiting = meet(span, *given)
        waited.extend(sum(chunk.n_bound for chunk in side) for side in waiting)
        return waiting

    monkeypatch.setattr(mates.PairSpan, "_meet", noted)
    assert len(pairs_of(PairedFiles(paths[:1], paths[1:]), 1000)) == 400
    assert max(waited) < 160  # three spans of the file with more


@pytest.mark.parametrize("size", [60, 1 << 23])
@pytest.mark.parametrize(("n1", "n2"), [(9, 4), (4, 9), (5, 0), (0, 1)])
def test_a_file_with_fewer_mates_is_named(n1, n2, size, folder):
    paths = write(folder, "1.fq", fastq(named([9] * n1))), write(folder, "2.fq", fastq(named([9] * n2)))
    few, more, n = (*paths, n1) if n1 < n2 else (*paths[::-1], n2)
    end = f"record {n}: this is the last record" if n else "no reads"
    error = fault(PairedFiles(paths[:1], paths[1:]), size)
    assert error == f"{few}: {end}, but {more} has more; both files must have the same number of reads"


@pytest.mark.parametrize("size", [30, 1 << 23])
def test_an_odd_number_of_mates_in_turn(size, folder):
    path = write(folder, "both.fq", fastq([("a", "ACGT"), ("a", "ACG"), ("b", "AC")]))
    what = "record 3: its mate is missing: the number of records is odd"
    assert fault(PairedFiles((path,)), size) == f"{path}: {what}"


OTHER_NAMES = [
    ("a", "b"), ("a/1", "a/3"), ("a/2", "a/1"), ("a1", "a2"), ("1", "2"), ("a", ""), ("a.1", "b.2"),
    ("a_1", "a.2"), ("_1", "_2"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two"), OTHER_NAMES)
@pytest.mark.parametrize("size", [30, 1 << 23])
def test_mates_of_other_names_are_refused(one, two, size, folder):
    records = named([4] * 5), named([4] * 5)
    records[0][3], records[1][3] = (one, "ACGT"), (two, "AC")
    paths = write(folder, "1.fq", fastq(records[0])), write(folder, "2.fq", fastq(records[1]))
    what = f"its name is {two or 'missing'}, but that of its mate in {paths[0]} is {one}"
    error = fault(PairedFiles(paths[:1], paths[1:]), size)
    assert error == f"{paths[1]}: record 4: {what}: mates must have equal names"
    turns = [mate for pair in zip(*records, strict=True) for mate in pair]
    path = write(folder, "both.fq", fastq(turns))
    what = f"its name is {two or 'missing'}, but that of its mate is {one}"
    assert fault(PairedFiles((path,)), size) == f"{path}: record 8: {what}: mates must have equal names"


def test_names_of_mates(folder):
    names = {
        "a": ("a", "a"), "b": ("b/1", "b/2"), "c.7": ("c.7.1", "c.7.2"), "f_3": ("f_3_1", "f_3_2"),
        "d/1": ("d/1", "d/1"), "": ("", ""), "e": ("e x/1", "e y"),
    }  # fmt: skip
    paths = [write(folder, f"{i}.fq", fastq([(pair[i], "ACGT") for pair in names.values()])) for i in (0, 1)]
    pairs = pairs_of(PairedFiles((paths[0],), (paths[1],)))
    assert [(one[0], two[0]) for one, two in pairs] == [(name, name) for name in names]


@pytest.mark.parametrize("size", [50, 1 << 23])
def test_a_damaged_mate_ends_the_work(size, folder):
    """Whichever file it is in, and whoever waits for it."""
    good, bad = fastq(named([9] * 40)), fastq(named([9] * 20)) + b"@r20\nACGT\nACGT\n+\n"
    for i in (0, 1):
        paths = [write(folder, "1.fq", good), write(folder, "2.fq", good)]
        paths[i] = write(folder, "bad.fq", bad)
        assert fault(PairedFiles((paths[0],), (paths[1],)), size).startswith(f"{paths[i]}: record 21: ")
