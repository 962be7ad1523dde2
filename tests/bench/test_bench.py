"""fmx bench, what of it needs no device and no minutes."""

import pytest


@pytest.mark.parametrize("threads", [1, 3])
def test_stages_account_for_all_the_time(threads, command, index_of, tmp_path):
    from texts import numbered, random_letters

    letters = random_letters(2000, "stages")
    path = tmp_path / "reads.fa"
    path.write_text("".join(f">r{i}\n{letters[i : i + 50]}\n" for i in range(0, 1900, 5)))
    output = tmp_path / "hits.sam"
    index = index_of(numbered([letters]))
    done = command("bench", "stages", path, "-x", index, "-t", threads, "-o", output)
    assert done.code == 0, done.err
    lines = done.out.decode().splitlines()
    seconds = {line[:16].strip(): float(line[16:25]) for line in lines[:-1]}
    assert set(seconds) == {
        "main: write", "main: wait", "read", "parse", "pack", "search", "locate", "format", "summarise",
        "idle",
    }  # fmt: skip
    wall = float(lines[-1].split(", ")[-2].removesuffix(" s"))
    assert lines[-1].startswith("380 reads")
    assert sum(value for name, value in seconds.items() if "main" in name) == pytest.approx(wall, abs=0.01)
    workers = sum(value for name, value in seconds.items() if "main" not in name)
    assert workers == pytest.approx(threads * wall, abs=0.02)
    assert output.read_bytes().count(b"\n") == 380
