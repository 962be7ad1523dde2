"""Faults put into files of fmx, one at a time, and tests that should see them: ``python -m tests.mutants``.

A mutant is a file with one operator, comparison, constant, condition or statement changed, in a copy of the
tree.  Its tests run there as plain Python, in a process that has imported the packages already.  A mutant
that survives them is a missing test, code that nobody needs, or as right as the original: read its line.
"""

import argparse
import ast
import contextlib
import importlib
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = "tests/output/test_records.py::test_patterns_of_the_command_line_are_their_own_names"
OUTPUT = f"tests/output/test_put.py {TABLE} tests/output/test_tags.py"
QUERIES = "tests/search/test_engines.py"
SAM = (
    "tests/output/test_writer_protocol.py tests/output/test_tags.py tests/output/test_records.py "
    "tests/search/test_pairs.py tests/mem/test_mem_command.py "
    "-k 'gaps or tags or palindromes or fasta or documents or rule1 or all.sam'"
)
SELECTION = (
    "tests/search/test_hits.py tests/search/test_near.py tests/search/test_pairs.py "
    "tests/index/test_parts.py tests/report/test_report.py tests/cli/test_golden.py -k"
)
NEAR = "tests/search/test_near.py tests/search/test_near_sparse.py"
NEAR_PAIRS = "tests/search/test_near_pairs.py"
PAIRS = (
    f"{NEAR_PAIRS} tests/search/test_pairs.py tests/index/test_reference.py tests/search/test_screen.py "
    "tests/report/test_report.py tests/output/test_reads_out.py -k 'counts_are or runs_of or by_strata or "
    "test_pairs and not within or for_pairs or mates_does or inserts or together'"
)
# A file, and the arguments of pytest for tests that hold it: few and quick ones.
TESTS = {
    "fmx/output/put.py": OUTPUT,
    "fmx/output/records.py": f"tests/output/test_writer_protocol.py {OUTPUT}",
    "fmx/output/hits.py": f"tests/output/test_writer_protocol.py {OUTPUT}",
    "fmx/output/formats/sam.py": SAM,
    "fmx/jobs/merge.py": "tests/cluster/test_merge.py",
    "fmx/search/hits.py": f"{SELECTION} 'test_hits or runs_of or library_opens or rule1 or verify-1-drawn'",
    "fmx/search/queries/near.py": (
        f"{NEAR} tests/search/test_ways.py -k 'runs_of or listed or even or all_widths or way or cut'"
    ),
    "fmx/search/queries/sparse.py": (
        "tests/search/test_sparse.py -k 'separators or positions or any_ref or period or start_of'"
    ),
    "fmx/search/queries/exact.py": f"{QUERIES} -k 'steps or naive_ones and period and not verify'",
    "fmx/search/queries/verify.py": (
        f"{QUERIES} -k 'each_form or any_base or places_of or verify and period or 300-5'"
    ),
    "fmx/search/pairs.py": PAIRS,
}
PLAIN = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
PACKAGES = "click numpy hypothesis pytest pysam xxhash"
COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
COMPUTED = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "+", ast.LShift: ">>",
    ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "|",
}  # fmt: skip


class Mutant:
    """A change of bytes ``start`` to ``stop`` of a source, which begin in ``line``."""

    def __init__(self, source: bytes, start: int, stop: int, new: str) -> None:
        self.text = source[:start] + new.encode() + source[stop:]
        self.line = source.count(b"\n", 0, start) + 1
        begin, end = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", stop)
        changed = source[begin:start] + new.encode() + source[stop:end]
        self.old, self.new = (" ".join(text.decode().split()) for text in (source[begin:end], changed))


def mutants(source: bytes) -> Iterator[Mutant]:
    """All mutants of a source that can be compiled."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def begin(node: ast.AST) -> int:
        return starts[node.lineno - 1] + node.col_offset

    def end(node: ast.AST) -> int:
        return starts[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.AST, right: ast.AST, new: str) -> Mutant:
        """The operator between two operands is replaced; brackets around them stay."""
        first, last = end(left), begin(right)
        gap = source[first:last]
        own = gap.strip(b" ()\n\\")
        return Mutant(source, first + gap.index(own), first + gap.index(own) + len(own), new)

    def changes(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.Compare):
            left = [node.left, *node.comparators]
            for i, operator in enumerate(node.ops):
                yield between(left[i], left[i + 1], COMPARED[type(operator)])
        elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
            yield between(node.left, node.right, COMPUTED[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            yield between(node.values[0], node.values[1], "or" if isinstance(node.op, ast.And) else "and")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield Mutant(source, begin(node), begin(node.operand), "")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
            new = str(not node.value) if isinstance(node.value, bool) else str(node.value + 1)
            yield Mutant(source, begin(node), end(node), new)
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and not is_for_types(node.test):
            held = source[begin(node.test) : end(node.test)].decode()
            yield Mutant(source, begin(node.test), end(node.test), f"(not ({held}))")
        elif isinstance(node, ast.Expr | ast.AugAssign) and not isinstance(
            getattr(node, "value", None), ast.Constant
        ):
            yield Mutant(source, begin(node), end(node), "pass")

    tree = ast.parse(source)
    types = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    skipped = {inner for node in types if node for inner in ast.walk(node)}
    skipped |= {x.value for x in ast.walk(tree) if isinstance(x, ast.keyword) and x.arg == "strict"}
    for node in ast.walk(tree):
        for mutant in changes(node) if node not in skipped else ():
            with contextlib.suppress(SyntaxError):
                compile(mutant.text, "mutant", "exec")
                yield mutant


def is_for_types(node: ast.AST) -> bool:
    """Is a condition TYPE_CHECKING, which only a type checker meets?"""
    return isinstance(node, ast.Name) and node.id == "TYPE_CHECKING"


class Unshrunk:
    """A plugin of pytest: a drawn example that fails is enough, the smallest one need not be found."""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")


def passes(folder: Path, tests: str, limit: float) -> bool:
    """Do tests pass in a copy of the tree?  A process that takes ``limit`` seconds does not."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.environ.update(PLAIN)
        os.chdir(folder)
        sys.path[:0] = [str(folder), str(folder / "tests")]
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        code = 1
        with contextlib.suppress(BaseException):
            import pytest

            options = ["-x", "-q", "-p", "no:cacheprovider"]
            for warning in ("RuntimeWarning", "pytest.PytestAssertRewriteWarning"):
                options += ["-W", f"ignore::{warning}"]
            code = pytest.main([*options, *shlex.split(tests)], [Unshrunk()])
        os._exit(int(code))
    deadline = time.monotonic() + limit
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return (done if done[0] else os.waitpid(child, 0))[1] == 0


def survivors(path: str, n: int, seed: str, say: Callable[[str], None]) -> tuple[list, int]:
    """Mutants of a file that its tests do not see, of ``n`` drawn ones, and how many were tried."""
    source = (ROOT / path).read_bytes()
    found = list(mutants(source))
    drawn = random.Random(f"{seed} {path}").sample(found, min(n, len(found)))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("fmx", "tests", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
        start = time.monotonic()
        if not passes(folder, TESTS[path], 600):
            raise SystemExit(f"{path}: its tests fail without a change: {TESTS[path]}")
        limit = 10 + 5 * (time.monotonic() - start)
        left = []
        for mutant in sorted(drawn, key=lambda mutant: mutant.line):
            (folder / path).write_bytes(mutant.text)
            if passes(folder, TESTS[path], limit):
                say(f"{path}:{mutant.line}: {mutant.old}\n    survives as: {mutant.new}")
                left.append(mutant)
    return left, len(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", default=TESTS, help="files of fmx, of those that have tests here")
    parser.add_argument("-n", type=int, default=20, help="mutants per file")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    os.environ.setdefault("FMX_TEST_DATA", str(ROOT.parent / "shared" / "data"))
    for package in PACKAGES.split():
        importlib.import_module(package)
    for path in options.files:
        left, n = survivors(path, options.n, options.seed, lambda line: print(line, flush=True))
        print(f"{path}: {n - len(left)} of {n} killed", flush=True)


if __name__ == "__main__":
    main()
