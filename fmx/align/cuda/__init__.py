"""Scores on a GPU: the fastest kernel of Truong et al. 2014 and its packed successor, on one cell and batch.

The paper's other three, which write whole matrices, are measured by fmx bench pairwise (bench/kit).

kernels.py     LazyRScan-mNW      a thread a pair, one row shared              last columns only
kernels.py   LazyRScan, 16 bit  a thread two pairs, the row in registers     last columns only
kernels.py    what they compute on          worker.py  a GPU as one of the workers
"""
