"""Damaged BAM and CRAM: refused, or the answer for the reads that were written."""

import tempfile

import pysam
import validate

from .. import mutate, oracle, world
from ..case import Case
from . import judged

SHARE = 1


def make(rng, folder) -> Case:
    kind = rng.choice(["bam", "cram"])
    records = oracle.reads(world.fastq(rng, rng.randrange(1, 9)))
    records = [(f"r{i}", letters.upper(), qualities) for i, (_, letters, qualities) in enumerate(records)]
    whole = _written(kind, [record for record in records if record[1]])
    ways = [*mutate.BYTES[:2], *mutate.BYTES, ("cut at a border", cut_at_a_border)]
    data, what = mutate.mutated(rng, whole, ways, 2) if rng.random() < 0.8 else (whole, "whole")
    files, given = {f"in.{kind}": data}, rng.choice([f"in.{kind}", "-"])
    commands = [["search", "-q", "-a", "-x", f"{world.FOLDER}/whole.fmx", "-o", "out.sam", given]]
    facts = {"records": [list(record) for record in records if record[1]], "is_whole": data == whole}
    return Case("alignments", "", commands, files, f"{kind}: {what}", ["out.sam"], data, facts=facts)


def _written(kind, records) -> bytes:
    header = {"HD": {"VN": "1.6"}, "RG": [{"ID": "lane1", "SM": "s"}]}
    mode, options = ("wb", []) if kind == "bam" else ("wc", [b"seqs_per_slice=3", b"no_ref"])
    with tempfile.NamedTemporaryFile(suffix=f".{kind}") as file:
        with pysam.AlignmentFile(file.name, mode, header=header, format_options=options) as written:
            for name, letters, qualities in records:
                read = pysam.AlignedSegment(written.header)
                read.query_name, read.query_sequence, read.flag = name, letters, 4
                read.query_qualities = pysam.qualitystring_to_array(qualities)
                written.write(read)
        data = file.read()
    return data if kind == "bam" else data[:6] + bytes(20) + data[26:]  # without the name of the file


def cut_at_a_border(rng, data):
    """At the end of the CRC-32 of a container or block, or where a block of BGZF begins."""
    if data[:4] != b"CRAM":
        return data[: data.rfind(b"\x1f\x8b\x08\x04")]
    return data[: data.rfind(b"\x0f\0\0\0\xff\xff\xff\xff")]


def check(case, outcomes, folder) -> list:
    (outcome,) = outcomes
    if outcome.code:
        return ["refused what is whole"] if case.facts["is_whole"] else []
    found = (folder / "out.sam").read_bytes().replace(b"\tRG:Z:lane1", b"")
    lines = [line for line in found.split(b"\n") if not line.startswith(b"@RG")]
    records = [tuple(record) for record in case.facts["records"]]
    return judged(validate.check, b"\n".join(lines), world.CONTIGS, records, None)
