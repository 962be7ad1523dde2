"""A sparse suffix array over canonical minimizers: both strands by one look-up (docs/layouts.md)."""
