"""Search: reads -> SA intervals -> hits."""
