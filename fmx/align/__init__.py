"""Global alignment of many pairs of sequences (Needleman-Wunsch, linear gaps).

    sequences.py   FASTA -> codes in memory; scores and their normal form
    bounds.py      what an identity asks of a pair; a cheap distance that rules pairs out
    band.py        one pair: score and trace-back
    jobs.py        what is to be done, in chunks, and the steps from a chunk to records; 32 scores at a time
    records.py     alignments as arrays, records -> TSV, PAF, matrix
    gpu.py         scores on a GPU
    journey.py     from files to a file

This room knows nothing of the index.
"""
