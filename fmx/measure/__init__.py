"""Measurement of machines and runs, for fmx bench."""
