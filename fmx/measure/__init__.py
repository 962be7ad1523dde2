"""Rates of a machine, which bench and tuning share."""
