"""The workers: threads on CPU cores, GPUs, jobs that run on either, and progress reports."""
