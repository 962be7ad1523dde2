"""LLVM, which loads and makes machine code, and room for it: it aborts the process where memory ends."""

import os
import resource

from ..errors import FmxError

MB = 1 << 20
# Address space that is taken by LLVM, by the code of a function, and by numba when it compiles one.
LLVM, CODE, COMPILING = 200 * MB, 32 * MB, 160 * MB


def need_room(size: int) -> None:
    """Raise FmxError where a limit of this process (ulimit -v) leaves less address space than that."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    try:
        with open("/proc/self/statm") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:  # only Linux tells
        return
    if limit - used < size:
        raise FmxError(
            f"out of memory: {(used + size) // MB:,} MB of address space are needed here, {limit // MB:,} MB "
            "are allowed: allow more by 'ulimit -v'"
        )


need_room(LLVM)

import llvmlite.binding as llvm  # noqa: E402

__all__ = ["LEVELS", "levels", "llvm", "need_room", "new_target", "processor"]


# What compilers call x86-64-v3 and -v4: processors since 2013 (AVX2), and with AVX-512.
_V3 = "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4 = f"{_V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
LEVELS = {"x86-64-v4": _V4, "x86-64-v3": _V3}  # NUMBA_CPU_NAME: NUMBA_CPU_FEATURES; the most able first


def levels() -> list:
    """Processors, as ``processor`` says it, whose code this one runs, too; the most able first."""
    if "NUMBA_CPU_NAME" in os.environ or not llvm.get_process_triple().startswith("x86_64"):
        return []
    host = llvm.get_host_cpu_features()
    return [_name(*level) for level in LEVELS.items() if all(host.get(f[1:]) for f in level[1].split(","))]


def processor() -> str:
    """What the code is compiled for, as numba sees it."""
    name = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES") or llvm.get_host_cpu_features().flatten()
    return _name(name, features)


def _name(name: str, features: str) -> str:
    return f"{llvm.get_process_triple()} {name} {features}"


def new_target():
    """An engine owns its target."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine()
