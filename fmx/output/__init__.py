"""How results are written: one file a format.

A format is a function ``write_*(batch, hits, span, names, ...)`` that turns a batch and its hits into bytes in
compiled code, and a function for what stands before the first record.
"""
