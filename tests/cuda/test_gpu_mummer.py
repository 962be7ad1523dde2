"""Matches by MUMmerGPU++ on a GPU: those of the definition, in whole and in many segments and rounds."""

import mems
import pytest
from conftest import SIMULATED
from texts import random_letters

from fmx.machines.gpu import GpuSession
from fmx.mem.mummergpu_gpu import GpuMummer


def cases(few=SIMULATED) -> dict:
    """{name: (blocks of a text, queries, least lengths)}"""
    n = 1500 if few else 6000
    letters = random_letters(n, "mem")
    mutated = letters[:20] + "T" + letters[21:60] + letters[70:100]
    cut = [letters[i : i + 90] for i in range(0, n - 90, 500 if few else 37)]
    repeat = "ACGGT" * 12 + "A" * 40
    return {
        "random": ([letters], [*cut, mutated], (12,) if few else (5, 12, 20)),
        "blocks": ([letters[:300], letters[280:n], *map(str, "ACGT")], [*cut[:4], letters[250:340]], (8,)),
        "repeats": (
            [repeat * 2, repeat[7:], "ACG" * 20], [repeat[:90], "ACGGT" * 9 + "C"], (30,) if few else (1, 30),
        ),
    }  # fmt: skip


@pytest.mark.parametrize(("name", "least"), [(name, n) for name, case in cases().items() for n in case[2]])
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "in segments"])
def test_matches_are_those_of_the_definition(name, least, is_whole, device):
    blocks, queries, _ = cases()[name]
    letters = "".join(f"{block}$" for block in blocks)
    host = mems.mummergpu(letters, least)
    shared = host.segment.words.nbytes + sum(column.nbytes for column in host.segment.blocks[:5])
    matcher = GpuMummer(host, GpuSession(memory=None if is_whole else shared + 4400), n_threads=3)
    assert is_whole or name != "random" or len(matcher.segments) > 3
    expected = mems.expect(letters, queries, least)
    assert mems.ask(matcher, queries) == expected
    if len(matcher.segments) > 1:
        assert mems.ask(matcher, queries) == expected  # now from the last segment to the first
