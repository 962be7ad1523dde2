"""Timing calls of functions, in turn, in this process."""

import statistics
import time

from ...measure.timing import Run


def medians(calls: dict, n_runs: int) -> dict:
    """{name: Run} of {name: (function, *arguments)}: each once uncounted, then all in turn n_runs times."""
    runs: dict = {name: [] for name in calls}
    for number in range(n_runs + 1):
        for name, (function, *arguments) in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            function(*arguments)
            if number:
                runs[name].append(Run(time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: Run(statistics.median(run.wall for run in own), statistics.median(run.cpu for run in own))
        for name, own in runs.items()
    }
