"""What a file is called without its folder and the suffixes of sequences and of compression."""

import os
import re

SUFFIX = r"(\.(fastq|fq|fasta|fa|fna|txt))?(\.(gz|bgz|bgzf|zst|xz|bz2))?$"


def stem_of(path, suffix=SUFFIX) -> str:
    """Its stem: ``day0`` of runs/day0.fq.gz."""
    return re.sub(suffix, "", os.path.basename(path), flags=re.IGNORECASE)


def stems_of(paths, suffix=SUFFIX) -> list:
    """The stems of files, with their folders where two are alike."""
    paths = list(map(os.fspath, paths))
    stems = [stem_of(path, suffix) for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [os.path.join(os.path.dirname(path), stem) for path, stem in zip(paths, stems, strict=True)]
