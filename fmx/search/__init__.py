"""Reads -> SA intervals -> hits."""
