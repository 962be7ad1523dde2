"""Entry point of ``fmx`` and ``python -m fmx``; an interrupt during start-up ends it silently."""

import _signal  # type: ignore[import-not-found]  # built in; importing signal takes milliseconds
import os
import time

_START = time.monotonic() - time.process_time()  # start of the process, approximately

if _signal.getsignal(_signal.SIGINT) == _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, lambda number, _: os._exit(128 + number))

# fmx does not use NumPy's OpenBLAS; its threads, one per core, would spin for 0.1 s before they sleep.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .cli import main as cli  # noqa: E402


def main() -> None:
    """Run the ``fmx`` command."""
    cli.main(_START)


if __name__ == "__main__":
    main()
