"""How far numba-cuda-mlir, the announced successor of numba-cuda, compiles the kernels of fmx.

python -m tests.mlir_trial [--keep FOLDER] [KERNEL ...]: a line for each kernel, with what both compilers make
of it, in an environment with fmx[cuda13], numba-cuda-mlir[cu13] 0.6 and the tests; no GPU is needed.  --keep
writes the machine code of both, which tests.mlir_launch runs on a GPU.  What compiler/numba_cuda.py is for
numba-cuda is here for its successor, with the primitives that kernels call.
"""

import argparse
import ast
import builtins
import functools
import inspect
import pickle
import re
import sys
import textwrap
import time
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numba_cuda_mlir.tools
import numpy as np

CAPABILITY = (9, 0)
numba_cuda_mlir.tools.get_gpu_compute_capability = lambda kind=tuple: CAPABILITY  # it would ask a GPU

from cuda.core import Linker, LinkerOptions, ObjectCode  # noqa: E402
from numba_cuda_mlir import cuda, extending, types  # noqa: E402
from numba_cuda_mlir._mlir import ir  # noqa: E402
from numba_cuda_mlir._mlir.dialects import llvm  # noqa: E402
from numba_cuda_mlir.lowering_utilities import llvm_ptr_add_bytes, memref_data_pointer  # noqa: E402
from numba_cuda_mlir.numba_cuda.np.numpy_support import from_dtype  # noqa: E402
from numba_cuda_mlir.numba_cuda.typing.typeof import typeof  # noqa: E402

from fmx.compiler import numba_cuda  # noqa: E402
from fmx.compiler.kernels import kinds_of  # noqa: E402
from fmx.compiler.piece import (  # noqa: E402
    Contract,
    Module,
    Piece,
)

# Pieces.  numba-cuda looks at the type alone of what a kernel calls, so that a Piece may stand for it;
# numba-cuda-mlir looks at the value, so that functions are rewritten to name what it knows.


@functools.cache
def rewritten(function: Any) -> Any:
    """A function whose globals and closure hold numba-cuda-mlir's things in place of numba-cuda's."""
    code = _without_ord(function) if "ord" in function.__code__.co_names else function.__code__
    names = set(_names(code))
    held = {key: _theirs(value, names) for key, value in function.__globals__.items() if key in names}
    cells = tuple(CellType(_theirs(cell.cell_contents, names)) for cell in function.__closure__ or ())
    held["__builtins__"], held["__name__"] = builtins, function.__module__
    made = FunctionType(code, held, function.__name__, function.__defaults__, cells or None)
    made.__qualname__, made.__kwdefaults__ = function.__qualname__, function.__kwdefaults__
    return made


class _Constants(ast.NodeTransformer):
    """``ord("A")`` as a number: numba-cuda-mlir 0.6 has no ord of a constant."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_ord = isinstance(node.func, ast.Name) and node.func.id == "ord"
        return ast.Constant(eval(ast.unparse(node))) if is_ord else self.generic_visit(node)


def _without_ord(function: Any) -> CodeType:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list.clear()
    module = compile(ast.fix_missing_locations(_Constants().visit(tree)), inspect.getfile(function), "exec")
    return next(value for value in module.co_consts if isinstance(value, CodeType))


def _names(code: CodeType) -> list:
    nested = [name for value in code.co_consts if isinstance(value, CodeType) for name in _names(value)]
    return [*code.co_names, *nested]


def _theirs(value: Any, names: set) -> Any:
    if isinstance(value, Module):
        return cuda
    if isinstance(value, Piece):
        return made(value)
    if isinstance(value, type) and hasattr(value, "_fields"):
        _let_kernels_make(value)
    if isinstance(value, FunctionType) and value.__module__.startswith("fmx."):
        return rewritten(value)
    if isinstance(value, ModuleType) and value.__name__.startswith("fmx."):
        stand_in = ModuleType(value.__name__)
        vars(stand_in).update({k: _theirs(v, names) for k, v in vars(value).items() if k in names})
        return stand_in
    return value


@functools.cache
def _let_kernels_make(cls: type) -> None:
    """NamedTuples are typed as in numba-cuda; to make one in a kernel is not lowered by itself."""

    @extending.lower_builtin(cls, types.VarArg(types.Any))
    def make(lower, target, arguments, named):
        given = dict(zip(cls._fields, arguments, strict=False), **dict(named or ()))
        lower.store_var(target, tuple(lower.load_var(given[field]) for field in cls._fields))

    extending.refresh_registries(typing=False)


@functools.cache
def made(piece: Piece) -> Any:
    """What stands for a piece in numba-cuda-mlir."""
    if isinstance(piece, Contract):
        return _choice(piece)
    if "primitive" in piece.way:
        return PRIMITIVES[piece.function.__name__]
    return cuda.jit(device=True, forceinline=True)(rewritten(piece.function))


def _choice(contract: Contract) -> Any:
    def dispatch(first, *rest):
        """Its body is an overload."""

    registry = extending.typing_registry

    @extending.overload(dispatch, {"forceinline": True}, strict=False, typing_registry=registry)
    def choose(first, *rest):
        body = contract.bodies.get(getattr(first, "instance_class", None), contract.default)
        return rewritten(getattr(body, "function", body))

    return dispatch


# Primitives.  Those that touch an array emit MLIR, others are Python that numba-cuda-mlir compiles.

PRIMITIVES: dict = {}


def written(function: Any) -> Any:
    """A primitive in Python."""
    PRIMITIVES[function.__name__] = cuda.jit(device=True, forceinline=True)(function)
    return function


def emitted(signature: Any) -> Any:
    """A primitive in MLIR: ``emit(*values)``, where an array is the pointer to its elements."""

    def make(emit):
        @functools.wraps(emit)
        def definition(typing, *kinds):
            def generate(lower, target, arguments, named):
                values = []
                for kind, argument in zip(kinds, arguments, strict=True):
                    value = lower.load_var(argument)
                    if isinstance(kind, types.Array):
                        values.append(memref_data_pointer(value))
                    else:
                        wanted = signature(*kinds).args[len(values)]
                        values.append(lower.mlir_convert(value, lower.get_mlir_type(wanted)))
                lower.store_var(target, emit(*values))

            return signature(*kinds), generate

        definition.__wrapped__ = emit
        names = list(inspect.signature(emit).parameters)
        given = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ["typing", *names]]
        definition.__signature__ = inspect.Signature(given)
        PRIMITIVES[emit.__name__] = extending.intrinsic(definition)
        return emit

    return make


@written
def popcount(x):
    return np.int64(cuda.popc(np.uint64(x)))


@written
def leading_zeros(x):
    return np.int64(cuda.clz(np.uint64(x)))


@written
def trailing_zeros(x):
    return np.int64(cuda.clz(cuda.brev(np.uint64(x))))


@written
def prefetch(array, i):
    pass


@written
def copy_bytes(target, i, source, j, n):
    for at in range(n):
        target[i + at] = source[j + at]


@written
def find_byte(data, byte, start, stop):
    for at in range(start, stop):
        if data[at] == byte:
            return at
    return np.int64(-1)


def _i64(n: int) -> ir.Value:
    return llvm.mlir_constant(ir.IntegerAttr.get(_word(), n))


def _at(data: Any, i: Any, size: int) -> Any:
    return llvm_ptr_add_bytes(data, llvm.mul(i, _i64(size), ir.Attribute.parse("#llvm.overflow<none>")))


def _word():
    return ir.IntegerType.get_signless(64)


@emitted(lambda data, i: types.uint64(data, types.int64))
def load_little_endian(data, i):
    return llvm.load(res=_word(), addr=llvm_ptr_add_bytes(data, i), alignment=1)


def _assembly(result, text, constraints, *values, **how):
    return llvm.inline_asm(result, list(values), text, constraints, **how)


def _bits(n, bits, register):
    kind, none = ir.IntegerType.get_signless(bits), ir.IntegerType.get_signless(32)
    all_ones = llvm.mlir_constant(ir.IntegerAttr.get(kind, -1))
    shift = llvm.intr_smax(n, llvm.mlir_constant(ir.IntegerAttr.get(none, 0)))
    return _assembly(kind, f"shl.b{bits} $0, $1, $2;", f"={register},{register},r", all_ones, shift)


@emitted(lambda n: types.uint64(types.int32))
def bits_from(n):
    return _bits(n, 64, "l")


@emitted(lambda n: types.uint32(types.int32))
def bits_from32(n):
    return _bits(n, 32, "r")


@emitted(lambda: types.void())
def trap():
    _assembly(None, "trap;", "", has_side_effects=True)


def _packed(text, *words):
    """PTX of words (uint32) and for one."""
    return _assembly(ir.IntegerType.get_signless(32), text, ",".join(["=r"] + ["r"] * len(words)), *words)


@emitted(lambda x, y: types.uint32(types.uint32, types.uint32))
def max_u16x2(x, y):
    return _packed("max.u16x2 $0, $1, $2;", x, y)


@emitted(lambda x, y, z: types.uint32(types.uint32, types.uint32, types.uint32))
def add_max_u16x2(x, y, z):
    return _packed("{ .reg .b32 t; add.u16x2 t, $1, $2; max.u16x2 $0, t, $3; }", x, y, z)


@emitted(lambda low, high, selector: types.uint32(types.uint32, types.uint32, types.uint32))
def permute_bytes(low, high, selector):
    return _packed("prmt.b32 $0, $1, $2, $3;", low, high, selector)


@emitted(lambda x: types.uint64(types.uint64))
def swap_bytes(x):
    swap = "{ .reg .b32 a, b; mov.b64 {a, b}, $1; prmt.b32 a, a, 0, 0x0123; prmt.b32 b, b, 0, 0x0123; "
    return _assembly(_word(), swap + "mov.b64 $0, {b, a}; }", "=l,l", x)  # its translator knows no bswap


@emitted(lambda data, i: types.uint64(data, types.int64))
def load_big_endian(data, i):
    return swap_bytes(llvm.load(res=_word(), addr=llvm_ptr_add_bytes(data, i), alignment=1))


def _pair():
    return ir.VectorType.get([2], _word())


@emitted(lambda words, i: types.UniTuple(types.uint64, 2)(words, types.int64))
def load_unit(words, i):
    loaded = llvm.load(res=_pair(), addr=_at(words, i, 8), alignment=16)
    return tuple(llvm.extractelement(loaded, _i64(half)) for half in range(2))


@emitted(lambda words, i: types.UniTuple(types.uint64, 2)(words, types.int64))
def load_unit_narrow(words, i):
    part = ir.IntegerType.get_signless(32)
    first = _at(words, i, 8)
    quarters = [
        llvm.load(res=part, addr=llvm_ptr_add_bytes(first, _i64(4 * p)), alignment=4) for p in range(4)
    ]
    wide = [llvm.zext(_word(), quarter) for quarter in quarters]
    none = ir.Attribute.parse("#llvm.overflow<none>")
    return tuple(
        llvm.or_(low, llvm.shl(high, _i64(32), none)) for low, high in zip(wide[::2], wide[1::2], strict=True)
    )


@emitted(lambda words, i, a, b: types.void(words, types.int64, types.uint64, types.uint64))
def store_unit(words, i, a, b):
    pair = llvm.mlir_undef(_pair())
    pair = llvm.insertelement(llvm.insertelement(pair, a, _i64(0)), b, _i64(1))
    llvm.store(pair, _at(words, i, 8), alignment=16)


_big_endian = PRIMITIVES["load_big_endian"]


@cuda.jit(device=True, forceinline=True)
def _eight(data, i):
    x = (_big_endian(data, i) >> np.uint64(1)) & np.uint64(0x0303030303030303)
    x = (x | x >> np.uint64(6)) & np.uint64(0x000F000F000F000F)
    x = (x | x >> np.uint64(12)) & np.uint64(0x000000FF000000FF)
    return (x | x >> np.uint64(24)) & np.uint64(0xFFFF)


@written
def load_two_bits(data, i):
    high = _eight(data, i) << np.uint64(48) | _eight(data, i + 8) << np.uint64(32)
    return high | _eight(data, i + 16) << np.uint64(16) | _eight(data, i + 24)


# Kernels by either compiler.


def _type_of(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return types.Array(from_dtype(value.dtype), value.ndim, "C")
    if isinstance(value, tuple):
        return types.BaseTuple.from_types([_type_of(item) for item in value], type(value))
    return typeof(value)


def mlir_ptx(function: Any, arguments: tuple) -> str:
    """The PTX of a kernel by numba-cuda-mlir."""
    extending.refresh_registries()
    return cuda.compile_ptx(rewritten(function), types.void(*map(_type_of, arguments)), cc=CAPABILITY)[0]


def assembled(ptx: str, max_registers: int | None) -> tuple:
    """(symbol, cubin, what the assembler says) of PTX."""
    (symbol,) = re.findall(r"\.entry\s+(\w+)", ptx)
    options = LinkerOptions(
        arch="sm_{}{}".format(*CAPABILITY), max_register_count=max_registers, verbose=True
    )
    linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
    code = bytes(linker.link("cubin").code)
    return symbol, code, linker.get_info_log()


COMPILERS = {
    "numba-cuda": lambda function, arguments: numba_cuda.ptx(function, kinds_of(arguments), CAPABILITY),
    "numba-cuda-mlir": mlir_ptx,
}


def kernels() -> dict:
    """{name: (kernel, arguments)}: those of the tests that look at PTX."""
    for room in ("search", "mem", "align", "index"):
        sys.path.append(str(Path(__file__).with_name(room)))
    import test_build_ptx
    import test_cuda_ptx
    import test_kernels
    import test_mem_cuda
    import test_near_ptx
    import test_road_ptx

    from fmx.index.contracts import on_device
    from fmx.index.positions import FullSA
    from fmx.index.reference import make_blocks
    from fmx.index.seed_table import SeedTable
    from fmx.machines.gpu_jobs import do_kernel
    from fmx.mem import seeds_gpu
    from fmx.search import engines
    from fmx.search.gpu.gpu_parts import locate_kernel
    from fmx.search.queries.verify import Verify

    search, near, build = test_cuda_ptx, test_near_ptx, test_build_ptx
    found = dict(test_road_ptx.KERNELS) | test_kernels.signatures()
    for name, given in test_mem_cuda.arguments().items():
        found[f"mem {name}"] = getattr(seeds_gpu, name), given
    found["near"] = near.compare_kernel, (near.TEXT, near.SOUGHT, near.ROWS, near.NUMBERS, 0, near.NUMBERS)
    block = np.zeros(1, np.int64)
    blocks = make_blocks(block, block, block, np.array([9], np.int64))
    seeded = on_device(Verify(search.PREFIX, SeedTable(near.ROWS, 5), near.ROWS, near.WORDS, blocks))
    queries = {
        "seed-and-verify": ("cuda_task-naive16", seeded),
        "sampled backward search": ("cuda_task-improved", search.QUERIES["sampled-k1-d64"]),
        "bit-vector backward search": ("cuda_full", search.QUERIES["bvsfm-k2-d224"]),
    }
    for name, (engine, query) in queries.items():
        launch = engines.prepare(engine, query)
        found[name] = launch.kernel, (*launch.arguments, query, search.PATTERNS, search.INTERVALS)
    layout = search.QUERIES["bvsfm-k2-d96"].layout
    rows, numbers = near.ROWS, near.NUMBERS
    found["locate"] = locate_kernel, (FullSA(rows), layout, rows, numbers, 0, numbers)
    for job in build.JOBS:
        found[f"{type(job).__name__} {type(job[0]).__name__}"] = do_kernel, (job, build.ZERO, build.ZERO)
    return found


def cases() -> dict:
    """{name: (kernel, arguments, blocks, threads of a block, shared memory, expected)}: work for a GPU.

    A text of a million random bases, and strings of 100 of it, which occur once each.
    """
    from fmx.index import layouts
    from fmx.index.contracts import on_device
    from fmx.index.positions import FullSA
    from fmx.index.prefix_table import build_prefix_table
    from fmx.index.reference import make_blocks
    from fmx.index.seed_table import SeedTable, first_rows
    from fmx.input.dna import pack_text
    from fmx.input.reads import Patterns
    from fmx.machines.jobs import ONE_CORE
    from fmx.search import engines
    from fmx.search.gpu.gpu_parts import locate_kernel
    from fmx.search.hits import Intervals
    from fmx.search.queries.exact import Exact
    from fmx.search.queries.verify import Verify

    n, m, n_patterns = 1_000_000, 100, 200_000
    random = np.random.default_rng(1)
    codes = np.append(random.integers(1, 5, n), 0).astype(np.uint8)
    padded = np.append(codes, np.zeros(64, np.uint8)).astype(np.uint64)
    keys = [np.zeros(n + 1, np.uint64) for _ in range(2)]
    for i in range(42):
        keys[i // 21] = keys[i // 21] * np.uint64(8) + padded[i : i + n + 1]
    sa = np.lexsort(keys[::-1]).astype(np.uint32)
    at = random.integers(0, n - m, n_patterns)
    rows = np.empty(n + 1, np.uint32)
    rows[sa] = np.arange(n + 1, dtype=np.uint32)
    sevens = np.pad(codes[at[:, None] + np.arange(m)].astype(np.uint64) - np.uint64(1), ((0, 0), (0, 28)))
    shifts = np.uint64(62) - np.uint64(2) * np.arange(32, dtype=np.uint64)
    words = (sevens.reshape(n_patterns, 4, 32) << shifts).sum(axis=2, dtype=np.uint64).ravel()
    first, length = np.arange(0, 4 * n_patterns, 4), np.full(n_patterns, m)
    patterns = Patterns(np.append(words, np.uint64(0)), first, length)
    intervals = Intervals(*(np.zeros(n_patterns, np.uint32) for _ in range(2)))
    lo = rows[at]
    prefix, zero = build_prefix_table(codes, 8), np.zeros(1, np.int64)
    blocks = make_blocks(zero, zero, zero, np.array([n]))
    seeds = SeedTable(first_rows(ONE_CORE, codes, sa, 9), 9)
    build = {name: layouts.REGISTRY[name.family].build for name in layouts.all_names()}
    named = {str(name): name for name in build}

    def exact(name):
        parts = named[name]
        return Exact(prefix, build[parts](codes, sa, parts.k, parts.d))

    queries = {
        "seed-and-verify": (
            "cuda_task-naive16",
            on_device(Verify(prefix, seeds, sa, pack_text(codes), blocks)),
        ),
        "sampled backward search": ("cuda_task-improved", exact("sampled-k1-d64")),
        "bit-vector backward search": ("cuda_full", exact("bvsfm-k2-d224")),
    }
    found = {}
    for name, (engine, query) in queries.items():
        launch = engines.prepare(engine, query)
        block, n_threads = launch.n_threads, n_patterns * launch.threads_per_pattern
        how = -(-n_threads // block), block, launch.warp_bytes * block // 32
        arguments = (*launch.arguments, on_device(query), patterns, intervals)
        found[name] = launch.kernel, arguments, *how, [lo, lo + np.uint32(1)]
    positions, totals = np.zeros(n_patterns, np.int64), np.arange(n_patterns + 1)
    arguments = FullSA(sa), FullSA(sa), lo, totals, 0, positions
    found["locate"] = locate_kernel, arguments, -(-n_patterns // 256), 256, 0, [at]
    return found


def main() -> None:
    """Print the table, or write what a GPU is to run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write work for tests.mlir_launch")
    parser.add_argument("names", nargs="*", metavar="KERNEL")
    given = parser.parse_args()
    known = cases() if given.keep else kernels()
    kept = []
    print("kernel", "compiler", "seconds", "registers", "stack", "spilled", "lines of PTX", sep="\t")
    for name in given.names or known:
        kernel, arguments, *how = known[name]
        for compiler, make in COMPILERS.items():
            start = time.perf_counter()
            try:
                ptx = make(kernel.function, arguments)
                seconds = time.perf_counter() - start
                symbol, code, said = assembled(ptx, kernel.max_registers)
            except Exception as error:
                print(name, compiler, f"{type(error).__name__}: {_brief(error)}", sep="\t", flush=True)
                continue
            sizes = [max(map(int, re.findall(form, said))) for form in FORMS]
            print(name, compiler, f"{seconds:.1f}", *sizes, ptx.count("\n"), sep="\t", flush=True)
            kept.append((name, compiler, symbol, code, list(_leaves(arguments)), *how))
    if given.keep:
        given.keep.write_bytes(pickle.dumps(kept))


FORMS = r"Used (\d+) registers", r"(\d+) bytes stack", r"(\d+) bytes spill"


def _brief(error: Exception) -> str:
    lines = [line.strip() for line in re.sub(r"\x1b\[\d*m", "", str(error)).splitlines()]
    return " ".join(line for line in lines if line)[:300]


def _leaves(value: Any) -> Any:
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


if __name__ == "__main__":
    main()
