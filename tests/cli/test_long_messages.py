"""What commands quote of files and arguments is short, and its line ends with what to do."""

import pytest

from fmx import errors

LONG = "x" * 100_000
READS = f"@{LONG}a\nGATTACA\n+\nIIIIIII\n"
COMMANDS = {
    "mates of other names": "search -x ref.fmx -1 one.fq -2 two.fq --format tsv",
    "contigs of one name": "index twice.fa -o new.fmx",
    "a library of one id": "count -l twice.csv one.fq",
    "a library of a long header": "count -l header.csv one.fq",
    "a table of groups": "index ref.fa --groups groups.tsv -o new.fmx",
    "a pattern": f"locate -x ref.fmx -p ACGT-{LONG}",
    "an option": f"search -x ref.fmx --{LONG} one.fq",
    "a read group": f"search -x ref.fmx --rg @RG\\tID:a\\t{LONG} one.fq",
    "a path": f"search -x ref.fmx {LONG}",
}


@pytest.fixture
def files(folder, command):
    for name, text in {
        "ref.fa": ">chr1\nTTGATTACATT\n",
        "one.fq": READS,
        "two.fq": READS.replace("a\n", "b\n", 1),
        "twice.fa": f">{LONG}\nACGT\n>{LONG}\nACGT\n",
        "twice.csv": f"{LONG},GATTACAGATTACA,g\n{LONG},CATTAGACATTAGA,g\n",
        "header.csv": f"{LONG},{LONG}1\nGATTACAGATTACA,a\n",
        "groups.tsv": f"chr1\t{LONG}\n{LONG}\tb\nchr1\t{LONG}c\n",
    }.items():
        (folder / name).write_text(text)
    assert command("index", "ref.fa").code == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_line_is_short(name, files, command):
    done = command(*COMMANDS[name].split())
    assert done.code in (1, 2)
    lines = done.err.splitlines()
    assert lines
    assert max(map(len, lines)) <= errors.LINE


def test_both_ends_of_a_message_are_there(files, command):
    done = command(*COMMANDS["mates of other names"].split())
    assert done.err.startswith("fmx: error: two.fq: record 1: its name is xxx")
    assert done.err.endswith("xxxa: mates must have equal names\n")
