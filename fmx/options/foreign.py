"""Options as other programs call them: what to say here instead."""

ELSEWHERE: dict[str, tuple[str, ...]] = {  # a command names the first whose option it has
    **dict.fromkeys(("-p", "-j", "-@", "--cores", "--cpus", "--jobs", "--nthreads"), ("--threads",)),
    "--num-threads": ("--threads",),
    "-v": ("--mismatches", "--version"),
    "-S": ("--format sam",),
    "--sam": ("--format sam",),
    "-b": ("--format bam",),
    "--bam": ("--format bam",),
    "-I": ("--min-insert",),
    "--minins": ("--min-insert",),
    "-X": ("--max-insert",),
    "--maxins": ("--max-insert",),
    "--norc": ("--forward-only",),
    "--nofw": ("--reverse-only",),
    "--no-unal": ("--no-unmapped",),
    "-5": ("--trim5",),
    "-3": ("--trim3",),
    "-s": ("--skip",),
    "-u": ("--first",),
    "--qupto": ("--first",),
    "-R": ("--rg",),
    "--rg-id": ("--rg",),
    "--sam-RG": ("--rg",),
    "--sample-label": ("--names",),
}

_TOLD_APART = "FASTA and FASTQ are told apart by their first byte"
NEEDLESS: dict[str, dict[str, str]] = {  # of a command: why it does without
    "search": {
        "-S": "SAM is what it writes",
        "--sam": "SAM is what it writes",
        "-f": _TOLD_APART,
        "-U": "reads are named without an option",
        "-y": "every occurrence is found in any case",
        "--best": "hits with the fewest mismatches come first in any case",
        "--reorder": "records are in the order of the reads in any case",
        "--mm": "processes share the memory of an index in any case",
        "--phred33-quals": "qualities are written as they are read",
        "--phred64-quals": "qualities are written as they are read",
    },
    "mem": {"-n": "only A, C, G and T match in any case", "-f": _TOLD_APART},
    "index": {"-f": "a reference is FASTA in any case"},
}
