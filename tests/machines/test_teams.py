"""Teams of GPUs: each holds every part, within the memory of its GPUs, and there are as many as can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmx.machines.places import for_each, teams


class Gpu:
    """A GpuSession as far as teams know it."""

    def __init__(self, number, memory):
        self.number, self.memory = number, memory


def numbers_of(memories, sizes, beside=0):
    """([[number of the GPU of each part] of each team], lines that were told)."""
    told = []
    found = teams([Gpu(*pair) for pair in enumerate(memories)], sizes, beside, told.append)
    return [[gpu.number for gpu in team] for team in found], told


@pytest.mark.parametrize(
    ("memories", "sizes", "expected"),
    [
        ([10], [4], [[0]]),
        ([10], [4, 4], [[0, 0]]),
        ([10, 10, 10], [5, 5], [[0, 0], [1, 1], [2, 2]]),
        ([10, 10], [6, 5], [[0, 1]]),
        ([10, 10], [3, 8, 4], [[1, 0, 1]]),
        ([10, 10, 10, 10], [6, 6], [[0, 2], [1, 3]]),  # two teams of two
        ([10, 10, 10], [6, 6], [[0, 1]]),
        ([2, 20], [6, 6], [[1, 1]]),  # the small one is of no use
        ([10, 10], [30], [[0]]),  # fits nowhere: whoever brings it there says so
    ],
)
def test_parts_go_where_there_is_room(memories, sizes, expected):
    found, told = numbers_of(memories, sizes)
    assert found == expected
    assert any("spread" in line for line in told) == any(len(set(team)) > 1 for team in found)
    used = {number for team in found for number in team}
    assert [line.split()[1] for line in told if "idle" in line] == [
        str(number) for number in range(len(memories)) if number not in used
    ]


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=6), st.lists(st.integers(1, 30), min_size=1, max_size=6)
)
def test_no_gpu_gets_more_than_it_has_room_for(memories, sizes):
    found, _ = numbers_of(memories, sizes, beside=3)
    assert all(len(team) == len(sizes) for team in found)
    members = [number for team in found for number in set(team)]
    assert len(members) == len(set(members))
    if sum(sizes) + 3 <= max(memories) or len(found) > 1:
        for team in found:
            for number in set(team):
                held = sum(size for size, own in zip(sizes, team, strict=True) if own == number)
                assert held + 3 <= memories[number]


@pytest.mark.parametrize(("n_threads", "expected"), [(5, [2, 3]), (1, [1, 1]), (8, [4, 4])])
def test_threads_are_shared_by_teams(n_threads, expected):
    found = for_each([[]] * 2, n_threads)
    assert [n for _, n in found] == expected
