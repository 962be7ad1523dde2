"""Bytes in: streams, chunks of records, reads, letters."""
