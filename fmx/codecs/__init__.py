"""Compression: gzip, BGZF, zstd, xz and bzip2, on the CPU and on GPUs."""
