"""`fmx tune`: the fastest index and engine on this machine, found by trials."""
