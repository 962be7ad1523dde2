"""A simulated cluster: what can be said by arithmetic comes out, and nothing is lost."""

import sys

import pytest
from conftest import ROOT
from cover import examples
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(ROOT / "docs" / "site" / "papers"))
from scaling import Site, best_shard, of_nodes, simulate

QUICK = Site((1e6,), start=0, index=0, disk=1e15, dispatch=0, merging=0)


def test_one_node_takes_as_long_as_its_rate_says():
    assert simulate(QUICK, 10**9, 10**7).seconds == pytest.approx(1000)
    merged = Site((1e6,), start=5, index=10e9, disk=1e9, dispatch=0.5, merging=1e9, read_in=0, read_out=100)
    assert simulate(merged, 10**8, 10**7).seconds == pytest.approx(5 + 10 + 100 + 10 * 0.5 + 10)


def test_a_disk_that_all_share_is_the_limit():
    site = Site((1e6,), start=0, index=0, disk=1e9, dispatch=0, merging=0, read_in=500, read_out=500)
    alone, ten = simulate(site, 10**8, 10**6), simulate(of_nodes(site, 10), 10**8, 10**6)
    assert alone.seconds == ten.seconds == pytest.approx(100)


def test_unlike_nodes_share_by_their_rates():
    site = Site((3e6, 1e6), start=0, index=0, disk=1e15, dispatch=0, merging=0)
    assert simulate(site, 4 * 10**8, 10**5).seconds == pytest.approx(100, rel=0.01)


@examples(60)
@given(
    n_nodes=st.integers(1, 20), n_shards=st.integers(1, 200), failures=st.sampled_from([0, 100, 3000]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_every_shard_is_done_once_whoever_fails(n_nodes, n_shards, failures, seed):
    site = Site((1e6,) * n_nodes, start=1, index=0, disk=1e15, dispatch=0.001, failures=failures, merging=0)
    found = simulate(site, n_shards * 10**7, 10**7, seed)
    assert found.done == n_shards
    least = n_shards * 10 / n_nodes
    assert found.seconds >= least
    assert failures or found.lost == 0


def test_shards_are_neither_too_small_nor_too_large():
    site = Site((1e7,) * 100, start=0, index=0, disk=1e15, dispatch=0.002, failures=0, merging=0)
    size, found = best_shard(site, 10**10, [10**5, 10**6, 10**7, 10**9])
    assert size == 10**7
    assert found.seconds < 1.1 * 10
