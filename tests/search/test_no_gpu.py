"""Commands where there is no GPU: an error with --engine cuda, the CPU with auto."""

import os

import pytest
from texts import numbered, random_letters

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
pytestmark = pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("search r.fa -x {}", "searching on the CPU"),
        ("mem r.fa -x {} --algorithm mummergpu", ""),
        ("index r.fa", "building on the CPU"),
    ],
)
def test_a_command(words, said, folder, index_of, command):
    letters = random_letters(300, "gpu")
    (folder / "r.fa").write_text(f">r\n{letters[50:150]}\n")
    words = words.format(index_of(numbered([letters]), with_lcp=True)).split()
    refused = command(*words, "--engine", "cuda")
    assert (refused.code, refused.out) == (1, b"")
    assert "--engine cpu" in refused.err
    assert not (folder / "r.fmx").exists()
    if said:
        done = command(*words, "--engine", "auto")
        assert (done.code, done.records) == (0, command(*words, "-q").records)
        assert said in done.err
