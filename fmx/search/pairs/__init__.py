"""Pairs of reads: proper pairs and hits of single mates."""
