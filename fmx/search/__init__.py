"""Search: what happens to a read, from bytes to records.

    parse    a span of bytes -> ReadBatch, or two of mates 1 and mates 2 (input/reads.py, input/mates.py)
    search   ReadBatch -> ReadRun: reads and their candidates, which a finder yields in runs of limited size
               find.py        exact occurrences, as rows of a suffix array: queries/backward.py, verify.py
               sparse.py      exact occurrences by a sparse suffix array: queries/sparse.py
               near.py        near matches: words (queries/near_words.py), then comparison with the text
    choose   candidates -> which are reported, by -k, -a, -m, --strata and --seed
               hits.py        Hits of reads
               pairs.py       PairHits: proper pairs, or else hits of each mate
    write    Hits -> bytes of records (output/hits.py)

A Mapper (mapper.py) takes these steps with a span, in any thread; a GpuMapper (gpu/gpu_mapper.py) takes them
on a GPU, and chooses with the same functions. mappers.py makes mappers and maps all spans; mapping.py has the
options. summary.py and counts.py (by contig and group) count reads by the same candidates. collapse.py joins
equal reads before they are mapped; products.py joins hits of primers to products of PCR.
"""
