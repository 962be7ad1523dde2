"""The notebook of the documents: its cells run, and what fmx shows is what the notebook shows."""

import base64
import json

from conftest import ROOT
from notebooks import run

NOTEBOOK = json.loads((ROOT / "docs" / "tour.ipynb").read_text())


def test_the_cells_run_and_show_what_the_notebook_shows():
    cells = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    shown = run(NOTEBOOK)
    ours = 0
    for cell, found in zip(cells, shown, strict=True):
        saved = cell["outputs"][0]["data"] if cell["outputs"] else {}
        assert found.keys() == saved.keys()
        text = "".join(saved.get("text/plain", ""))
        if text.startswith(("<fmx", "1498 reads")):  # others look as their versions say
            assert found["text/plain"] == text
            ours += 1
    assert ours >= 5
    (image,) = (found["image/png"] for found in shown if "image/png" in found)
    assert base64.b64decode(image).startswith(b"\x89PNG")
