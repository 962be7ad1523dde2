"""Measurement of machines and runs, for bench and tune."""
