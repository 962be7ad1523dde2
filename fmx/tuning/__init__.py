"""fmx tune: which index and engine are fastest on this machine, predicted from its memory and then tried."""
