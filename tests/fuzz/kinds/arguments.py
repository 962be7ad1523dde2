"""Options and arguments in odd combinations and with odd values, drawn from the commands' own tables."""

import os
from pathlib import Path

import click

from fmx.cli import options
from fmx.cli.main import fmx

from .. import world
from ..case import Case

SHARE = 4
NUMBERS = [
    "0", "1", "2", "-1", "3", "7", "64", "1e3", "0x10", "1_0", " 5", "", "x", "NaN", "9" * 30, str(2**63),
]  # fmt: skip
REALS = ["0", "1", "0.5", "-0.5", "nan", "inf", "-inf", "1e-320", "1e309", "", "x", "0.97", "1.0000001"]
SIZES = [
    "0", "1", "500M", "8G", "1.5K", "-5", "1e9", "nan", "9" * 400, "9" * 30 + "T", "", "M", "0.000001", "3 G",
    "100KB",
]  # fmt: skip
WORDS = [
    "", "-", "x", "auto", "\udcff", "\x1b[31m", "a\nb", "a\tb", "é", "bvsfm-k2-d96", "bvsfm-k9", "cofi",
    "kstep-k2-d64", "a,b", ",", "@RG\\tID:x", "@RG\\tID:x y", "@RG\\tID:x\\tSM", "@RG\\tID:\udce9", "ACGT",
    "AT C", "A" * 300, "NNN", "acgu", ">a", "cpu", "cuda", "cuda_full",
]  # fmt: skip
PATHS = [
    "reads.fq", "more.fa", "ref.fa", "ref.fmx", "empty", "junk", "link.fq", "dir", "dir/reads.fq", "no/file",
    "nowhere", "-", "", ".", "/", "./reads.fq", "ref.fmx/meta.json", "/dev/null", "b\udcffd.fq", "a\nb.fa",
    "e\x1b[2Jc.fa", "link.fmx", "ref.fmx/",
]  # fmt: skip
OUTPUTS = [
    "out.sam", "out.bam", "new.fmx", "old.sam", "out.sam.gz", "out.cram", "x.BAM", "out.npz", "out.tsv",
    "\udcfe.sam", "n\n.sam", "other.fmx", "/dev/full", *PATHS,
]  # fmt: skip
# Parameters that name what is written.
WRITES = {
    "output", "counts", "screen", "al", "un", "reports", "work", "folder",
}  # fmt: skip
LINKS = {"link.fq": "reads.fq", "link.fmx": "ref.fmx"}
TOO_MUCH = {  # values that are allowed and ask for more time or memory than a case has
    "prefix_length": {str(n) for n in range(9, 16)},
    "threads": {"1024"},
    "n_reads": None,
}


def commands() -> list:
    """(words, click command) of every command that fmx has."""
    return [([name], fmx.get_command(None, name)) for name in fmx.list_commands(None)]


def make(rng, folder) -> Case:
    words, command = rng.choice(COMMANDS)
    arguments, facts = _options(rng, command)
    given = [p for p in command.params if isinstance(p, click.Argument)]
    positional = [
        _right(rng, words) if rng.random() < 0.7 else rng.choice([*PATHS, *WORDS])
        for p in given
        for _ in range(rng.choice([1, 1, 1, 2, 0]) if p.nargs == -1 or not p.required else 1)
    ]
    n_first = rng.randrange(len(positional) + 1)
    arguments = [*positional[:n_first], *arguments, *positional[n_first:]]
    if words[0] == "compile":  # which takes minutes
        arguments.append("--unheard-of")
    if rng.random() < 0.5 and any("--quiet" in p.opts for p in command.params):
        arguments.insert(0, "-q")
    facts["read"] += positional
    if rng.random() < 0.02:
        words = rng.choice([[], ["--debug"], ["serach"], ["--help"], ["--version"], [rng.choice(WORDS)]])
    files = _files(rng, folder)
    what, outputs = " ".join(words), _outputs(words, facts)
    commands = [[*words, *arguments]]
    return Case("arguments", "", commands, files, what, outputs, files["reads.fq"], None, facts)


def _options(rng, command) -> tuple:
    """(options of a command with their values; which of these are written, read, and kept by what fails)."""
    arguments, facts = [], {"written": [], "read": [], "kept": []}
    wanted = [p for p in command.params if not isinstance(p, click.Argument)]
    for parameter in rng.sample(wanted, rng.randrange(min(len(wanted), 5) + 1)):
        for _ in range(rng.choice([1, 1, 1, 2])):
            arguments.append(rng.choice([*parameter.opts, *parameter.secondary_opts]))
            if parameter.is_flag or parameter.count:
                continue
            value = _value(rng, parameter)
            arguments.append(value)
            facts["written" if parameter.name in WRITES else "read"].append(value)
            if parameter.name == "reference":  # samtools puts its index beside it
                facts["kept"].append(f"{_place(value)}.fai")
    return arguments, facts


def _right(rng, words) -> str:
    """An argument that makes sense."""
    if words[0] == "index":
        return rng.choice(["ref.fa", "ref.fa", "ref.fmx"])
    if words[0] == "inspect":
        return "ref.fmx"
    return rng.choice(["reads.fq", "more.fa", "more.fa"])


def _value(rng, parameter) -> str:
    kind = parameter.type
    if rng.random() < 0.05:
        return rng.choice([*WORDS, *NUMBERS])
    if isinstance(kind, click.Choice):
        return rng.choice([*kind.choices, *kind.choices, "nope", kind.choices[0].upper(), ""])
    if isinstance(kind, click.IntRange | click.FloatRange):
        limits = [x for x in (kind.min, kind.max) if x is not None]
        near = [str(x + d) for x in limits for d in (0, 0, -1, 1)]
        values = [*near, *(NUMBERS if isinstance(kind, click.IntRange) else REALS)]
    elif getattr(kind, "func", None) is options.size:
        values = SIZES
    elif kind is click.INT:
        values = NUMBERS
    elif kind is click.FLOAT:
        values = REALS
    elif parameter.name in WRITES:
        values = OUTPUTS
    elif isinstance(kind, click.Path) or parameter.name == "index_path":
        values = ["ref.fmx", "ref.fmx", *PATHS]
    else:
        values = WORDS
    refused = TOO_MUCH.get(parameter.name) or ()
    return rng.choice([value for value in values if value not in refused])


def _files(rng, folder) -> dict:
    index = {
        f"ref.fmx/{name.partition('/')[2]}": data
        for name, data in world.files_of(folder, "whole.fmx").items()
    }
    reads = world.fastq(rng, 4)
    return {
        **index, **LINKS, "reads.fq": reads, "more.fa": world.fasta(rng, 3, 20),
        "ref.fa": world.reference(rng), "empty": b"", "junk": rng.randbytes(50),
        "dir/reads.fq": reads, "b\udcffd.fq": reads,
        "a\nb.fa": b">a\nACGT\n", "e\x1b[2Jc.fa": b">a\nAC\x1b[2JGT\n", "old.sam": b"an old output\n",
    }  # fmt: skip


def _outputs(words, facts) -> list:
    """What a command may write: what it was told to and does not read; an index beside its reference."""
    used = {_place(value) for value in facts["read"]}
    outputs = [_place(value) for value in facts["written"]]
    outputs = [value for value in outputs if value not in used and value != "."]
    outputs += [value for value in facts["kept"] if value.endswith(".fai")]
    if words[:1] == ["index"]:  # which makes up a name beside its reference, and may add to an index
        beside = [Path(value) for value in used if value not in (".", "/")]
        outputs += [str(path.with_name(f"{path.name.partition('.')[0]}.fmx")) for path in beside]
        outputs += [str(path.with_name(f"{path.name}.fmx")) for path in beside] + [
            str(path) for path in beside if path.suffix == ".fmx"
        ]
    return outputs


def _place(value: str) -> str:
    """The file or folder that a name stands for: links are followed."""
    place = os.path.normpath(value)
    return LINKS.get(place, place)


def check(case, outcomes, folder) -> list:
    """Any of exit 0, 1 and 2 will do: what holds for every command is looked at for every kind."""
    return []


COMMANDS = commands()
