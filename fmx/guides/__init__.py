"""fmx count: how often each guide of a library stands in the reads of samples."""
