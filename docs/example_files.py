"""Write the example files of the how-to pages: python docs/example_files.py FOLDER makes a folder per page.

The files are parts of the repository (phage lambda and its reads, guides and reads of MAGeCK's demo) and
sequences derived from them; the same ones each time.
"""

import gzip
import random
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENOME = (ROOT / "fmx/data/lambda.fa.gz").read_bytes()
READS = (ROOT / "fmx/data/lambda_reads.fq.gz").read_bytes()
LAMBDA = "".join(gzip.decompress(GENOME).decode().split("\n")[1:]).upper()
GUIDES = [line.split("\t") for line in (ROOT / "tests/data/guides.txt").read_text().splitlines()]
GUIDE_READS = (ROOT / "tests/data/guides.fq.gz").read_bytes()


def pages() -> dict:
    """Return {page: {file: bytes or text}}."""
    reads = gzip.decompress(READS).decode()
    one, two = _fastq(_mates(range(0, 20_000, 200))), _fastq(_mates(range(20_000, 40_000, 200)), "q")
    mates = [a + b for a, b in zip(one, two, strict=True)]
    records = [text.splitlines(keepends=True) for text in mates]
    both = "".join("".join(file[i : i + 4]) for i in range(0, len(records[0]), 4) for file in records)
    start = {"ref.fa.gz": GENOME, "reads.fq.gz": READS}
    return {
        "pipelines": start,
        "mem": start | {"genome.fa.gz": GENOME, "reads.fa": _fasta(_lines_of(reads))},
        "pairs": {
            "ref.fa.gz": GENOME, "reads.fq": reads, "R1.fq.gz": mates[0], "R2.fq.gz": mates[1],
            "both.fq": both, "lane1_R1.fq": one[0], "lane1_R2.fq": one[1],
            "lane2_R1.fq": two[0], "lane2_R2.fq": two[1],
        },
        "align": {"genes.fa": _fasta(_genes("a", 20)), "other.fa": _fasta(_genes("b", 10))},
        "count": _counting(),
        "python": {
            "genome.fa": ">chr1\nTTGATTACATT\n>chr2\nACGTNNTGTAATCA\n",
            "plasmid.fa": ">plasmid\nCCGATTACACC\n",
            "reads.fq": "".join(
                f"@guide{i}\n{letters}\n+\n{len(letters) * 'I'}\n"
                for i, letters in enumerate(("GATTACA", "ACGTACGT", "ACGT"), 1)
            ),
            "guides.csv": "id,sequence,gene\ng1,GATTACA,A\ng2,ACGTACGT,B\ng3,CCCCCCC,B\n",
        },
    }  # fmt: skip


def write(folder: Path) -> None:
    """Write all files, and those of the pages of strains and of contamination."""
    for page, files in pages().items():
        place = folder / page
        place.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            is_packed = name.endswith(".gz") and isinstance(content, str)
            (place / name).write_bytes(gzip.compress(data) if is_packed else data)
    (folder / "strains").mkdir(exist_ok=True)
    runpy.run_path(str(ROOT / "tests/strains.py"))["write"](folder / "strains")
    (folder / "contamination").mkdir(exist_ok=True)
    (folder / "contamination" / "reads.fq").write_bytes((folder / "strains" / "reads.fq").read_bytes())
    (folder / "contamination" / "lambda.fa.gz").write_bytes(GENOME)


def _counting() -> Mapping[str, str | bytes]:
    """Return the files of the page of guides; each pair of guides is guide 2i and guide 2i + 1."""
    names = ("day0_L1.fq.gz", "day0_L2.fq.gz", "day14.fq.gz")
    pairs = list(zip(GUIDES[::2], GUIDES[1::2], strict=True))
    table = [f"{a[0]}_{b[0]},{a[1]},{b[1]},{a[2]}\n" for a, b in pairs]
    files: dict[str, str | bytes] = dict.fromkeys((*names, "R1.fq.gz"), GUIDE_READS)
    for day in ("day0", "day14"):
        drawn = random.Random(day).choices(pairs, k=1000)
        mates = [(f"CACCG{a[1]}GTTT", f"CCTT{_reverse(b[1])}AAGG") for a, b in drawn]
        files[f"{day}_R1.fq.gz"], files[f"{day}_R2.fq.gz"] = _fastq(mates)
    head = "sgRNA Sequence\tAnnotated Gene Symbol\tAnnotated Gene ID\n"
    return files | {
        "library.txt": (ROOT / "tests/data/guides.txt").read_text(),
        "barcodes.fa": _fasta(guide[:2] for guide in GUIDES),
        "addgene.txt": head + "".join(f"{x}\t{gene}\t{i}\n" for i, (_, x, gene) in enumerate(GUIDES, 1)),
        "plain.csv": "".join(f"{gene},{name},{x}\n" for name, x, gene in GUIDES),
        "pairs.csv": "id,sequence1,sequence2,gene\n" + "".join(table),
        "screen.csv": "sample,reads\nday0,day0_L1.fq.gz\nday0,day0_L2.fq.gz\nday14,day14.fq.gz\n",
    }


def _mates(starts: range) -> list[tuple[str, str]]:
    """Return both mates of pairs of 50 bases, 300 bases from end to end."""
    return [(LAMBDA[at : at + 50], _reverse(LAMBDA[at + 250 : at + 300])) for at in starts]


def _genes(name: str, n: int) -> list[tuple[str, str]]:
    """Return n copies of 600 bases of the genome, each with up to 30 substitutions."""
    rng, genes = random.Random(name), []
    for i in range(n):
        letters = list(LAMBDA[:600])
        for at in rng.sample(range(600), rng.randrange(31)):
            letters[at] = rng.choice("ACGT".replace(letters[at], ""))
        genes.append((f"{name}{i}", "".join(letters)))
    return genes


def _reverse(letters: str) -> str:
    return letters[::-1].translate(str.maketrans("ACGT", "TGCA"))


def _lines_of(fastq: str) -> list[tuple[str, str]]:
    lines = fastq.splitlines()
    return list(zip((name[1:] for name in lines[::4]), lines[1::4], strict=True))


def _fasta(records) -> str:
    return "".join(f">{name}\n{letters}\n" for name, letters in records)


def _fastq(mates, prefix="p") -> list[str]:
    """Return the texts of two files of mates."""
    return [
        "".join(f"@{prefix}{i}\n{letters}\n+\n{len(letters) * 'I'}\n" for i, letters in enumerate(file))
        for file in zip(*mates, strict=True)
    ]


if __name__ == "__main__":
    write(Path(sys.argv[1]))
