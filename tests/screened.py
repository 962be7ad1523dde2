"""References of screens: host, phage and adapter, and reads and mates that occur in some of them."""

import cases
import workflow
from texts import random_letters, reads_of

UNIT = random_letters(60, "target")
REFERENCES = {
    "host": [("h/1", UNIT + random_letters(90, 1)), (".h2", random_letters(90, 2) + "N" + UNIT[20:])],
    "phage": [("p:1", UNIT[10:] + random_letters(80, 3) + "AC" * 20)],
    "adapter": [("a", random_letters(83, 4) + UNIT[:32] + "AC" * 20)],
}
CONTIGS = [contig for contigs in REFERENCES.values() for contig in contigs]
GROUPS = [name for name, contigs in REFERENCES.items() for _ in contigs]
READS = [*reads_of(CONTIGS, n=40), UNIT[:25], UNIT[42:58], UNIT[2:50], "AC" * 12, *"ACGT", "AC", "N", ""]
PAIRS = list(zip(READS[::2], READS[1::2], strict=False))


def make(folder):
    """Write an index of each reference, unlike each other, one of all, and the reads; return the folder."""
    kinds = [{"part_size": 210}, {"layouts": ["cofi-k4"]}, {}]
    for (name, contigs), how in zip(REFERENCES.items(), kinds, strict=True):
        (folder / f"{name}.fa").write_bytes(cases.fasta(contigs))
        workflow.build_index(folder / f"{name}.fa", folder / f"{name}.fmx", workflow.IndexOptions(**how))
    workflow.build_index([folder / f"{name}.fa" for name in REFERENCES], folder / "all.fmx")
    (folder / "r.fq").write_bytes(cases.fastq((f"r{i}", read) for i, read in enumerate(READS)))
    for mate in (0, 1):
        records = ((f"p{i}", pair[mate]) for i, pair in enumerate(PAIRS))
        (folder / f"{mate + 1}.fq").write_bytes(cases.fastq(records))
    return folder
