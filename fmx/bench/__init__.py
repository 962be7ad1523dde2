"""fmx bench: measurements of this machine, and fmx compared with other tools and the papers.

mapping, count, dask             whole commands, compared with other mappers and counters, and on a cluster
search, mem, pairwise            single stages on the CPU, and matching on GPUs
gpu, sparse                      experiments on a GPU, by designs, gpu_index and pairwise_gpu
options, files, patterns         shared: options and tables, input files, patterns of a text
paper_kernels                    kernels of the papers that fmx pairwise does not use

To add a command: write a function in one of the files, and add a line to COMMANDS.
"""

COMMANDS = {  # name: file of this package, and function in it
    "count": "count.count_command",
    "dask": "dask.dask_command",
    "gpu": "gpu.gpu_command",
    "gpus": "gpu.gpus_command",
    "index": "gpu.index_command",
    "library": "mapping.library_command",
    "map": "mapping.map_command",
    "mem": "mem.mem_command",
    "modes": "mapping.modes_command",
    "pairwise": "pairwise.pairwise_command",
    "roofline": "gpu.roofline_command",
    "search": "search.search_command",
    "sparse": "sparse.sparse_command",
    "verify": "gpu.verify_command",
}
