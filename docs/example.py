"""Library use in a few lines; the tests run this file."""

import sys
from pathlib import Path

import fmx

folder = Path(sys.argv[1])
(folder / "genome.fa").write_text(">chr1\nTTGATTACATT\n>chr2\nACGTNNTGTAATCA\n")

index = fmx.build(folder / "genome.fa", folder / "genome.fmx")
hits = index.locate({"probe": "GATTACA", "site": "ACGT", "none": "CCC"})

for hit in hits:
    read, contig = hits.names["read"][hit["read"]], hits.names["contig"][hit["contig"]]
    print(read, contig, hit["position"], "-" if hit["reverse"] else "+", "of", hit["occurrences"])

print(index.count(["GATTACA", "ACGT", "CCC"]))

print(fmx.pairwise(["GATTACA", "GATTTACA", "CCCC"], identity=0.8).tolist())
