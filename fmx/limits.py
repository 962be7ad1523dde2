"""Limits of numbers and names, shared by command-line options and library arguments."""

from typing import Literal, get_args

THREADS = 1, 1024
COUNT = 1, 2**62  # of hits, reads, occurrences; fits in compiled code
ALL = 2**60  # a number of hits that is no limit; twice as many fit into an int64, too
SEED = 0, 2**62
LENGTH = 1, 2**31  # of a match, or a product
INSERT = 0, 2**31 - 1
MISMATCHES = 0, 2
SITE_MISMATCHES, PAM = (0, 4), (1, 64)  # of guides; bases of a PAM
STRETCH, USUAL_STRETCH = (16, 2**20), 31  # bases of --min-match
SA_RATE = 1, 4096
PREFIX_LENGTH = 4, 15
SCORE = -(2**31 // 3), 2**31 // 3
SHARE = 0, 1
IDENTITIES = 0, 4  # definitions of identity

Processor = Literal["cpu", "cuda", "auto"]
PairwiseProcessor = Literal["cpu", "cuda", "auto", "both"]
Method = Literal["auto", "verify", "backward", "sparse"]
PROCESSORS: tuple[str, ...] = get_args(Processor)
PAIRWISE_PROCESSORS: tuple[str, ...] = get_args(PairwiseProcessor)
METHODS: tuple[str, ...] = get_args(Method)
GPU_ENGINES = (  # search/gpu/engines.py
    *("cuda_task-naive", "cuda_task-naive16", "cuda_task-improved", "cuda_memory", "cuda_full"),
    *(f"cuda_full-{size}" for size in (2, 4, 8, 16)),
)
