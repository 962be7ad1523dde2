"""Figures of fmx bench mem, after figures 9 and 10 of Gharaibeh and Ripeanu 2010."""

from ...measure import timing
from .mem_stages import STAGES

pyplot = timing.pyplot()
COLORS = ("#4c78a8", "#f58518", "#54a24b", "#b8b8b8")


def draw(folder, rows, device) -> None:
    """Time (figure 9) and share (figure 10) of each stage, at each workload's middle least length."""
    chosen = [row for row in rows if row["configuration"] == 2]
    labels = [f"{row['workload']} {row['algorithm']}\n{row['engine']}" for row in chosen]
    times = [[1000 * row[stage] for stage in STAGES] for row in chosen]
    for name, as_share in (("mem-stages", False), ("mem-shares", True)):
        figure, axes = pyplot.subplots(figsize=(9, 0.6 + 0.42 * len(chosen)), constrained_layout=True)
        left = [0.0] * len(chosen)
        for i, stage in enumerate(STAGES):
            widths = [100 * row[i] / sum(row) if as_share else row[i] for row in times]
            axes.barh(labels, widths, left=left, label=stage, color=COLORS[i])
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for y, row in enumerate(times):
            axes.text(left[y], y, f" {sum(row):,.1f} ms", va="center", fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("% of the time" if as_share else "ms")
        axes.set_xlim(0, 1.15 * max(left))
        axes.set_title(f"Stages of finding matches, {device}", fontsize=10)
        axes.tick_params(axis="y", labelsize=8)
        axes.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.12))
        figure.savefig(f"{folder}/{name}.png", dpi=110)
        pyplot.close(figure)
