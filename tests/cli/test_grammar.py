"""One grammar of options: a name means the same in every command, and former spellings say the new one."""

import importlib
import os
import pkgutil

import cases
import click
import pytest
from texts import numbered, random_letters

from fmx.cli import commands

COMMANDS = {
    module.name: importlib.import_module(f"fmx.cli.commands.{module.name}").command
    for module in pkgutil.iter_modules(commands.__path__)
}
NAMES = {"-x": "--index", "-o": "--output", "-t": "--threads", "-q": "--quiet"}
TYPES = {"--device": "n", "--gpus": "n", "--gpu-memory": "size", "--max-memory": "size", "--threads": "n"}


def options(name) -> list:
    return [item for item in COMMANDS[name].params if isinstance(item, click.Option) and not item.hidden]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_means_the_same_everywhere(name):
    for option in options(name):
        for short, long in NAMES.items():
            assert (short in option.opts) == (long in option.opts)
        for long, kind in TYPES.items():
            assert long not in option.opts or option.type.name == kind
        if "--engine" in option.opts:
            assert set(option.type.choices) >= {"cpu", "cuda", "auto"}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"compile", "merge"}))
def test_commands_take_what_makes_sense_for_them(name):
    found = {text for option in options(name) for text in option.opts}
    assert "-t" in found
    assert "-q" in found or name == "inspect"
    assert "-x" in found or name in ("count", "index", "pairwise")
    assert "-o" in found or name == "inspect"
    assert "--engine" in found or name in ("count", "inspect")
    assert ("--device" in found) == (name not in ("count", "inspect"))
    assert ("--gpus" in found) == (name == "pairwise")
    assert ("--shard" in found) == (name in ("count", "locate", "mem", "pairwise", "search"))


@pytest.fixture
def home(folder):
    contigs = numbered([random_letters(300, "grammar")])
    cases.build(folder / "ref.fmx", contigs)
    (folder / "r.fa").write_bytes(b">a\nACGT\n>b\nACGA\n" + cases.fasta(contigs))
    return folder


@pytest.mark.parametrize(
    ("arguments", "now"),
    [
        ("pairwise r.fa --paf", "use --format paf"),
        ("pairwise r.fa --device cpu", "use --engine cpu"),
        ("pairwise r.fa --device cuda", "use --engine cuda"),
        ("pairwise --device both r.fa", "use --engine both"),
        ("search r.fa --device cuda", "use --engine cuda"),
        ("pairwise r.fa --gpus cuda", "use --engine cuda"),
        ("pairwise r.fa --gpus 2 --engine cpu", "use --engine cuda or auto"),
        ("search r.fa --gpus 2", "it uses one GPU (--device)"),
        ("locate r.fa --gpus all", "it uses one GPU (--device)"),
        ("mem r.fa --gpus 2", "it uses one GPU (--device)"),
        ("search r.fa --device 0", "use --engine cuda or auto"),
        ("mem r.fa --gpu-memory 1G", "use --engine cuda or auto"),
        ("search r.fa --gpu-memory 2", "give 2G or 2M"),
        ("mem r.fa --gpu-memory 0.5", "give 0.5G or 0.5M"),
        ("index r.fa --max-memory 8", "give 8G or 8M"),
    ],
)
def test_former_spellings_say_the_new_one(arguments, now, home, command):
    result = command(*arguments.split())
    assert (result.code, result.out) == (2, b"")
    (line,) = result.err.splitlines()
    assert line.startswith("fmx: error: ")
    assert now in line
    assert sorted(path.name for path in home.iterdir()) == ["r.fa", "ref.fmx"]


def test_an_index_is_named_as_an_argument_or_by_an_option(home, command):
    found = [command("inspect", *words, "--json") for words in (["ref.fmx"], ["-x", "ref.fmx"])]
    assert [result.code for result in found] == [0, 0]
    assert len({result.out.split(b'"search"')[0] for result in found}) == 1
    result = command("inspect", "ref.fmx", "-x", "ref.fmx")
    assert result.code == 2
    assert result.err == "fmx: error: ref.fmx is given twice: give each index once\n"


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
@pytest.mark.parametrize("name", ["pairwise", "locate", "search", "mem"])
def test_auto_takes_the_cpu_where_there_is_no_gpu_and_says_so(name, home, command):
    expected = command(name, "r.fa", "-q")
    assert expected.out
    assert command(name, "r.fa", "--engine", "cuda").code == 1
    found = command(name, "r.fa", "--engine", "auto")
    assert found.code == 0
    assert without_command(found.out) == without_command(expected.out)
    assert f"on the CPU{': no GPU' if name == 'pairwise' else ''}" in found.err


def without_command(text) -> list:
    return [line for line in text.splitlines() if not line.startswith(b"@PG")]
