"""Output of the real command, compared with the files of tests/data/golden, letter for letter.

They serve all layouts, suffix arrays and numbers of threads. `make golden` writes them anew; a commit that
changes one says why.
"""

import gzip
import json

import pytest
import validate
from conftest import LAYOUTS, ROOT
from output_of import without_program

GOLDEN = ROOT / "tests" / "data" / "golden"
REFERENCE, READS = ROOT / "fmx" / "data" / "lambda.fa.gz", ROOT / "tests" / "data" / "reads.fq"
COMMANDS = {
    "first.sam": ["search", READS],
    "all.sam": ["search", READS, "-a", "--rg", r"@RG\tID:run1\tSM:phage"],
    "limited.sam": ["search", READS, "-k", "3", "-m", "20", "--no-unmapped"],
    "drawn.sam": ["search", READS, "-k", "2", "--seed", "7"],
    "forward.sam": ["search", READS, "-a", "--forward-only"],
    "occurrences.tsv": ["locate", READS],
    "occurrences.bed": ["locate", "-p", "GATTACA", "-p", "GAATTC", "--format", "bed"],
}
INDEXES = [("verify", 1), *((layout, sa_rate) for layout in LAYOUTS for sa_rate in (1, 7))]


@pytest.fixture(scope="module")
def lambda_index(tmp_path_factory):
    """A function (layout or "verify", sa_rate) -> path of an index of lambda."""
    import workflow

    folder = tmp_path_factory.mktemp("lambda")

    def lambda_index(layout, sa_rate):
        path = folder / f"{layout}-{sa_rate}.fmx"
        if not path.exists():
            workflow.build_index(
                REFERENCE,
                path,
                workflow.IndexOptions([LAYOUTS[0] if layout == "verify" else layout], sa_rate),
            )
        return path

    return lambda_index


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("layout", "sa_rate"), INDEXES)
def test_output_is_as_it_was(name, layout, sa_rate, lambda_index, command, request):
    index = lambda_index(layout, sa_rate)
    for threads in (1, 3):
        verb, *arguments = COMMANDS[name]
        way = [] if layout == "verify" else ["--layout", layout]
        result = command(verb, "-q", "-x", index, "-t", threads, *way, *arguments)
        assert (result.code, result.err) == (0, "")
        found = without_program(result.out)
        if request.config.getoption("--update-golden") and (layout, sa_rate, threads) == (*INDEXES[0], 1):
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / name).write_bytes(found)
        assert found == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_sites_are_as_they_were(threads, folder, command, request):
    letters = "".join(gzip.decompress(REFERENCE.read_bytes()).decode().split("\n")[1:])
    guides = [f">g{i}\n{letters[i : i + 19 + i % 3]}\n" for i in range(0, 48_000, 197)]
    (folder / "guides.fa").write_text("".join(guides))
    words = ["-l", "guides.fa", REFERENCE, "--pam", "NGG", "--pam", "NAG", "-t", threads]
    result = command("offtargets", "-q", *words)
    assert (result.code, result.err) == (0, "")
    if request.config.getoption("--update-golden"):
        (GOLDEN / "sites.tsv").write_bytes(result.out)
    assert result.out == (GOLDEN / "sites.tsv").read_bytes()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("first.sam", {}),
        ("all.sam", {"limit": None, "group": "run1"}),
        ("limited.sam", {"limit": 3, "at_most": 20, "unmapped": False}),
        ("forward.sam", {"limit": None, "strands": (0,)}),
    ],
)
def test_golden_files_are_right(name, options):
    lines = READS.read_text().split("\n")
    reads = [(lines[i][1:].split()[0], lines[i + 1], lines[i + 3]) for i in range(0, len(lines) - 1, 4)]
    sequence = "".join(gzip.decompress(REFERENCE.read_bytes()).decode().split("\n")[1:])
    head, rest = (GOLDEN / name).read_bytes().split(b"\n", 1)
    validate.check(
        head + b"\n@PG\tID:fmx\tCL:fmx left out\n" + rest, [("lambda", sequence)], reads, **options
    )


def test_inspect_as_json(lambda_index, command):
    index = lambda_index(LAYOUTS[0], 1)
    found = json.loads(command("inspect", "--json", "--verify", index).out)
    assert found["verified"] is True
    assert (found["n_contigs"], found["n_bases"], found["n_text"], found["n_blocks"]) == (1, 48502, 48503, 1)
    assert found["layouts"] == [LAYOUTS[0]]
    assert found["bytes"] == sum(array["bytes"] for array in found["arrays"].values())
    text = command("inspect", index).out.decode()
    assert "48,502 bases" in text
    assert LAYOUTS[0] in text
