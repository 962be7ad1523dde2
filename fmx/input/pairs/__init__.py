"""Mates in two files or interleaved in one: their spans and shards."""
