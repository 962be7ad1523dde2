"""Faults put into files of fmx, one at a time, and tests that should see them: ``python -m tests.mutants``.

A mutant is a file with one operator, comparison, constant, condition or statement changed, in a copy of the
tree.  A few quick tests run there as plain Python, in a process that has imported the packages already;
COMPILED ones run on what these do not see.  A mutant that survives both is a missing test, code that nobody
needs, or as right as the original: read its line.
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
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
RECORDS = "tests/output/test_records.py"
OUTPUT = (
    f"tests/output/test_put.py {RECORDS}::test_patterns_of_the_command_line_are_their_own_names "
    f"{RECORDS}::test_a_mate_has_the_cigar_of_the_other_one "
    f"{RECORDS}::test_records_of_fastq[palindromes-few-tags]"
)
QUERIES = "tests/search/test_engines.py"
SAM = (
    f"tests/output/test_writer_protocol.py {RECORDS} "
    "tests/search/test_pairs.py tests/mem/test_mem_command.py "
    "-k 'gaps or tags or palindromes or fasta or documents or exact or all.sam'"
)
SELECTION = (
    "tests/search/test_hits.py tests/search/test_near.py tests/search/test_pairs.py "
    "tests/index/test_parts.py tests/report/test_report.py tests/cli/test_golden.py -k"
)
NEAR = "tests/search/test_near.py tests/search/test_sparse.py"
PAIRS = (
    "tests/search/test_pairs.py tests/index/test_reference.py tests/search/test_screen.py "
    "tests/report/test_report.py tests/output/test_reads_out.py -k 'counts_are or runs_of or by_strata or "
    "few_occurrences or for_pairs or mates_does or inserts or together'"
)
# A file, and the arguments of pytest for tests that hold it: few and quick ones.
TESTS = {
    "fmx/output/put.py": OUTPUT,
    "fmx/output/records.py": f"tests/output/test_writer_protocol.py {OUTPUT}",
    "fmx/output/hits.py": f"tests/output/test_writer_protocol.py {OUTPUT}",
    "fmx/output/formats/sam.py": SAM,
    "fmx/jobs/merge.py": "tests/cluster/test_merge.py",
    "fmx/search/hits.py": f"{SELECTION} 'test_hits or runs_of or library_opens or exact or verify-1-drawn'",
    "fmx/search/find.py": (
        f"{QUERIES} tests/search/test_sparse.py {SELECTION} 'test_hits or runs_of or library_opens or exact "
        "or verify-1-drawn or too_short or collapse or verify and period'"
    ),
    "fmx/search/queries/near_words.py": (
        f"{NEAR} tests/search/test_ways.py -k 'runs_of or listed or even or all_widths or patterns_of_bases "
        "or pieces_of_sets or cheap_way and 300 or reads_with_n and holes0 and 300'"
    ),
    "fmx/search/queries/sparse.py": (
        "tests/search/test_sparse.py -k 'separators or positions or test_any_ref or period or start_of'"
    ),
    "fmx/search/queries/backward.py": f"{QUERIES} -k 'steps or naive_ones and period and not verify'",
    "fmx/search/queries/verify.py": (f"{QUERIES} -k 'verify and period or 300-5'"),
    "fmx/search/pairs.py": PAIRS,
}
COMPILED = (
    "tests/cli/test_golden.py tests/output tests/search/test_engines.py tests/search/test_hits.py "
    "tests/search/test_pairs.py tests/search/test_near.py tests/search/test_sparse.py "
    "tests/search/test_same_bytes.py"
)
PLAIN = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
PACKAGES = "click numpy hypothesis pytest pysam xxhash"
OTHERS = {  # an operator -> what replaces it
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub,
    ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """The ``text`` of a file in which an ``old`` piece of ``line`` is ``new``."""

    text: str
    line: int
    old: str
    new: str


def mutants(source: bytes) -> Iterator[Mutant]:
    """All mutants of a source that can be compiled."""
    tree = ast.parse(source)
    for put, node in places(tree):
        for new in changes(node):
            put(new)
            text = ast.unparse(ast.fix_missing_locations(tree))
            put(node)
            with contextlib.suppress(SyntaxError):
                compile(text, "mutant", "exec")
                yield Mutant(text, node.lineno, *map(ast.unparse, (node, new)))


def places(parent: ast.AST) -> Iterator[tuple[Callable, ast.AST]]:
    """(function that replaces it, node) of all nodes below one, but for types and strict=."""
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns") or getattr(parent, "arg", None) == "strict":
            continue
        for i, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST):
                is_list = isinstance(value, list)
                yield partial(value.__setitem__, i) if is_list else partial(setattr, parent, field), node
                yield from places(node)


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            ops = [*node.ops[:i], OTHERS[type(operator)](), *node.ops[i + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHERS:
        yield ast.BinOp(node.left, OTHERS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(OTHERS[type(node.op)](), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and ast.unparse(node.test) != "TYPE_CHECKING":
        turned = ast.UnaryOp(ast.Not(), node.test)
        yield type(node)(**{**dict(ast.iter_fields(node)), "test": turned})
    elif isinstance(node, ast.AugAssign | ast.Expr) and not isinstance(node.value, ast.Constant):
        yield ast.Pass()


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


def passes_compiled(folder: Path) -> bool:
    """Do the COMPILED tests pass in a copy of the tree?"""
    cache = os.environ.get("FMX_CACHE", str(ROOT / ".pytest_cache" / "compiled"))
    with contextlib.suppress(subprocess.TimeoutExpired):
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *COMPILED.split()],
            cwd=folder, env={**os.environ, "FMX_CACHE": cache, "PYTHONPATH": str(folder)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=1800,
        )  # fmt: skip
        return run.returncode == 0
    return False


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
            (folder / path).write_text(mutant.text)
            if passes(folder, TESTS[path], limit) and passes_compiled(folder):
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
    if not passes_compiled(ROOT):
        raise SystemExit(f"tests fail without a change: {COMPILED}")
    for path in options.files:
        left, n = survivors(path, options.n, options.seed, lambda line: print(line, flush=True))
        print(f"{path}: {n - len(left)} of {n} killed", flush=True)


if __name__ == "__main__":
    main()
