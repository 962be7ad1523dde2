"""--help: options in groups, at most two screens; --help-all and the manual page show every option."""

import importlib.util
import re

import click
import pytest
from conftest import ROOT
from test_docs import code_of, inline_of, words_of

from fmx.cli.command import CLUSTER, GENERAL, GPU
from fmx.cli.main import _GROUPS, fmx
from fmx.cli.options import Command

JOB_PAGES = (
    "jobs", "count", "barcodes", "small-rna", "probes", "primers", "strains", "mem", "align", "pipelines",
)  # fmt: skip
TWO_SCREENS = 100  # lines of 80 columns
TOP = click.Context(fmx, info_name="fmx")
COMMANDS = {
    name: command
    for name in fmx.list_commands(TOP)
    if isinstance(command := fmx.get_command(TOP, name), Command)
}


def options_of(command) -> list:
    return [param for param in command.params if isinstance(param, click.Option) and not param.hidden]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_two_screens_and_help_all_has_every_option(name, command):
    short, whole = command(name, "--help"), command(name, "--help-all")
    text = short.out.decode()
    assert (short.code, whole.code) == (0, 0)
    assert len(text.splitlines()) <= TWO_SCREENS
    assert max(map(len, text.splitlines())) <= 100
    shown = whole.out.decode()
    for option in options_of(COMMANDS[name]):
        assert f"  {option.opts[0]}" in shown
        is_rare = getattr(option, "is_rare", False)
        assert (f"  {option.opts[0]}" in text) != is_rare


def test_help_has_every_option_that_the_pages_of_jobs_use():
    """Except for GPUs, clusters, and the algorithms of papers."""
    allowed, n = {"--algorithm", "--with-lcp", "--gpu-memory", "--engine"}, 0
    for name in JOB_PAGES:
        text = (ROOT / "docs" / f"{name}.md").read_text()
        for line in filter(re.compile("fmx [a-z]+ ").match, code_of(text) + inline_of(text)):
            word, *words = words_of(line)
            params = COMMANDS[word].params if word in COMMANDS else ()
            rare = {name for param in params if getattr(param, "is_rare", False) for name in param.opts}
            assert not (rare - allowed) & set(words), line
            n += 1
    assert n > 50


def test_help_lists_commands_in_groups(command):
    text = command("--help").out.decode()
    sections = dict(re.findall(r"^(\w.*):\n((?:  .*\n)+)", text, re.MULTILINE))
    assert [heading for heading in sections if heading not in ("Options", "Commands")] == list(_GROUPS)
    files = {path.stem for path in (ROOT / "fmx" / "cli" / "commands").glob("[!_]*.py")}
    assert {name for names in _GROUPS.values() for name in names} == files
    for heading, names in _GROUPS.items():
        assert re.findall(r"^  (\w+)", sections[heading], re.MULTILINE) == list(names)


@pytest.mark.parametrize("arguments", [[], ["inspect"]])
def test_help_all_is_the_same_as_help_without_rarely_used_options(arguments, command):
    whole = command(*arguments, "--help-all")
    assert (whole.code, whole.out) == (0, command(*arguments, "--help").out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pairwise", "Align all pairs of DNA or RNA sequences globally."),
        ("search", "Allow N mismatches in a hit, 0 to 2."),
        ("locate", "Allow N mismatches in a hit, 0 to 2."),
        ("mem", "only A, C, G and T (or U) match"),
    ],
)
def test_help_names_the_letters_and_values_that_are_taken(words, said, command):
    assert said in " ".join(command(*words.split(), "--help").out.decode().split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_examples_and_ends_with_general_options(name, command):
    text = command(name, "--help").out.decode()
    examples, *headings, last = re.findall(r"^\S.*:$", text, re.MULTILINE)
    assert (examples, last) == ("Examples:", f"{GENERAL}:")
    assert not {f"{CLUSTER}:", f"{GPU}:"} & set(headings)
    assert len(set(headings)) == len(headings)
    lines = text.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    assert 1 <= len(lines) <= 3
    assert all(line.startswith(f"  fmx {name}") for line in lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_page_has_every_option_and_the_examples(name):
    spec = importlib.util.spec_from_file_location("man_pages", ROOT / "docs" / "packaging" / "man_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = dict(module.pages(fmx, "1.0"))[f"fmx-{name}.1"]
    for option in options_of(COMMANDS[name]):
        assert f"\\fB{module.plain(option.opts[0])}" in page
        assert not option.metavar or f"\\fI{module.plain(option.metavar)}\\fR" in page
    assert re.search(rf"^fmx\\-{name} \\- [a-z]", page, re.MULTILINE)
    assert ".SH EXAMPLES" in page
    assert ".SS Cluster" in page or not any(option.name == "shard" for option in options_of(COMMANDS[name]))
