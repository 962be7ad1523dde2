"""fmx count: how often each guide of a library occurs in the reads of samples."""
