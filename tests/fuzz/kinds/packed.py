"""Damaged compressed files: refused, or read as Python's own modules read them.

BGZF without its last block is read with a warning.
"""

import bz2
import gzip
import lzma

import validate
from output_of import bgzf, zstd

from .. import mutate, oracle, world
from ..case import Case
from . import judged

SHARE = 2
END = bgzf(b"")  # the block that ends a BGZF file
OTHERS = {"bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd.compress}


def make(rng, folder) -> Case:
    plain = rng.choice([world.fastq, world.fasta])(rng, rng.randrange(1, 30))
    form = rng.choice(["gzip", "members", "bgzf", "bgzf", *OTHERS])
    if form in OTHERS:
        data = OTHERS[form](plain)
    elif form == "gzip":
        data = gzip.compress(plain, rng.choice([0, 1, 9]), mtime=0)
    elif form == "members":
        data = b"".join(gzip.compress(plain[i : i + 90], mtime=0) for i in range(0, len(plain), 90))
    elif rng.random() < 0.5:
        data = bgzf(plain, rng.choice([20, 100, 1000]))
    else:  # blocks that end with lines
        data = b"".join(bgzf(line)[: -len(END)] for line in plain.splitlines(keepends=True)) + END
    ends = [("cut at a block", cut_at_a_block), ("lose the end", lambda _, data: data.removesuffix(END))]
    ways = [*mutate.BYTES, *(ends * 4 if form == "bgzf" else [])]
    data, what = mutate.mutated(rng, data, ways, 2)
    files, stdin, given = {"in.gz": data}, b"", "in.gz"
    if rng.random() < 0.3:
        stdin, given = data, "-"
    commands = [["search", "-q", "-a", "-x", f"{world.FOLDER}/whole.fmx", "-o", "out.sam", given]]
    return Case("packed", "", commands, files, f"{form}: {what}", ["out.sam"], stdin)


def cut_at_a_block(rng, data):
    starts = [i for i in range(len(data)) if data[i : i + 4] == b"\x1f\x8b\x08\x04"]
    return data[: rng.choice(starts)] if starts else data


def check(case, outcomes, folder) -> list:
    (outcome,) = outcomes
    data = case.files["in.gz"]
    lacks_end, is_told = oracle.lacks_end(data), "end-of-file marker is missing" in outcome.message
    try:
        plain = oracle.unpacked(data)
        records = oracle.reads(plain)
        if lacks_end and plain.lstrip()[:1] == b">" and plain[-1:] != b"\n":
            raise oracle.RefusedError("FASTA that ends inside a line, and BGZF without its last block")
    except oracle.RefusedError as error:
        return [] if outcome.code else [f"took what must be refused: {error}"]
    if outcome.code:  # Python ignores what follows a stream of bzip2 or xz
        is_whole = data.startswith(b"\x1f\x8b") and not oracle.has_wrong_size(data)
        return [f"refused what is whole: {outcome.message.strip()[:200]}"] if is_whole else []
    if lacks_end != is_told:
        return [f"{'told' if is_told else 'did not tell'} that BGZF lacks its last block"]
    return judged(validate.check, (folder / "out.sam").read_bytes(), world.CONTIGS, records, None)
