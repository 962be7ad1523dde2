"""Wrong use of every command: one line that names the remedy, and exit code 2."""

import re

import cases
import click
import pytest

from fmx.cli.command import ELSEWHERE, INSTEAD, NEEDLESS, Command
from fmx.cli.main import fmx

COMMANDS = {
    (name,): fmx.get_command(click.Context(fmx), name) for name in fmx.list_commands(click.Context(fmx))
}
READS = cases.fastq([("r", "ACGT")])


@pytest.fixture
def home(folder):
    (folder / "r.fq").write_bytes(READS)
    (folder / "l.csv").write_text("a,ACGT\n")
    return folder


def said(result) -> str:
    """The one line that a wrong command says, without its head."""
    assert (result.code, result.out) == (2, b""), result.err
    (line,) = result.err.splitlines()
    assert line.startswith("fmx: error: ")
    return line.removeprefix("fmx: error: ")


MESSAGES = [
    ("search", "missing argument READS; see 'fmx search --help'"),
    ("mem", "missing argument QUERIES; see 'fmx mem --help'"),
    ("search -k 0 r.fq", "-k: must be 1 or more, not 0"),
    ("search r.fq -k", "option '-k' requires an argument"),
    ("search r.fq --thread 4", "no option --thread in 'fmx search': did you mean --threads?"),
    ("search r.fq --unheard-of", "no option --unheard-of in 'fmx search'; see 'fmx search --help'"),
    ("search -a -k 2 r.fq", "give only one of -a and -k"),
    ("merge a b", "got unexpected extra argument (b); see 'fmx merge --help'"),
    ("seach r.fq", "no command seach: did you mean search?"),
    ("map r.fq", "no command map: did you mean search?"),
    ("aling r.fq", "no command aling: did you mean search?"),
    ("help", "no command help: did you mean --help?"),
    ("xyzzy", "no command xyzzy; the commands are compile, count, index, inspect, locate, mem, merge, "
     "pairwise, search"),
    ("--threads 2", "no option --threads in 'fmx'; see 'fmx --help'"),
    ("-v", "no option -v in 'fmx': use --version"),
    ("search -p 4 r.fq", "no option -p in 'fmx search': use --threads"),
    ("index -p x r.fa", "no option -p in 'fmx index': use -o to name the index, or -t for threads"),
    ("index --prefix x r.fa", "no option --prefix in 'fmx index': use -o"),
    ("index -n x r.fa", "no option -n in 'fmx index': use -o"),
    ("search --reads r.fq", "no option --reads in 'fmx search': leave it out; reads are given without an "
     "option"),
    ("search --input=r.fq", "no option --input in 'fmx search': leave it out; reads are given without an "
     "option"),
    ("search --read1 a --read2 b", "no option --read1 in 'fmx search': use -1"),
    ("search -1 a --read2 b", "no option --read2 in 'fmx search': use -2"),
    ("search --ref x r.fq", "no option --ref in 'fmx search': use -x"),
    ("search --paired a b", "no option --paired in 'fmx search': use -1 and -2"),
    ("search -v 2 r.fq", "no option -v in 'fmx search': use --mismatches"),
    ("search -S r.fq", "no option -S in 'fmx search': leave it out; the output is SAM; -o FILE "
     "writes it to a file"),
    ("search -c ACGT", "no option -c in 'fmx search': leave it out; 'fmx locate -p SEQUENCE' searches for "
     "sequences that are given as arguments"),
    ("search -n 2 r.fq", "no option -n in 'fmx search': use --mismatches"),
    ("search ACGTTT", "no file ACGTTT; to search for a sequence, use 'fmx locate -p ACGTTT'"),
    ("mem -S r.fq", "no option -S in 'fmx mem': use --format sam"),
    ("search --norc r.fq", "no option --norc in 'fmx search': use --forward-only"),
    ("search -1 a -2 b -X 600", "no option -X in 'fmx search': use --max-insert"),
    ("search -@ 4 r.fq", "no option -@ in 'fmx search': use --threads"),
    ("mem -maxmatch r.fq", "no option -m in 'fmx mem': did you mean --maxmatch?"),
    ("search --local r.fq", "no option --local in 'fmx search': leave it out; a hit is always as long as "
     "the read; --trim5 and --trim3 trim reads"),
    ("search --seedlen 20 r.fq", "no option --seedlen in 'fmx search': leave it out; reads are matched "
     "whole, without seeds"),
    ("search --rnext r.fq", "no option --rnext in 'fmx search'; see 'fmx search --help'"),
    ("search --outptu a r.fq", "no option --outptu in 'fmx search': did you mean --output?"),
    ("mem --mumcand r.fq", "no option --mumcand in 'fmx mem': use --mumreference"),
    ("mem -mum -l 30 r.fq", "no option -m in 'fmx mem': did you mean --mum?"),
    ("inspect -v 2", "no option -v in 'fmx inspect'; see 'fmx inspect --help'"),
    ("locate -p 4 r.fq", "-p 4: a pattern is a DNA sequence; threads are -t 4"),
    ("mem -l 20 r.fq -l 30", "'-l' is given more than once"),
    ("search -o a.sam -o a.sam r.fq", "'-o' / '--output' is given more than once"),
    ("mem -b -r q.fa", "give only one of -b and -r"),
    ("mem --mum --maxmatch q.fa", "give only one of --maxmatch, --mumreference and --mum"),
    ("mem -L --format sam q.fa", "-c, -L and -F need --format mummer"),
    ("pairwise --matrix score --cigar a.fa", "give only one of --matrix and --cigar"),
    ("pairwise --matrix score --id 0.9 a.fa", "--matrix writes every pair: leave out --id"),
    ("index --layout auto --sa-rate 4 a.fa", "--layout auto chooses the SA rate: leave out --sa-rate"),
    ("search -k x r.fq", "-k: 'x' is not a whole number"),
    ("search -k all r.fq", "-k: use -a to report all hits"),
    ("search --gpu r.fq", "no option --gpu in 'fmx search': use --engine cuda"),
    ("search --forward-only --reverse-only r.fq", "give only one of --forward-only and --reverse-only"),
    ("search --strata r.fq", "--strata needs --mismatches 1 or 2"),
    ("search --max-memory 5G -x a -x b r.fq",
     "--max-memory works with one index only: give one -x, or leave out --max-memory"),
    ("search -2 a", "-2 is given without -1: name the files of first mates with -1"),
    ("search -1 a", "-1 is given without -2: name the files of second mates with -2"),
    ("search -1 a,b -2 c",
     "-1 has 2 files but -2 has 1: give one file with second mates for each file with first mates"),
    ("search --interleaved -1 a", "--interleaved means that READS hold both mates: leave out -1 and -2"),
    ("index", "missing argument REFERENCE; see 'fmx index --help'"),
    ("index -", "a reference from standard input needs -o NAME.fmx"),
    ("index r.fq ref", "no file ref; to give the index this name, use -o ref"),
    ("index r.fq no.fna.gz", "no.fna.gz: No such file or directory"),
    ("index a.fa b.fa", "several references need -o NAME.fmx"),
    ("locate", "give patterns either with -p or as files"),
    ("locate r.fq -k 5", "no option -k in 'fmx locate': leave it out; every occurrence is always listed"),
    ("count -l l.csv -n x r.fq", "no option -n in 'fmx count': leave it out; -o FILE names the output"),
    ("search -o {sample}.sam r.fq", "{sample}.sam: {sample} in the name of an output needs --samples"),
    ("search -o {name}.sam --samples s.tsv", "{name}.sam: the place for the name of the sample is {sample}"),
    ("locate -p ACGT r.fa", "give patterns either with -p or as files"),
    ("locate -p ACGT --format gff", "--format: 'gff' is not one of 'sam', 'tsv', 'bed', "
     "'parquet', 'rtab', 'npz', 'fasta'"),
    ("locate -p ACGT --format fasta", "FASTA is for PCR products: give --pairs with it"),
    ("locate -p ACGT --max-size 500", "--max-size is for PCR products: give --pairs with it"),
    ("index a.fa --device 0",
     "--device has no effect with --engine cpu: use --engine cuda or auto, or omit --device"),
    ("index a.fa --engine cpu --gpu-memory 4G",
     "--gpu-memory has no effect with --engine cpu: use --engine cuda or auto, or omit --gpu-memory"),
    ("locate -p ACGN --iupac --format sam",
     "SAM cannot represent IUPAC patterns: write TSV, BED or Parquet with --iupac"),
    ("locate --pairs p.tsv -x a -x b", "--pairs searches one index: give one -x"),
    ("locate --pairs p.tsv -p ACGT", "--pairs takes the primers from FILE: leave out -p and PATTERNS"),
    ("locate --pairs p.tsv --iupac", "--pairs always accepts IUPAC codes: leave out --iupac"),
    ("locate --pairs p.tsv --matrix counts", "--pairs lists PCR products: leave out --matrix"),
    ("locate --pairs p.tsv --reverse-only", "--pairs always searches both strands: leave out --reverse-only"),
    ("locate --pairs p.tsv --format sam", "--pairs writes TSV, BED or FASTA, not sam"),
    ("locate --pairs p.tsv --format bed --absent",
     "--absent adds lines to TSV, not to BED: leave it out, or write TSV"),
    ("pairwise --matrix score a.fa b.fa", "PHYLIP needs a square matrix: give one input, or -o FILE.npz"),
    ("pairwise --matrix score --format tsv a.fa", "a matrix is npz or PHYLIP: leave out --format tsv"),
    ("pairwise --format npz a.fa", "--format npz is for matrices: give --matrix with it"),
    ("pairwise --format phylip a.fa", "--format phylip is for matrices: give --matrix with it"),
    ("pairwise --iddef 5 a.fa", "--iddef: '5' is not one of '0', '1', '2', '3', '4'"),
    ("pairwise --gap x a.fa", "--gap: 'x' is not a whole number"),
    ("search --method bvsfm-k2-d96 r.fq", "--method: 'bvsfm-k2-d96' is a layout: use --layout bvsfm-k2-d96"),
    ("locate --method sparse-k21-w16 -p A",
     "--method: 'sparse-k21-w16' is a layout: use --layout sparse-k21-w16"),
    ("count r.fq", "missing option '-l' / '--library'; see 'fmx count --help'"),
    ("count -l a -l b -l c r.fq", "give one library, or one for first mates and one for second mates"),
    ("count -l a r.fq --offset 1 --after AC",
     "give only --offset, or only --anywhere, or --after and --before"),
    ("count -l a r.fq --names b,c",
     "--names lists 2 names, but 1 sample is given: each argument is one sample; commas join the files of "
     "one sample"),
    ("count -l a r.fq,s.fq t.fq --names b", "--names lists 1 name, but 2 samples are given: each "
     "argument is one sample; commas join the files of one sample"),
    ("count -l a r.fq s.fq --names b,b", "--names has b twice; each sample needs its own name"),
    ("count -l a --samples s.csv --names b",
     "--names cannot be combined with --samples: the sheet has the names"),
    ("count -l a -1 b -2 c -2 d", "give -1 and -2 the same number of times: once per sample"),
    ("count -l a -1 b,c -2 d",
     "-1 and -2 differ in number of files: give one file with second mates for each file with first mates"),
    ("count -l l.csv r.fq --scheduler a:1",
     "a cluster run needs -o FILE, in a folder that all workers can see"),
    ("count -l l.csv r.fq --scheduler a:1 --scheduler-file b",
     "give only one of --scheduler and --scheduler-file"),
    ("count -l l.csv r.fq --shard 1/2", "--shard needs -o FOLDER, the folder that 'fmx merge' reads"),
    ("count -l l.csv r.fq --shard 1/2 -o x --scheduler a:1",
     "give only one of --shard and --scheduler: a cluster run makes its own shards"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), MESSAGES, ids=[words for words, _ in MESSAGES])
def test_a_wrong_command_is_one_line(words, message, home, command):
    assert said(command(*words.split())) == message


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_option_silently_takes_the_last_of_several(words):
    """Of all commands: each option that takes a value takes several, or refuses them."""
    command = COMMANDS[words]
    assert isinstance(command, Command)
    for option in command.params:
        if not isinstance(option, click.Option) or option.multiple or option.is_eager:
            continue
        name, is_flag = max(option.opts, key=len), option.is_flag
        value = [] if is_flag else [VALUES.get(option.type.name) or next(iter(choices(option)), "1")]
        with click.Context(command, info_name=" ".join(words)) as context:
            if is_flag and not option.secondary_opts:
                command.refuse_repeats(context, 2 * [name])
                continue
            other = option.secondary_opts[:1] or [name]
            command.refuse_repeats(context, [name, *value])
            with pytest.raises(click.UsageError, match="more than once"):
                command.refuse_repeats(context, [name, *value, *other, *value])


VALUES = {"size": "5G", "i/n": "1/2"}


def choices(option) -> list:
    return list(getattr(option.type, "choices", ()))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_what_other_programs_call_an_option_is_named_as_here(words):
    """No spelling in the tables is an option of the command, and what the message advises is."""
    command, (word,) = COMMANDS[words], words
    types = {name: option.type for option in command.params for name in option.opts if name[:1] == "-"}
    tables = [ELSEWHERE, NEEDLESS.get(word, {}), INSTEAD.get(word, {})]
    assert not {spelling for table in tables[1:] for each in table.values() for spelling in each.split()} & {
        *types
    }
    for spelling in {name for table in tables for each in table.values() for name in each.split()} - {*types}:
        context = click.Context(command, info_name=word)
        with context, pytest.raises(click.UsageError) as error:
            command.parse_args(context, [spelling, "1"])
        _, _, advice = error.value.format_message().partition(": use ")
        assert set(re.findall("(?<![a-z])-[-a-z0-9]+", advice)) <= types.keys()
        name, _, value = advice.partition(" ")
        assert value in (*getattr(types.get(name), "choices", ()), "") or advice in tables[2]


def test_every_option_that_is_advised_exists():
    options = {name for command in COMMANDS.values() for option in command.params for name in option.opts}
    assert {name.split()[0] for name in ELSEWHERE} - {"--version"} <= options


def test_a_flag_may_be_given_twice(home, command):
    assert "No such file" in command("search", "-q", "-q", "no.fq", "-x", "no").err


def test_help_comes_before_what_is_wrong(home, command):
    result = command("mem", "-l", "1", "-l", "2", "--help")
    assert (result.code, result.err) == (0, "")
