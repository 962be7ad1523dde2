"""When this thread's command was started, on the clock of time.monotonic; None where there is none."""

from contextvars import ContextVar

started: ContextVar[float | None] = ContextVar("started", default=None)
