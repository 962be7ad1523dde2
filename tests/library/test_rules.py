"""What an argument of the library may be is what the option of the command may be."""

import pytest

import fmx
from fmx import limits

READS = ["ACGT"]
ASKED = [
    ("k", limits.COUNT, lambda index, n: index.search(READS, k=n), "search -k {} r.fq"),
    ("at_most", limits.COUNT, lambda index, n: index.search(READS, at_most=n), "search -m {} r.fq"),
    ("seed", limits.SEED, lambda index, n: index.search(READS, seed=n), "search --seed {} r.fq"),
    ("mismatches", limits.MISMATCHES, lambda index, n: index.count(READS, mismatches=n),
     "locate --mismatches {} r.fq"),
    ("min_length", limits.LENGTH, lambda index, n: index.mem(READS, min_length=n), "mem -l {} r.fq"),
    ("max_insert", limits.INSERT, lambda index, n: index.search_pairs(READS, READS, max_insert=n),
     "search --max-insert {} -1 r.fq -2 r.fq"),
    ("threads", limits.THREADS, lambda index, n: fmx.open(index.path, threads=n), "search -t {} r.fq"),
    ("sa_rate", limits.SA_RATE, lambda index, n: fmx.from_sequences(READS, sa_rate=n),
     "index --sa-rate {} r.fa"),
    ("prefix_length", limits.PREFIX_LENGTH,
     lambda index, n: fmx.from_sequences(READS, prefix_length=n), "index --prefix-length {} r.fa"),
    ("gap", limits.SCORE, lambda index, n: fmx.pairwise(READS, gap=n), "pairwise --gap {} r.fa"),
    ("iddef", limits.IDENTITIES, lambda index, n: fmx.pairwise(READS, iddef=n), "pairwise --iddef {} r.fa"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "bounds", "ask", "line"), ASKED, ids=[asked[0] for asked in ASKED])
def test_both_refuse_what_is_out_of_bounds(name, bounds, ask, line, index_of, command, folder):
    index = fmx.open(index_of([("x", "ACGTACGT")]), threads=1)
    for value in (bounds[0] - 1, bounds[1] + 1):
        with pytest.raises(ValueError, match=rf"^{name} must be "):
            ask(index, value)
        done = command(*line.format(value).split())
        assert done.code == 2, done.err
        assert str(value) in done.err


@pytest.mark.parametrize("engine", ["gpu", "CPU", "cuda_", ""])
def test_both_refuse_an_engine_that_there_is_not(engine, index_of, command, folder):
    with pytest.raises(ValueError, match=r"^engine must be one of cpu, cuda, auto"):
        fmx.open(index_of([("x", "ACGTACGT")]), engine=engine)
    assert command("search", "--engine", engine, "r.fq").code == 2


def test_both_refuse_strata_without_mismatches(index_of, command, folder):
    with pytest.raises(ValueError, match=r"^strata must be False without mismatches"):
        fmx.open(index_of([("x", "ACGTACGT")])).search(READS, strata=True)
    done = command("search", "--strata", "r.fq")
    assert (done.code, "--mismatches" in done.err) == (2, True)
