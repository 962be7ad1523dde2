"""Options and their help; a wrong command is one line that names the remedy, and exit code 2."""

import re

import cases
import click
import pytest
from bad_reads import complaint
from conftest import ROOT
from texts import numbered, random_letters

from fmx.cli.command import GENERAL
from fmx.cli.main import _GROUPS, fmx

TOP = click.Context(fmx, info_name="fmx", **fmx.context_settings)
COMMANDS = {name: fmx.get_command(TOP, name) for name in fmx.list_commands(TOP)}
GENOME = numbered([random_letters(300, "usage")])
LONGEST = 120  # lines of 80 columns


def options_of(name) -> list:
    return [each for each in COMMANDS[name].params if isinstance(each, click.Option) and not each.hidden]


# Help.


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name, command):
    """Examples first, general options last; options for clusters and GPUs only in --help-all."""
    options, help = options_of(name), command(name, "--help")
    of_machines = [each for each in options if getattr(each, "heading", "") in ("Cluster", "GPU")]
    assert (help.code, help.err) == (0, "")
    text, lines = help.out.decode(), help.out.decode().splitlines()
    assert text.startswith(f"Usage: fmx {name} ")
    assert len(lines) <= LONGEST
    assert max(map(len, lines)) <= 100
    for option in options:
        assert (f"  {option.opts[0]}" in text) != (option in of_machines)
    assert ("--help-all" in lines[-1]) == bool(of_machines)
    if of_machines:
        whole = command(name, "--help-all").out.decode()
        assert all(f"  {option.opts[0]}" in whole for option in options)
        assert set(lines) < set(whole.splitlines())
    examples, *headings, last = re.findall(r"^\S.*:$", text, re.MULTILINE)
    assert (examples, last) == ("Examples:", f"{GENERAL}:")
    assert len(set(headings)) == len(headings)
    examples = text.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    assert 1 <= len(examples) <= 3
    assert all(line.startswith(f"  fmx {name}") for line in examples)


def test_help_lists_commands_in_groups(command):
    sections = dict(re.findall(r"^(\w.*):\n((?:  .*\n)+)", command("--help").out.decode(), re.MULTILINE))
    assert [heading for heading in sections if heading not in ("Options", "Commands")] == list(_GROUPS)
    files = {path.stem for path in (ROOT / "fmx" / "cli" / "commands").glob("[!_]*.py")}
    assert COMMANDS.keys() == files
    for heading, names in _GROUPS.items():
        assert re.findall(r"^  (\w+)", sections[heading], re.MULTILINE) == list(names)


# What every command has.

NAMES = {"-x": "--index", "-o": "--output", "-t": "--threads", "-q": "--quiet"}
TYPES = {"--device": "n", "--gpus": "n", "--gpu-memory": "size", "--max-memory": "size", "--threads": "n"}
WITH = {
    "-t": {"compile", "count", "index", "inspect", "locate", "mem", "offtargets", "pairwise", "search"},
    "-x": {"inspect", "locate", "mem", "search"},
    "-o": {"count", "index", "locate", "mem", "merge", "offtargets", "pairwise", "search"},
    "--engine": {"index", "locate", "mem", "pairwise", "search"},
    "--device": {"index", "locate", "mem", "pairwise", "search"},
    "--gpus": {"pairwise"},
    "--shard": {"count", "locate", "mem", "offtargets", "pairwise", "search"},
}


def test_an_option_means_the_same_everywhere():
    options = [(name, option) for name in COMMANDS for option in options_of(name)]
    for word, names in WITH.items():
        assert {name for name, option in options if word in option.opts} == names
    for _, option in options:
        for short, long in NAMES.items():
            assert (short in option.opts) == (long in option.opts)
        for long, kind in TYPES.items():
            assert long not in option.opts or option.type.name == kind
        if "--engine" in option.opts:
            assert set(option.type.choices) >= {"cpu", "cuda", "auto"}


# Wrong commands.


@pytest.fixture
def home(folder):
    (folder / "r.fq").write_bytes(cases.fastq([("r", "ACGT")]))
    (folder / "l.csv").write_text("a,ACGT\n")
    (folder / "r.fa").write_bytes(b">a\nACGT\n>b\nACGA\n" + cases.fasta(GENOME))
    return folder


MESSAGES = [
    ("search", "no reads: give READS, or -1 and -2"),
    ("search -k 0 r.fq", "-k: must be 1 or more, not 0"),
    ("search r.fq -k", "option '-k' requires an argument"),
    ("search r.fq --thread 4", "no option --thread in 'fmx search': did you mean --threads?"),
    ("search -a -k 2 r.fq", "give only one of -a and -k"),
    ("merge a b", "got unexpected extra argument (b); see 'fmx merge --help'"),
    ("seach r.fq", "no command seach: did you mean search?"),
    ("xyzzy", "no command xyzzy; the commands are compile, count, index, inspect, locate, mem, merge, "
     "offtargets, pairwise, search"),
    ("--threads 2", "no option --threads in 'fmx'; see 'fmx --help'"),
    ("-v", "no option -v in 'fmx'; see 'fmx --help'"),
    ("search -p 2 r.fq", "no option -p in 'fmx search': did you mean --threads?"),
    ("mem -maxmatch r.fq", "no option -m in 'fmx mem': did you mean --maxmatch?"),
    ("mem -b -r q.fa", "give only one of -b and -r"),
    ("mem -L --format sam q.fa", "-c, -L and -F need --format mummer"),
    ("pairwise --matrix score --cigar a.fa", "give only one of --matrix and --cigar"),
    ("index --layout auto --sa-rate 4 a.fa", "--layout auto chooses the SA rate: leave out --sa-rate"),
    ("search --min-match r.fq", "--min-match: 'r.fq' is not a whole number; write --min-match 31 r.fq"),
    ("search --gpu r.fq", "no option --gpu in 'fmx search': did you mean --engine?"),
    ("search --forward-only --reverse-only r.fq", "give only one of --forward-only and --reverse-only"),
    ("search --strata r.fq", "--strata needs --mismatches 1 or 2"),
    ("search --max-memory 5G -x a -x b r.fq",
     "--max-memory works with one index only: give one -x, or leave out --max-memory"),
    ("search -1 a,b -2 c",
     "-1 has 2 files but -2 has 1: give one file with second mates for each file with first mates"),
    ("search --interleaved -1 a -2 b", "--interleaved means that READS hold both mates: leave out -1 and -2"),
    ("index -", "a reference from standard input needs -o NAME.fmx"),
    ("index a.fa b.fa", "several references need -o NAME.fmx"),
    ("locate", "give patterns either with -p or as files"),
    ("locate r.fq -k 5", "no option -k in 'fmx locate'; see 'fmx locate --help'"),
    ("locate -p ACGT --format gff", "--format: 'gff' is not one of 'sam', 'tsv', 'bed', "
     "'parquet', 'rtab', 'npz', 'fasta'"),
    ("locate -p ACGT --format fasta",
     "--format fasta: with the other options, the output can only be SAM, TSV, BED or Parquet"),
    ("index a.fa --device 0",
     "--device has no effect with --engine cpu: use --engine cuda or auto, or omit --device"),
    ("locate -p ACGN --iupac --format sam",
     "SAM cannot represent IUPAC patterns: write TSV, BED or Parquet with --iupac"),
    ("locate --pairs p.tsv -x a -x b", "--pairs searches one index: give one -x"),
    ("locate --pairs p.tsv -p ACGT", "--pairs takes the primers from FILE: leave out -p and PATTERNS"),
    ("locate --pairs p.tsv --reverse-only", "--pairs always searches both strands: leave out --reverse-only"),
    ("locate --pairs p.tsv --format sam",
     "--format sam: with the other options, the output can only be TSV, BED or FASTA"),
    ("locate --pairs p.tsv --format bed --absent",
     "--absent adds lines to TSV, not to BED: leave it out, or write TSV"),
    ("pairwise --matrix score a.fa b.fa", "PHYLIP needs a square matrix: give one input, or -o FILE.npz"),
    ("pairwise --format npz a.fa", "--format npz: with the other options, the output can only be TSV or PAF"),
    ("search --method bvsfm-k2-d96 r.fq", "--method: 'bvsfm-k2-d96' is not one of 'auto', 'verify', "
     "'backward', 'sparse'"),
    ("count r.fq", "missing option '-l' / '--library'; see 'fmx count --help'"),
    ("count -l a -l b -l c r.fq", "give one library, or one for first mates and one for second mates"),
    ("count -l a r.fq --offset 1 --after AC",
     "give only --offset, or only --anywhere, or --after and --before"),
    ("count -l a r.fq --names b,c",
     "--names lists 2 names, but 1 sample is given: each argument is one sample; commas join the files of "
     "one sample"),
    ("count -l a --samples s.csv --names b",
     "--names cannot be combined with --samples: the sheet has the names"),
    ("count -l a -1 b -2 c -2 d", "give -1 and -2 the same number of times: once per sample"),
    ("count -l l.csv r.fq --scheduler a:1",
     "a cluster run needs -o FILE, in a folder that all workers can see"),
    ("count -l l.csv r.fq --scheduler a:1 --scheduler-file b",
     "give only one of --scheduler and --scheduler-file"),
    ("count -l l.csv r.fq --shard 1/2", "--shard needs -o FOLDER, the folder that 'fmx merge' reads"),
    ("count -l l.csv r.fq --shard 1/2 -o x --scheduler a:1",
     "give only one of --shard and --scheduler: a cluster run makes its own shards"),
    ("search --start 2 --trim5 1 r.fq", "give only one of --start and --trim5"),
]  # fmt: skip
ENDS = [  # options for GPUs, and sizes
    ("pairwise r.fa --gpus 2 --engine cpu", "use --engine cuda or auto, or omit --gpus"),
    ("index r.fa --max-memory 8", "'8' is not a size with a unit, such as 500M or 8G"),
]


@pytest.mark.parametrize(("words", "message"), MESSAGES + ENDS, ids=[words for words, _ in MESSAGES + ENDS])
def test_a_wrong_command_is_one_line(words, message, home, command):
    line = complaint(command(*words.split()), 2)
    assert line.endswith(message) if (words, message) in ENDS else line == f"fmx: error: {message}"
    assert sorted(path.name for path in home.iterdir()) == ["l.csv", "r.fa", "r.fq"]
