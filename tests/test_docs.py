"""The documents are correct: commands parse; files, links and names exist; terms have one definition."""

import importlib
import re
import runpy
import shlex
import tomllib

import click
import pytest
from conftest import ROOT
from test_rooms import PACKAGES, imports_of, name_of, package

from fmx.cli.main import fmx

TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = sorted([*TOP, *(ROOT / "docs").glob("*.md")])
EXAMPLES = [*PAGES, *sorted((ROOT / "fmx" / "cli").rglob("*.py"))]  # with the examples of --help
SOURCES = [
    path for folder in ("fmx", "tests", "docs") for path in (ROOT / folder).rglob("*") if path.is_file()
]
NAMES = {path.relative_to(ROOT).as_posix() for path in [*SOURCES, *PAGES, ROOT / "Makefile"]}
FOLDERS = {f"{parent.as_posix()}/" for name in NAMES for parent in (ROOT / name).relative_to(ROOT).parents}
# Modules and variables before a dot that are not files of fmx.
NOT_OURS = {
    "np", "cuda", "out", "hits", "contig", "meta", "nvidia", "machine", "pyarrow", "polars", "pandas",
    "duckdb",
}  # fmt: skip


def code_of(text) -> list:
    """Lines of code blocks, indented or fenced, except those of another language than the shell's."""
    text = re.sub(r"^```\w+\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    fenced = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^ {4,}(\S.*)$", text, re.MULTILINE) + "".join(fenced).splitlines()


def inline_of(text) -> list:
    """Texts in backticks within paragraphs, each on one line."""
    text = re.sub(r"^```\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(r"`([^`]+)`", text)]


def words_of(line) -> list:
    """Arguments of the fmx command in a line, without comment, redirection and other programs."""
    found = re.match(r"(?:taskset -c \S+ |python -m )?fmx (.*)", re.split(r"\s[>#|]|  ", line)[0])
    return shlex.split(found[1]) if found else []


def wrong_with(words, whole) -> str:
    """Return the error of a command line, or ""; unless it is ``whole``, words may be missing."""
    command: click.Command = fmx
    context = click.Context(fmx, info_name="fmx", **fmx.context_settings)
    while isinstance(command, click.Group) and words and re.match("[a-z]", words[0]):
        name, *words = words
        found = command.get_command(context, name)
        if not found:
            return f"no command {name}"
        command, context = found, click.Context(found, parent=context, info_name=name)
    try:
        command.make_context(command.name, list(words), parent=context.parent)
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):  # --help, --version, fmx alone
        return ""
    except (click.MissingParameter, click.BadOptionUsage) as error:
        return error.format_message() if whole else ""
    except click.BadParameter as error:
        missing = "does not exist" in error.message  # a file that is not here
        placeholder = not whole and any(word.isupper() for word in words)  # as in --max-memory SIZE
        return "" if missing or placeholder else error.message
    except click.UsageError as error:
        return error.message
    return ""


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_every_command_parses(path):
    text = re.sub(r"\$(SLURM|SGE)\w+", "1", path.read_text())  # as variables of array jobs have values
    lines = [(line, True) for line in code_of(text)]
    lines += [(line.replace("...", ""), False) for line in inline_of(text) if path.suffix == ".md"]
    for line, whole in lines:
        words = words_of(line)
        assert "COMMAND" in words or not wrong_with(words, whole and bool(words)), line


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_file_and_name_is_there(path):
    for quoted in inline_of(path.read_text()):
        if "NAME" in quoted:
            continue
        if re.fullmatch(r"[\w./-]+\.(py|md|sh)|(fmx|tests|docs|[a-z]+)/[\w./]*", quoted):
            places = [prefix + quoted for prefix in ("", "fmx/", "tests/", "docs/")]
            assert any(name.endswith(f"/{quoted}") or name in places for name in NAMES | FOLDERS), quoted
        elif found := re.fullmatch(r"([a-z_]+)\.([A-Za-z_]+)(\(.*\))?", quoted):
            module, name = found[1], found[2]
            if module in NOT_OURS or name in ("fmx", "npy", "lock", "entries"):
                continue
            if module == "fmx":
                is_module = any(path.parent == ROOT / "fmx" / name for path in SOURCES)
                assert is_module or hasattr(importlib.import_module("fmx"), name), quoted
                continue
            texts = [p.read_text() for p in SOURCES if p.name == f"{module}.py" or p.parent.name == module]
            assert any(re.search(rf"\b{name}\b", text) for text in texts), f"nothing is {quoted}"


def sections(path) -> dict:
    """{anchor: text} of each title of a page, up to the next title."""
    parts = re.split(r"^#+ (.*)$", path.read_text(), flags=re.MULTILINE)[1:]
    names = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in parts[::2]]
    return dict(zip(names, parts[1::2], strict=True))


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_link_leads_somewhere(path):
    for link in re.findall(r"\]\((?!https://)([^)]+)\)", path.read_text()):  # those of other sites aside
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        assert not anchor or anchor in sections(target), link


def test_a_page_has_its_place_in_the_site():
    text = (ROOT / "docs" / "site" / "mkdocs.yml").read_text()
    placed = re.findall(r"^ +- (?:\w+: )?([\w-]+\.md)$", text, re.MULTILINE)
    made = ["index", "contributing", "changelog", "commands", "library", "tour"]  # by docs/site/hooks.py
    made += [f"command-{name}" for name in fmx.list_commands(None)]
    made += [path.stem for path in PAGES if path.parent == ROOT / "docs"]
    assert sorted(placed) == sorted(f"{name}.md" for name in made)


def glossary() -> list:
    """(term, meaning) of each term; those of one row share its meaning."""
    text = (ROOT / "docs" / "style.md").read_text().split("## Glossary")[1]
    rows = re.findall(r"^\| (?!term )(.*?) \| (.*) \|$", text, re.MULTILINE)
    return [(term.strip("` "), meaning) for terms, meaning in rows for term in terms.split(", ")]


def test_a_term_is_used():
    texts = [path.read_text() for path in PAGES if path.name != "style.md"]
    texts += [path.read_text() for path in SOURCES if path.suffix == ".py"]
    text = "\n".join(texts)
    assert [term for term, _ in glossary() if not re.search(rf"\b{re.escape(term)}s?\b", text, re.I)] == []


def test_the_readme_tells_the_speeds_of_the_tables():
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| .*? \| (.*) \| \[\w+\]\((.*)\) \|$", readme, re.MULTILINE)
    assert len(rows) >= 5
    for cells, link in rows:
        said = re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?=;|$)", cells)
        assert said
        page, _, anchor = link.partition("#")
        text = sections(ROOT / page)[anchor]
        assert [number for number in said if not re.search(rf"(?<![\d.]){number}(?![\d])", text)] == []


def test_the_measurements_are_those_of_their_file():
    script = runpy.run_path(str(ROOT / "docs" / "site" / "measurements.py"))
    tables = script["runner"].read(ROOT / "docs" / "measurements.json")
    assert (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8") == script["page"](tables)


def call_path() -> list:
    """(file that calls, file that is called, remark) of the call path in docs/architecture.md."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    text = page.split("## The call path of a read")[1].split("## The packages")[0]
    found, above = [], []
    for indent, name, said in re.findall(r"^ {4}( *)([\w/]+\.py) *(.*)$", text, re.MULTILINE):
        del above[len(indent) // 2 :]
        assert len(above) == len(indent) // 2, name
        if above:
            found.append((above[-1], name, said))
        above.append(name)
    return found


@pytest.mark.parametrize(("caller", "called", "said"), call_path())
def test_a_call_goes_to_a_lower_package_that_the_caller_imports(caller, called, said):
    order = [name for name, _ in PACKAGES]
    caller, called = ROOT / "fmx" / caller, ROOT / "fmx" / called
    assert called.exists()
    if order.index(package(called)) > order.index(package(caller)):  # a given object, by its class
        name = re.match(r"given as (\w+):", said)
        assert name
        assert re.search(rf"^class {name[1]}\b", called.read_text(), re.MULTILINE)
    module = name_of(called).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    names = imports_of(caller)
    known = any(name == module or name.startswith(f"{module}.") for name in names)
    assert known or said.startswith(("given", "contract", "by name")), sorted(names)


def test_hints_name_packages_that_pip_can_install():
    """fmx is not on PyPI: extras are those of a clone, and docs/install.md has the same command."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page, found = (ROOT / "docs" / "install.md").read_text(), set()
    for path in (ROOT / "fmx").rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"""['"]fmx-mapper\[""", text), path
        found |= set(re.findall(r"'\.\[(\w+)\]'", text))
    assert found <= extras.keys()
    assert {"cuda", "cuda12", "parquet", "cluster"} <= found
    for extra in found:
        assert f"pip install '.[{extra}]'" in page
