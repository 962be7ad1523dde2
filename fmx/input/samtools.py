"""pysam's samtools in a process of its own, which nothing that it does to signals or streams can harm."""

import subprocess
import sys

_CHILD = """
import sys, pysam
command = getattr(pysam, sys.argv[1])
try:
    command(*sys.argv[2:], catch_stdout=False)
    sys.stderr.write(command.get_messages() or "")
except pysam.SamtoolsError as error:
    sys.exit(str(error).split("stderr=")[-1].strip("\\\\n '"))
"""
PIPE, NOTHING = subprocess.PIPE, subprocess.DEVNULL
EXTRA = "'fmx-mapper[samtools]'"  # what pip installs for it


def start(arguments, **streams) -> subprocess.Popen:
    """samtools with these arguments, under way."""
    return subprocess.Popen([sys.executable, "-c", _CHILD, *arguments], start_new_session=True, **streams)


def said(stderr, code) -> str:
    """The last thing that it said into a file before it ended with a code."""
    stderr.seek(0)
    lines = stderr.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with code {code}"
