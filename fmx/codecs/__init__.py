"""Compressed bytes: gzip, BGZF, zstd, xz and bzip2, inflated and deflated on the CPU and on GPUs."""
