"""Facts of a search as a section of MultiQC's report: custom content, by the name of its file."""

import json
import os

from .facts import FATES, fates_of

SUFFIX = "_mqc.json"
_ABOUT = "finds every place where a DNA read occurs in a reference."


def as_multiqc(path, facts: dict) -> bytes:
    """What a file of this name holds: a bar of the sample that its name tells."""
    sample = os.path.basename(path)[: -len(SUFFIX)] or "fmx"
    what, fates = fates_of(facts)
    section = {
        "id": f"fmx_{what}",
        "parent_id": "fmx",
        "parent_name": "fmx",
        "parent_description": _ABOUT,
        "section_name": f"Mapped {what}",
        "description": f"How often {what} occur{' as proper pairs' if what == 'pairs' else ''}.",
        "plot_type": "bargraph",
        "pconfig": {
            "id": f"fmx_{what}_plot",
            "title": f"fmx: Mapped {what}",
            "ylab": what.capitalize(),
            "cpswitch_counts_label": f"Number of {what}",
        },
        "categories": {
            words: {"name": words, "color": colour}
            for words, colour in FATES[what].values()
            if words in fates
        },
        "data": {sample: fates},
    }
    return f"{json.dumps(section, indent=1)}\n".encode()
