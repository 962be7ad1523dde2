"""fmx bench: this machine measured, and fmx beside other tools and the papers.

mapping, count, dask, cluster    whole commands, beside other mappers and counters, and on clusters
search, mem, pairwise            stages by themselves on the CPU, and matching on GPUs
gpu, sparse                      experiments on a GPU: designs, gpu_index and pairwise_gpu do them
papers/                          the papers' figures beside what was measured
options, files, patterns         what they share: options and tables, inputs, patterns of a text
figures                          tables drawn
paper_kernels                    kernels of the papers that fmx pairwise does not take

To add a command: a function in one of the files, and its line in COMMANDS.
"""

COMMANDS = {  # name: file of this room, and function in it
    "cluster": "cluster.cluster_command",
    "count": "count.count_command",
    "dask": "dask.dask_command",
    "gpu": "gpu.gpu_command",
    "gpus": "gpu.gpus_command",
    "index": "gpu.index_command",
    "library": "mapping.library_command",
    "map": "mapping.map_command",
    "mem": "mem.mem_command",
    "modes": "mapping.modes_command",
    "pairs": "mapping.pairs_command",
    "pairwise": "pairwise.pairwise_command",
    "papers": "papers.page.papers_command",
    "roofline": "gpu.roofline_command",
    "search": "search.search_command",
    "sparse": "sparse.sparse_command",
    "stages": "mapping.stages_command",
    "verify": "gpu.verify_command",
}
