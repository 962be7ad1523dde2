"""fmx offtargets: the sites of the naive scan, in pieces of any size, and messages about wrong inputs."""

from fuzz.kinds import offtargets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fmx.sites import search

USUAL = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@USUAL
@given(rng=st.randoms(use_true_random=False), sizes=st.tuples(st.integers(1, 300), st.integers(64, 300)))
def test_sites_are_those_of_a_naive_scan(folder, command, monkeypatch, rng, sizes):
    monkeypatch.setattr(search, "_PIECE", sizes[0])
    monkeypatch.setattr(search, "_AT_ONCE", sizes[1])
    case = offtargets.make(rng, folder)
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    case.commands = case.commands[:1]
    assert offtargets.check(case, [command(*case.commands[0])], folder) == []
