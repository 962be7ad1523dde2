"""Ten strains of phage lambda, made up but always alike: python tests/strains.py FOLDER writes them.

Strain 0 is the phage.  Each other one has substitutions of its own, lacks a stretch, and strains of an even
number carry the same cassette.  reads.fq has 1,000 reads of strain 4, 500 of strain 7, and 100 of nothing;
genes.fa the beginning of the cassette, and what is at the beginning of the phage.
"""

import gzip
import random
import sys
from pathlib import Path

LAMBDA = Path(__file__).parents[1] / "fmx" / "data" / "lambda.fa.gz"
NAMES = [f"strain{i}" for i in range(10)]
CASSETTE = "".join(random.Random("cassette").choices("ACGT", k=800))


def strains() -> dict:
    """{name: letters}."""
    phage = "".join(gzip.decompress(LAMBDA.read_bytes()).decode().split("\n")[1:]).upper()
    found = {NAMES[0]: phage}
    for i, name in enumerate(NAMES[1:], 1):
        rng, letters = random.Random(name), list(phage)
        for at in rng.sample(range(len(letters)), 100 * i):
            letters[at] = rng.choice("ACGT".replace(letters[at], ""))
        start = rng.randrange(4000 * i)
        cut = "".join(letters[:start] + letters[start + 1500 :])
        place = rng.randrange(len(cut))
        found[name] = cut if i % 2 else cut[:place] + CASSETTE + cut[place:]
    return found


def write(folder) -> None:
    """Write each strain in two contigs, whose names are alike in all, every other one compressed."""
    for i, (name, letters) in enumerate(strains().items()):
        middle = len(letters) // 2
        data = f">contig1\n{letters[:middle]}\n>contig2\n{letters[middle:]}\n".encode()
        path = Path(folder) / f"{name}.fa{'.gz' * (i % 2)}"
        path.write_bytes(gzip.compress(data) if i % 2 else data)
    genes = f">cassette\n{CASSETTE[:40]}\n>cos\n{strains()[NAMES[0]][:16]}\n"
    (Path(folder) / "genes.fa").write_text(genes)
    (Path(folder) / "reads.fq").write_text("".join(_reads()))


def _reads():
    rng, letters, n = random.Random("reads"), strains(), 50
    for name, number in (("strain4", 1000), ("strain7", 500), ("nothing", 100)):
        source = letters.get(name) or "".join(rng.choices("ACGT", k=5000))
        for i in range(number):
            start = rng.randrange(len(source) - n)
            yield f"@{name}.{i}\n{source[start : start + n]}\n+\n{n * 'I'}\n"


if __name__ == "__main__":
    write(sys.argv[1])
