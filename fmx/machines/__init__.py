"""Who works: cores and threads, GPUs, jobs done by either, progress."""
