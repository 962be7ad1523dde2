"""The house: who may import whom, short files, one door to the compiler, a fast --help."""

import ast
import re
import subprocess
import sys

import pytest
from conftest import ROOT

FILES = sorted((ROOT / "fmx").rglob("*.py"))
CHOICES = {"layouts", "engines", "queries"}
INNER = {"cli", "commands", "workflow", "options", "__main__", "library", "bench"}  # may be imported by few


def modules_of(path) -> set:
    """Full names of all modules that a file of fmx imports, also inside functions."""
    package = path.relative_to(ROOT).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            found |= {name, *(f"{name}.{alias.name}" for alias in node.names)}
    return found


def rooms_of(path) -> set:
    """First names below fmx that a file imports: rooms and modules."""
    return {name.split(".")[1] for name in modules_of(path) if name.startswith("fmx.")}


def room(path) -> str:
    return path.relative_to(ROOT / "fmx").parts[0].removesuffix(".py")


def name_of(path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_reader_of_imports_sees_them():
    seen = rooms_of(ROOT / "fmx" / "layouts" / "bvsfm.py")
    assert {"bitcolumn", "contracts", "jit"} <= seen
    assert "numba" in modules_of(ROOT / "fmx" / "compiler/numba_cpu.py")
    assert "layouts" in rooms_of(ROOT / "fmx" / "commands" / "index/fm_index.py")  # inside a function


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_is_at_most_300_lines(path):
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_door_imports_the_compiler(path):
    outside = {name.split(".")[0] for name in modules_of(path)}
    assert not outside & {"numba", "llvmlite", "numba_cuda"} or re.fullmatch(r"jit\w*\.py", path.name)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_layouts_engines_and_queries_do_not_know_each_other(path):
    if room(path) in CHOICES:
        assert not rooms_of(path) & (CHOICES - {room(path)})


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_down_the_house(path):
    imported = rooms_of(path)
    if room(path) == "cli":
        assert imported <= {"__version__", "commands", "errors", "signals", "terminal"}
    if room(path) not in {"cli", "__main__"}:
        assert "cli" not in imported
    if room(path) not in {"cli", "commands"}:
        assert "commands" not in imported
    if room(path) not in {"commands", "library", "bench"}:
        assert "workflow" not in imported
    if room(path) not in {"commands", "bench"}:
        assert "options" not in imported
    if room(path) not in INNER | {"__init__"}:
        assert "library" not in imported


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["search", "--help"], ["index", "--help"]], ids=" ".join
)
def test_help_needs_neither_compiler_nor_formats(arguments):
    code = (
        "import sys; from fmx.cli.main import run; code = run(sys.argv[1:]);"
        "slow = {'numba', 'pysam', 'numpy', 'llvmlite', 'pydivsufsort', 'isal'} & set(sys.modules);"
        "assert not slow, slow; sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def tracked() -> list:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name]


def test_no_path_of_a_machine_is_written_down():
    home = re.compile(rb"/(?:home|Users|root|work)/\w")
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: nothing tells which files belong to the project")
    found = [name_of(path) for path in tracked() if path.is_file() and home.search(path.read_bytes())]
    assert found == []


def test_modules_say_what_they_hold():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), path
