"""The four kernels of Truong et al. 2014 and their packed successor, on one cell and one batch.

tiled.py    TiledDScan-mNW     tiles of k x k, a launch a strip of tiles    writes the matrix
dscan.py    DScan-mNW          a block a pair, three diagonals shared       writes the matrix
rscan.py    RScan-mNW          a thread a pair, two rows shared             writes the matrix
lazy.py     LazyRScan-mNW      a thread a pair, one row shared              last columns only
packed.py   LazyRScan, 16 bit  a thread two pairs, the row in registers     last columns only
batch.py    what they compute on          worker.py  a GPU as one of the workers
"""
