"""Gharaibeh and Ripeanu 2010: MUMmerGPU++, maximal matches by suffix arrays on a GPU."""

from ..figures import STAGES
from .facts import MissingError


def _on_gpu(found, **wanted) -> list:
    return [row for row in found.rows("mem-stages", **wanted) if row["engine"].startswith("GPU")]


def _sums(found, algorithm) -> dict:
    """{(workload, least): seconds of all stages on the GPU}."""
    rows = _on_gpu(found, algorithm=algorithm)
    return {(row["workload"], row["least"]): sum(row[stage] for stage in STAGES) for row in rows}


def _ratios(found) -> list:
    default, paper = _sums(found, "seeds"), _sums(found, "mummergpu")
    return [paper[key] / default[key] for key in default]


def _row(found, workload, algorithm="mummergpu") -> dict:
    """The middle configuration of a workload on the GPU."""
    return _on_gpu(found, workload=workload, algorithm=algorithm, configuration=2)[0]


def _stage(stage):
    return lambda found: 1000 * _row(found, "HS1")[stage]


def _share(workload):
    def share(found):
        row = _row(found, workload)
        return 100 * row["match"] / sum(row[stage] for stage in STAGES)

    return share


def _times(algorithm):
    """mummer's CPU seconds, less those for its index, over those of a whole command."""

    def times(found):
        rows = found.rows("mem-commands", workload="HS2", configuration=2)
        spent = {row["command"]: row["CPU s"] for row in rows}
        if "mummer" not in spent:
            raise MissingError("mummer")
        return spent["mummer less index"] / spent[f"fmx {algorithm} cpu"]

    return times


VALUES = {
    "figure 8": {
        "speed of the default over the paper's algorithm, least": lambda found: min(_ratios(found)),
        "speed of the default over the paper's algorithm, most": lambda found: max(_ratios(found)),
    },
    "figure 9": {f"HS1: {stage}": _stage(stage) for stage in STAGES},
    "figure 10": {f"{name}: match, share of all stages": _share(name) for name in ("HS1", "HS2", "SUIS")},
    "table 3": {
        "HS2: MUMmer over MUMmerGPU++, time": _times("mummergpu"),
        "HS2: MUMmer over fmx's default, time": _times("seeds"),
        "HS2: energy of a query, MUMmerGPU++": lambda found: _row(found, "HS2")["mJ/query"],
        "HS2: energy of a query, fmx's default": lambda found: _row(found, "HS2", "seeds")["mJ/query"],
    },
}
