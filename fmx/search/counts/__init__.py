"""Tables of reads per contig, group, or combination of groups."""
