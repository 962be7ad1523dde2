"""The door of ``fmx`` and ``python -m fmx``: an interrupt ends it silently while there is nothing to undo."""

import _signal  # type: ignore[import-not-found]  # at hand, where signal takes milliseconds
import os
import time

_START = time.monotonic() - time.process_time()  # of the process, as near as it can tell

if _signal.getsignal(_signal.SIGINT) == _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, lambda number, _: os._exit(128 + number))

# NumPy's OpenBLAS has nothing to do here; its threads, one a core, would spin for 0.1 s before they sleep.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .cli import main as cli  # noqa: E402


def main() -> None:
    """Entry point of the ``fmx`` command."""
    cli.main(_START)


if __name__ == "__main__":
    main()
