"""Runs the cells of a notebook in one process, without Jupyter: what the tests and the documents need of it.

``python -m tests.notebooks docs/tour.ipynb`` writes the outputs of all cells into the notebook.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path


def code_of(cell: dict) -> str:
    return "".join(cell["source"])


def run(notebook: dict) -> list[dict]:
    """{MIME type: output} of each code cell, run one after the other in an empty folder."""
    import matplotlib

    matplotlib.use("agg")
    names: dict = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return [outputs_of(code_of(cell), names) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs_of(code: str, names: dict) -> dict:
    """What a cell prints, and its last expression, as text; its figure as PNG."""
    from matplotlib import pyplot

    *statements, last = ast.parse(code).body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(statements, []), "cell", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        else:
            exec(compile(code, "cell", "exec"), names)
            value = None
    if pyplot.get_fignums():
        image = io.BytesIO()
        pyplot.savefig(image, dpi=80, bbox_inches="tight", metadata={"Software": None})
        pyplot.close("all")
        return {"image/png": base64.b64encode(image.getvalue()).decode()}
    text = printed.getvalue() + (repr(value) if value is not None else "")
    return {"text/plain": text} if text else {}


def main() -> None:
    path = Path(os.path.abspath(sys.argv[1]))
    notebook = json.loads(path.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, run(notebook), strict=True), 1):
        data = {kind: text.splitlines(True) if kind[:4] == "text" else text for kind, text in outputs.items()}
        result = {"output_type": "display_data", "data": data, "metadata": {}}
        cell |= {"execution_count": number, "outputs": [result] if outputs else []}
    path.write_text(json.dumps(notebook, indent=1) + "\n")


if __name__ == "__main__":
    main()
