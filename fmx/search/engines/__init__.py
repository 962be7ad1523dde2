"""Engines: how a search is spread over threads.

cpu.py has ``search(query, patterns) -> Intervals``. cuda.py, whose import needs CUDA, has ``prepare(name,
query)``, which returns a gpu_search.Launch.
"""

CUDA = (  # GPU engines
    *("cuda_task-naive", "cuda_task-naive16", "cuda_task-improved", "cuda_memory", "cuda_full"),
    *(f"cuda_full-{size}" for size in (2, 4, 8, 16)),
)
