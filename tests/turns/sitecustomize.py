"""Lets the simulated kernels of a process that a test starts take turns, as those of the test's own do."""

import simulator

simulator.take_turns()
