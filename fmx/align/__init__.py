"""Global alignment of many pairs of sequences (Needleman-Wunsch, linear gaps).

    sequences.py   FASTA -> codes in memory          scoring.py  scores and their normal form
    bounds.py      what an identity asks of a pair   bounds.py   a cheap distance that rules pairs out
    lanes.py       scores, 32 pairs at a time        band.py     one pair: score and trace-back
    jobs.py        what is to be done, in chunks     worker.py   chunks -> records, step by step
    records.py     alignments as arrays              records.py   records -> TSV, PAF, matrix
    journey.py     from files to a file              cuda/       the same scores on a GPU

This house knows nothing of the index.
"""
