"""Measures fmx on this machine: python docs/bench COMMAND; each writes a table as JSON.

To add a command, write a click command in one of the files, and add a line to COMMANDS.
"""

import importlib
import subprocess
import sys
from pathlib import Path

import click

from fmx.errors import FmxError

COMMANDS = {  # name: file, and command in it
    "modes": "peers.modes_command",
    "count": "peers.count_command",
    "screens": "peers.screens_command",
    "offtargets": "peers.offtargets_command",
    "mem": "peers.mem_command",
    "pairwise": "peers.pairwise_command",
    "search": "cpu_search.search_command",
    "designs": "gpu_search.designs_command",
    "roofline": "roofline.roofline_command",
    "kernels": "gpu_pairwise.kernels_command",
}


@click.command("all")
def all_command() -> None:
    """Run the measurements for this machine: on the CPU beside bowtie and mummer, and on its GPU."""
    from fmx.errors import DeviceError
    from fmx.machines import gpu

    words = [["modes", "--peer", "bowtie"], ["count"], ["mem"], ["search"]]
    try:
        if gpu.n_devices():
            words += [["modes", "--engine", "cuda", "--engine", "auto", "-o", "bench/gpu"], ["designs"]]
            words += [["roofline", "--largest", "16G"], ["kernels"]]
    except DeviceError as error:
        click.echo(f"no GPU is measured: {error}", err=True)
    for command in words:
        subprocess.run([sys.executable, str(Path(__file__).parent), *command], check=True)


@click.group()
def main() -> None:
    """Measure fmx on this machine, beside other programs and the figures of the papers."""


main.add_command(all_command)
for command_name, place in COMMANDS.items():
    module, _, function = place.partition(".")
    main.add_command(getattr(importlib.import_module(module), function), command_name)


if __name__ == "__main__":
    try:
        main(standalone_mode=True)
    except FmxError as error:
        raise SystemExit(f"error: {error}") from None
