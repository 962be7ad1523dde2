"""Global alignment of many pairs of sequences (Needleman-Wunsch, linear gaps).

    sequences.py   FASTA -> codes in memory; scores and their normal form
    bounds.py      what an identity requires of a pair; a cheap distance that excludes pairs
    band.py        one pair: score and trace-back
    jobs.py        chunks of pairs, the steps from a chunk to records, 32 scores at a time
    gpu.py         scores on a GPU
    pipeline.py    from input files to the output file

This package does not use the index.
"""
