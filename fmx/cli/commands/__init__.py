"""The commands, one per file: each has a click command named ``command`` that turns options into a job.
Imports inside functions keep the start fast (tests/test_start.py)."""
