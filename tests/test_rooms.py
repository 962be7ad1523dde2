"""Structure of the code: imports follow the table in docs/architecture.md, functions are typed."""

import ast
import functools
import re
import subprocess
from collections import Counter

import pytest
from conftest import ROOT

FILES = sorted((ROOT / "fmx").rglob("*.py"))
pytestmark = pytest.mark.xdist_group("rooms")  # one process parses all files
CHOICES = ("index.layouts", "search.gpu.engines", "search.queries")  # connected by contracts
COMPILERS = {"numba", "llvmlite", "numba_cuda", "cuda"}


def table() -> list:
    """Rows of the table, lowest package first: (package, packages that it must not import)."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `([\w/.]+)` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    return [(name.rstrip("/").removesuffix(".py"), set(re.findall(r"`(\w+)`", but))) for name, but in rows]


PACKAGES = table()


@functools.cache
def nodes_of(path) -> list:
    """All nodes of a file's syntax tree; the first is the module."""
    return list(ast.walk(ast.parse(path.read_text())))


@functools.cache
def imports_of(path) -> set:
    """Full names of everything that a file of fmx imports, inside functions and by import_module too."""
    package = path.relative_to(ROOT).parts[:-1]
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{name}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            names = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
            found |= {f"{'.'.join(package)}{name}" if name.startswith(".") else name for name in names}
    return found


def package(path) -> str:
    return path.relative_to(ROOT / "fmx").parts[0].removesuffix(".py")


def packages_of(path) -> set:
    """Other packages that a file imports from."""
    names = {name.split(".")[1] for name in imports_of(path) if name.startswith("fmx.")}
    return names - {package(path)}


def name_of(path) -> str:
    return path.relative_to(ROOT).as_posix()


MODULES = {
    name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in FILES
}


def test_the_table_has_a_row_for_each_package():
    assert "fmx.compiler.numba_cpu" in imports_of(ROOT / "fmx" / "compiler" / "functions.py")  # by its name
    assert [name for name, _ in PACKAGES] == list(dict.fromkeys(name for name, _ in PACKAGES))
    assert {name for name, _ in PACKAGES} == {package(path) for path in FILES}


def test_a_package_imports_only_packages_below_it():
    names, excluded = [name for name, _ in PACKAGES], dict(PACKAGES)
    found = {}
    for path in FILES:
        below = set(names[: names.index(package(path))])
        if wrong := packages_of(path) - (below - excluded[package(path)]):
            found[name_of(path)] = wrong
    assert found == {}


def test_only_one_package_imports_the_compiler():
    outside = {path: {name.split(".")[0] for name in imports_of(path)} for path in FILES}
    assert {package(path) for path, names in outside.items() if names & COMPILERS} == {"compiler"}


def test_layouts_engines_and_queries_do_not_import_each_other():
    found = []
    for path in FILES:
        own = name_of(path).removeprefix("fmx/").replace("/", ".")
        for choice in CHOICES:
            if own.startswith(f"{choice}."):
                others = tuple(f"fmx.{other}" for other in CHOICES if other != choice)
                found += [(own, name) for name in imports_of(path) if name.startswith(others)]
    assert found == []


def test_no_two_classes_have_the_same_name():
    where: dict = {}
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(name_of(path))
    assert {name: files for name, files in where.items() if files[1:]} == {}


def test_there_are_no_import_cycles():
    """Imports that are only for type annotations count too."""
    modules, needs = MODULES, {}
    for module, path in modules.items():
        names = imports_of(path)
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        needs[module] = (found & modules.keys()) - {module}
    reached = {module: set(found) for module, found in needs.items()}
    for middle in modules:  # Warshall's algorithm: paths through one more file
        for module in modules:
            if middle in reached[module]:
                reached[module] |= reached[middle]
    circling = {module.removeprefix("fmx.") for module in modules if module in reached[module]}
    assert circling == set()


LOOKED_UP = {  # by name: of commands, formats and layouts; by child processes and programs of tests
    "command", "container", "main", "open_hits", "open_matches", "open_pairs", "FAMILY", "KSTEP", "SAMPLED",
    "Cofi", "CofiBranching", "InTurn", "SparseMatrix", "device_function", "linked", "texts_of", "ways_of",
    "work",
}  # fmt: skip


def definitions(path):
    """Yield (name, node) of what a module defines, also in ``if`` and ``with``."""
    waiting = list(nodes_of(path)[0].body)
    for node in waiting:
        if isinstance(node, ast.If | ast.With):
            waiting += node.body
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in getattr(node, "targets", None) or [node.target]:
                yield from (
                    (x.id, node) for x in getattr(target, "elts", [target]) if isinstance(x, ast.Name)
                )


def names_used(path) -> set:
    """Full names that a file imports or may take from a module that it imports, by attribute or by string."""
    imports = imports_of(path)
    words = {getattr(node, "attr", None) or getattr(node, "value", None) for node in nodes_of(path)}
    return imports | words | {f"{module}.{word}" for module in imports & MODULES.keys() for word in words}


def visible(node) -> str:
    """What callers of a public function see: its parameters, result and docstring; all of another node."""
    if isinstance(node, ast.FunctionDef):
        return f"{ast.unparse(node.args)} {ast.unparse(node.returns or [])} {ast.get_docstring(node)}"
    return ast.unparse(node)


def test_a_leading_underscore_marks_the_names_that_only_their_file_uses():
    """A public class may be one that public functions and classes of its file name."""
    users = [path for folder in ("fmx", "tests", "docs") for path in (ROOT / folder).rglob("*.py")]
    used = set().union(*map(names_used, users))
    found = {}
    for module, path in MODULES.items():
        public = {name: node for name, node in definitions(path) if not name.startswith("_")}
        seen = {name: set(re.findall(r"\w+", visible(node))) for name, node in public.items()}
        unused = {name for name in public if name not in LOOKED_UP and f"{module}.{name}" not in used}
        classes = {name for name in unused if re.match("[A-Z][a-z]", name)}
        unused -= {name for name in classes for other in seen if other != name and name in seen[other]}
        if unused and not path.match("*/primitives_llvm.py"):  # which has the names of primitives
            found[name_of(path)] = unused
    assert found == {}
    imported = [name for path in FILES for name in imports_of(path) if re.match(r"fmx\..*\._[a-z]", name)]
    assert imported == []  # of attributes, ruff checks this


BARE = {
    "own", "given", "found", "held", "there", "made", "told", "asked", "wanted", "its", "lent", "kept",
    "said",
}  # fmt: skip
VAGUE = {
    "road", "desk", "taker", "aside", "watch", "watcher", "flood", "untold", "lie", "lies", "at_hand", "goes",
}  # fmt: skip


def identifiers(path) -> list:
    """Names of variables, attributes, arguments, functions and classes in a file, less outer underscores."""
    fields = {"Name": "id", "Attribute": "attr", "arg": "arg", "FunctionDef": "name", "ClassDef": "name"}
    found = [(node, fields.get(type(node).__name__)) for node in nodes_of(path)]
    return [getattr(node, field).strip("_") for node, field in found if field]


def test_names_say_what_they_are():
    """Bare participles are at most 2 in 1,000 names; of what is vague or a metaphor there is nothing."""
    names = [name for path in FILES for name in identifiers(path)]
    bare = Counter(name for name in names if name in BARE)
    assert bare.total() < 0.002 * len(names), bare
    assert set(names) & VAGUE == set()


def test_a_function_has_at_most_seven_parameters():
    """Group more into a class.  Keyword arguments of the library are options, and do not count."""
    found = []
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef):
                options = [] if package(path) == "library" else node.args.kwonlyargs
                names = [x.arg for x in (*node.args.posonlyargs, *node.args.args, *options)]
                if len(names) - (names[:1] in (["self"], ["cls"])) > 7:
                    found.append(f"{name_of(path)}: {node.name}")
    assert found == []


def test_no_path_of_a_machine_is_written_down():
    home = re.compile(rb"/(?:home|Users|root|work)/\w")
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: nothing tells which files belong to the project")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    assert [path for path in paths if path.is_file() and home.search(path.read_bytes())] == []
