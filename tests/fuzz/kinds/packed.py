"""Damaged compressed files: refused, or read as Python's own modules read them."""

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
    else:
        data = bgzf(plain, rng.choice([20, 100, 1000]))
    ways = [*mutate.BYTES, *([cut_at_a_block] * 4 if form == "bgzf" else [])]
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
    if outcome.code == 1:
        return []
    try:
        records = oracle.reads(oracle.unpacked(data))
    except oracle.RefusedError as error:
        return [f"took what must be refused: {error}"]
    if oracle.lacks_end(data):
        return ["took BGZF without its end-of-file block"]
    return judged(validate.check, (folder / "out.sam").read_bytes(), world.CONTIGS, records, None)
