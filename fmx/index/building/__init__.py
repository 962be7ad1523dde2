"""How an index is made."""
