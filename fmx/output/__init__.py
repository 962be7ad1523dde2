"""How results are written: one file a format.

A format is a writer: ``format(batch, hits, start, first_hit, last_hit)`` gives the bytes of some records,
made in compiled code, and ``end()`` what stands after the last one.
"""
