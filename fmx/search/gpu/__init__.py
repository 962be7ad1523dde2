"""Mapping on GPUs."""
