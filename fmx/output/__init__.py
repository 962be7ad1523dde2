"""How results are written: one file a format.

To add a format: write its file and add it to FORMATS (docs/adding.md).  ``open_writer(reference, output,
sam_header)`` of the file gives a writer and the bytes before the first record; ``output`` is workflow.Output,
``sam_header()`` gives the bytes of SAM's header.

A writer: ``format(batch, hits, start, first_hit, last_hit)`` gives the bytes of some records, made in
compiled code, and ``end()`` what stands after the last one; ``is_sam`` if reads must keep SAM's rules.
"""

FORMATS = {
    "tsv": "fmx.output.table",
    "bed": "fmx.output.table",
    "sam": "fmx.output.sam",
    "bam": "fmx.output.bam",
}
