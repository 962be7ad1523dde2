"""The doors to the compiler: what is compiled, for the CPU and for GPUs, and where machine code is kept."""
